import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import type {
  Address,
  Cluster,
  ListedType,
  Read,
  ReadList,
  ResourceType,
  Selection,
  WatchEvent,
  WatchFrom,
} from '../../../functions/kubernetes/cluster.ts';
import { NOW } from './object.ts';

/** What a list of this type has of these objects, as the real client reads them. */
export const asListed = <T extends KubernetesObject>(
  { trim }: ResourceType<T> | ListedType<T>,
  items: readonly T[],
): T[] => (trim === undefined ? [...items] : items.flatMap((item) => trim(item)?.object ?? []));

/** One open watch. */
class Watcher {
  readonly plural: string;
  readonly where: Selection;
  /** The version that it was told of last. */
  seen: number;
  /** The next entry of the log. */
  next = 0;
  isOver = false;
  #failure: Error | undefined;
  #notify = (): void => undefined;

  constructor(plural: string, { resourceVersion, ...where }: WatchFrom) {
    this.plural = plural;
    this.where = where;
    this.seen = Number(resourceVersion);
  }

  notify(): void {
    this.#notify();
  }

  end(): void {
    this.isOver = true;
    this.#notify();
  }

  fail(error: Error): void {
    this.#failure = error;
    this.end();
  }

  /** Until there is something to look at. */
  async notified(): Promise<void> {
    await new Promise<void>((resolve) => (this.#notify = resolve));
  }

  close(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** What became of an object at this version. */
interface Entry {
  readonly version: number;
  readonly plural: string;
  readonly before: KubernetesObject | undefined;
  /** undefined: it was deleted. */
  readonly after: KubernetesObject | undefined;
}

/**
 * Objects that can be read, listed and watched, for what only watches: a selector sees an object go when it does not match any
 * more, and a watch goes on from the version that it names, as the real ones do. Nothing else of Kubernetes is here, on
 * purpose: what writes is tested on a real API server.
 */
export class WatchedCluster {
  /** Every list, get and watch that was asked for. */
  readonly asked: string[] = [];
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #log: Entry[] = [];
  readonly #watchers = new Set<Watcher>();
  readonly #broken = new Map<string, Error>();
  readonly #unlisted = new Map<string, Error>();
  readonly #waiting = new Map<string, PromiseWithResolvers<undefined>>();
  /** Bookmarks that were sent, by plural. */
  readonly #bookmarks = new Map<string, number>();
  #version = 1;
  #forgotten = 0;

  /** The object as it is from now on. */
  put({ plural }: ResourceType, object: KubernetesObject): void {
    const key = keyOf(plural, object);
    const before = this.#objects.get(key);
    const after = this.#versioned(object);
    this.#objects.set(key, after);
    this.#append({ version: this.#version, plural, before, after });
  }

  /** Those of a kind that are there. */
  all<T extends KubernetesObject>({ plural }: ResourceType<T>): T[] {
    const own = [...this.#objects].filter(
      ([key]) => key.startsWith(`${plural}/`) || key.startsWith(`${plural} `),
    );
    return own.map(([, object]) => object as T);
  }

  remove({ plural }: ResourceType, object: KubernetesObject): void {
    const key = keyOf(plural, object);
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#objects.delete(key);
    this.#version += 1;
    this.#append({ version: this.#version, plural, before, after: undefined });
  }

  /** Watches of this kind break, and neither a list nor a watch of it works until `mend`. */
  break({ plural }: ResourceType, error: Error): void {
    this.#broken.set(plural, error);
    for (const watcher of this.#watching(plural)) watcher.fail(error);
  }

  restoreWatch({ plural }: ResourceType): void {
    this.#broken.delete(plural);
    this.#unlisted.delete(plural);
  }

  /** The server closes the watches of this kind in good order. */
  end({ plural }: ResourceType): void {
    for (const watcher of this.#watching(plural)) watcher.end();
  }

  /** Every watch of this kind is sent where it is. */
  bookmark({ plural }: ResourceType): void {
    this.#bookmarks.set(plural, this.#version);
    for (const watcher of this.#watching(plural)) watcher.notify();
  }

  /** What was before the newest version can no longer be watched from: 410. */
  forget(): void {
    this.#forgotten = this.#version;
  }

  /** Lists of this kind fail until `mend`; watches do not. */
  failLists({ plural }: ResourceType, error: Error): void {
    this.#unlisted.set(plural, error);
  }

  /** Resolves when somebody watches this kind from now on. */
  nextWatch({ plural }: ResourceType): Promise<undefined> {
    const waiting = this.#waiting.get(plural) ?? Promise.withResolvers<undefined>();
    this.#waiting.set(plural, waiting);
    return waiting.promise;
  }

  asCluster(): Cluster {
    return {
      get: this.#get.bind(this),
      list: this.#list.bind(this),
      watch: this.#watch.bind(this),
    } as Partial<Cluster> as Cluster;
  }

  #versioned(object: KubernetesObject): KubernetesObject {
    this.#version += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
  }

  #append(entry: Entry): void {
    this.#log.push(entry);
    for (const watcher of this.#watching(entry.plural)) watcher.notify();
  }

  #watching(plural: string): Watcher[] {
    return [...this.#watchers].filter((watcher) => watcher.plural === plural);
  }

  #get<T extends KubernetesObject>({ plural }: ResourceType<T>, at: Address): Promise<Read<T>> {
    this.asked.push(`get ${plural} ${at.name}`);
    const object = this.#objects.get(keyOf(plural, { metadata: at }));
    const date = new Date(NOW);
    if (object !== undefined) return Promise.resolve({ object: object as T, date });
    return Promise.reject(new ApiError(`GET ${plural}`, { code: 404, reason: 'NotFound' }, date));
  }

  #list<T extends KubernetesObject>(
    type: ResourceType<T> | ListedType<T>,
    where: Selection,
  ): Promise<ReadList<T>> {
    const { plural } = type;
    this.asked.push(`list ${plural} ${where.labelSelector ?? ''}`.trim());
    const error = this.#broken.get(plural) ?? this.#unlisted.get(plural);
    if (error !== undefined) return Promise.reject(error);
    const items = [...this.#objects].filter(
      ([key, object]) => key.startsWith(`${plural}/`) && matches(object, where),
    );
    return Promise.resolve({
      items: asListed(
        type,
        items.map(([, object]) => object as T),
      ),
      resourceVersion: String(this.#version),
      date: new Date(NOW),
    });
  }

  async *#watch<T extends KubernetesObject>(
    { plural }: ResourceType<T>,
    from: WatchFrom,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    this.asked.push(`watch ${plural} ${from.labelSelector ?? ''}`.trim());
    this.#refuse(plural, from);
    const watcher = new Watcher(plural, from);
    this.#watchers.add(watcher);
    this.#waiting.get(plural)?.resolve(undefined);
    this.#waiting.delete(plural);
    signal.addEventListener('abort', () => watcher.end(), { once: true });
    try {
      while (!watcher.isOver) {
        const event = this.#nextEvent(watcher);
        if (event === undefined) await watcher.notified();
        else yield event as WatchEvent<T>;
      }
      watcher.close();
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  #refuse(plural: string, { resourceVersion }: WatchFrom): void {
    const error = this.#broken.get(plural);
    if (error !== undefined) throw error;
    if (Number(resourceVersion) < this.#forgotten) {
      throw new ApiError('watch', { code: 410, reason: 'Expired' }, new Date(NOW));
    }
  }

  #nextEvent(watcher: Watcher): WatchEvent<KubernetesObject> | undefined {
    while (watcher.next < this.#log.length) {
      const entry = this.#log[watcher.next];
      watcher.next += 1;
      if (entry === undefined || entry.plural !== watcher.plural || entry.version <= watcher.seen) continue;
      watcher.seen = entry.version;
      const event = eventOf(entry, watcher.where);
      if (event !== undefined) return event;
    }
    const marked = this.#bookmarks.get(watcher.plural) ?? 0;
    if (marked <= watcher.seen) return undefined;
    watcher.seen = marked;
    const metadata = { name: '', uid: '', creationTimestamp: '', resourceVersion: String(marked) };
    return { type: 'BOOKMARK', object: { metadata } };
  }
}

/** What a watch with this selection is sent; undefined: nothing. */
function eventOf(
  { version, before, after }: Entry,
  where: Selection,
): WatchEvent<KubernetesObject> | undefined {
  const was = before !== undefined && matches(before, where);
  if (after !== undefined && matches(after, where))
    return { type: was ? 'MODIFIED' : 'ADDED', object: after };
  if (before === undefined || !was) return undefined;
  // The object as it was last selected, at the version that ended that.
  const metadata = { ...before.metadata, resourceVersion: String(version) };
  return { type: 'DELETED', object: { ...before, metadata } };
}

const keyOf = (plural: string, { metadata: { namespace = '', name } }: { metadata: Address }): string =>
  `${plural}/${namespace}/${name}`;

/** As far as we ask: one label with one text, or none. */
function matches({ metadata }: KubernetesObject, { labelSelector, namespace }: Selection): boolean {
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  if (labelSelector === undefined) return true;
  const [key = '', text] = labelSelector.split('=');
  return metadata.labels?.[key] === text;
}
