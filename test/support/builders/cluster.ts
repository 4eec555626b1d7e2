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

/** A list of this type of these objects, as the real client reads it. */
export const asListed = <T extends KubernetesObject>(
  { trim }: ResourceType<T> | ListedType<T>,
  items: readonly T[],
): T[] => (trim === undefined ? [...items] : items.flatMap((item) => trim(item)?.object ?? []));

/** One open watch. */
class Watcher {
  readonly plural: string;
  readonly where: Selection;
  /** The last version that the watch got. */
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

  /** Resolves when the log has a new entry. */
  async notified(): Promise<void> {
    await new Promise<void>((resolve) => (this.#notify = resolve));
  }

  close(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** The change of an object at this version. */
interface Entry {
  readonly version: number;
  readonly plural: string;
  readonly before: KubernetesObject | undefined;
  /** undefined: it was deleted. */
  readonly after: KubernetesObject | undefined;
}

/**
 * Objects for tests of readers and watchers. A selector sees an object go when it no longer matches,
 * and a watch continues from the version that it names, as on a real server. It models nothing else of Kubernetes, on
 * purpose: writers are tested on a real API server.
 */
export class WatchedCluster {
  /** Every list, get and watch so far. */
  readonly asked: string[] = [];
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #log: Entry[] = [];
  readonly #watchers = new Set<Watcher>();
  readonly #broken = new Map<string, Error>();
  readonly #unlisted = new Map<string, Error>();
  readonly #waiting = new Map<string, PromiseWithResolvers<undefined>>();
  /** Number of sent bookmarks, by plural. */
  readonly #bookmarks = new Map<string, number>();
  #version = 1;
  #forgotten = 0;

  /** Stores the object. */
  put({ plural }: ResourceType, object: KubernetesObject): void {
    const key = keyOf(plural, object);
    const before = this.#objects.get(key);
    const after = this.#versioned(object);
    this.#objects.set(key, after);
    this.#append({ version: this.#version, plural, before, after });
  }

  /** The existing objects of a kind. */
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

  /** Breaks the watches of this kind; its lists and watches fail until `mend`. */
  break({ plural }: ResourceType, error: Error): void {
    this.#broken.set(plural, error);
    for (const watcher of this.#watching(plural)) watcher.fail(error);
  }

  restoreWatch({ plural }: ResourceType): void {
    this.#broken.delete(plural);
    this.#unlisted.delete(plural);
  }

  /** Closes the watches of this kind regularly. */
  end({ plural }: ResourceType): void {
    for (const watcher of this.#watching(plural)) watcher.end();
  }

  /** Sends a bookmark to every watch of this kind. */
  bookmark({ plural }: ResourceType): void {
    this.#bookmarks.set(plural, this.#version);
    for (const watcher of this.#watching(plural)) watcher.notify();
  }

  /** A watch from before the newest version gets 410 from now on. */
  forget(): void {
    this.#forgotten = this.#version;
  }

  /** Fails lists of this kind until `mend`; watches still work. */
  failLists({ plural }: ResourceType, error: Error): void {
    this.#unlisted.set(plural, error);
  }

  /** Resolves with the next watch of this kind. */
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

/** The event for a watch with this selection; undefined: none. */
function eventOf(
  { version, before, after }: Entry,
  where: Selection,
): WatchEvent<KubernetesObject> | undefined {
  const was = before !== undefined && matches(before, where);
  if (after !== undefined && matches(after, where))
    return { type: was ? 'MODIFIED' : 'ADDED', object: after };
  if (before === undefined || !was) return undefined;
  // The object as it last matched, at the version at which it stopped matching.
  const metadata = { ...before.metadata, resourceVersion: String(version) };
  return { type: 'DELETED', object: { ...before, metadata } };
}

const keyOf = (plural: string, { metadata: { namespace = '', name } }: { metadata: Address }): string =>
  `${plural}/${namespace}/${name}`;

/** Supports one label with one value, the field metadata.name, or no selector. */
function matches(
  { metadata }: KubernetesObject,
  { labelSelector, fieldSelector, namespace }: Selection,
): boolean {
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  const name = /^metadata\.name=(.*)$/.exec(fieldSelector ?? '')?.[1];
  if (name !== undefined && metadata.name !== name) return false;
  if (labelSelector === undefined) return true;
  const [key = '', text] = labelSelector.split('=');
  return metadata.labels?.[key] === text;
}
