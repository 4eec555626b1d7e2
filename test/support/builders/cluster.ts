import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type {
  Cluster,
  ListedType,
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

interface Watcher {
  readonly plural: string;
  readonly where: Selection;
  readonly tell: (event: WatchEvent<KubernetesObject>) => void;
  readonly fail: (error: Error) => void;
}

/**
 * Objects that can be listed and watched, for what only watches: a selector sees an object go when it does not match any
 * more, as the real one does. Nothing else of Kubernetes is here, on purpose: what writes is tested on a real API server.
 */
export class WatchedCluster {
  /** Every list and watch that was asked for. */
  readonly asked: string[] = [];
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #watchers = new Set<Watcher>();
  readonly #broken = new Map<string, Error>();
  readonly #waiting = new Map<string, PromiseWithResolvers<undefined>>();

  /** The object as it is from now on. */
  put({ plural }: ResourceType, object: KubernetesObject): void {
    const key = keyOf(plural, object);
    const before = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const { where, tell } of this.#watching(plural)) {
      const [was, is] = [before !== undefined && matches(before, where), matches(object, where)];
      if (is) tell({ type: was ? 'MODIFIED' : 'ADDED', object });
      else if (was) tell({ type: 'DELETED', object });
    }
  }

  remove({ plural }: ResourceType, object: KubernetesObject): void {
    this.#objects.delete(keyOf(plural, object));
    for (const { where, tell } of this.#watching(plural)) {
      if (matches(object, where)) tell({ type: 'DELETED', object });
    }
  }

  /** Watches of this kind break, and what is changed until `mend` nobody sees. */
  break({ plural }: ResourceType, error: Error): void {
    this.#broken.set(plural, error);
    for (const watcher of this.#watching(plural)) {
      this.#watchers.delete(watcher);
      watcher.fail(error);
    }
  }

  mend({ plural }: ResourceType): void {
    this.#broken.delete(plural);
  }

  /** Resolves when somebody watches this kind from now on. */
  nextWatch({ plural }: ResourceType): Promise<undefined> {
    const waiting = this.#waiting.get(plural) ?? Promise.withResolvers<undefined>();
    this.#waiting.set(plural, waiting);
    return waiting.promise;
  }

  asCluster(): Cluster {
    return { list: this.#list.bind(this), watch: this.#watch.bind(this) } as Partial<Cluster> as Cluster;
  }

  #watching(plural: string): Watcher[] {
    return [...this.#watchers].filter((watcher) => watcher.plural === plural);
  }

  #list<T extends KubernetesObject>(
    type: ResourceType<T> | ListedType<T>,
    where: Selection,
  ): Promise<ReadList<T>> {
    const { plural } = type;
    this.asked.push(`list ${plural} ${where.labelSelector ?? ''}`.trim());
    const error = this.#broken.get(plural);
    if (error !== undefined) return Promise.reject(error);
    const items = [...this.#objects].filter(
      ([key, object]) => key.startsWith(`${plural}/`) && matches(object, where),
    );
    return Promise.resolve({
      items: asListed(
        type,
        items.map(([, object]) => object as T),
      ),
      resourceVersion: '1',
      date: new Date(NOW),
    });
  }

  async *#watch<T extends KubernetesObject>(
    { plural }: ResourceType<T>,
    { resourceVersion: _, ...where }: WatchFrom,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    this.asked.push(`watch ${plural} ${where.labelSelector ?? ''}`.trim());
    const events: WatchEvent<KubernetesObject>[] = [];
    let failure: Error | undefined;
    let wake = (): void => undefined;
    const watcher: Watcher = {
      plural,
      where,
      tell: (event) => {
        events.push(event);
        wake();
      },
      fail: (error) => {
        failure = error;
        wake();
      },
    };
    this.#watchers.add(watcher);
    this.#waiting.get(plural)?.resolve(undefined);
    this.#waiting.delete(plural);
    signal.addEventListener('abort', () => wake(), { once: true });
    try {
      while (!signal.aborted) {
        const event = events.shift();
        if (event !== undefined) yield event as WatchEvent<T>;
        else if (failure !== undefined) throw failure;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#watchers.delete(watcher);
    }
  }
}

const keyOf = (plural: string, { metadata: { namespace = '', name } }: KubernetesObject): string =>
  `${plural}/${namespace}/${name}`;

/** As far as we ask: one label with one text, or none. */
function matches({ metadata }: KubernetesObject, { labelSelector, namespace }: Selection): boolean {
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  if (labelSelector === undefined) return true;
  const [key = '', text] = labelSelector.split('=');
  return metadata.labels?.[key] === text;
}
