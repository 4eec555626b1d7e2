import { pause, type Clock } from '../../../../functions/runtime/clock.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import type {
  Cluster,
  ResourceType,
  Selection,
  WatchEvent,
} from '../../../../functions/kubernetes/cluster.ts';
import { describeError, isGone } from '../../../../functions/kubernetes/errors.ts';

export interface Change<T> {
  readonly type: 'added' | 'updated' | 'deleted';
  readonly object: T;
}

/** Resolves when the signal has ended the watch. */
export interface Following {
  readonly ended: Promise<void>;
}

export type Listener<T> = (change: Change<T>) => void;
export type Log = (line: string) => void;

export interface CacheOptions<T extends KubernetesObject> {
  readonly cluster: Cluster;
  readonly type: ResourceType<T>;
  readonly where?: Selection;
  readonly clock: Clock;
  readonly log: Log;
}

/** A cache of any kind, as the source of its changes sees it. */
export interface Feed {
  readonly type: ResourceType;
  readonly where: Selection;
  start(signal: AbortSignal): Promise<Following>;
  see(event: WatchEvent<KubernetesObject>): void;
}

const RETRY_MS = 100;

/** "namespace/name" */
export const keyOf = ({ metadata }: KubernetesObject): string =>
  `${metadata.namespace ?? ''}/${metadata.name}`;

/**
 * All objects of one kind, kept up to date by list and watch, as an informer does: a broken watch resumes where it was,
 * an expired one lists again. The caller's own writes are put in at once, so that it never decides on a version that it
 * has already replaced.
 */
export class Cache<T extends KubernetesObject> {
  readonly #options: CacheOptions<T>;
  readonly #objects = new Map<string, T>();
  /** The same, for each namespace: a controller looks into one for each change. */
  readonly #byNamespace = new Map<string | undefined, Map<string, T>>();
  readonly #deleted = new Set<string>();
  readonly #listeners: Listener<T>[] = [];
  #resourceVersion = '';

  constructor(options: CacheOptions<T>) {
    this.#options = options;
  }

  get type(): ResourceType<T> {
    return this.#options.type;
  }

  get where(): Selection {
    return this.#options.where ?? {};
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** Whether the watch or a put brought this object, by UID; it may be gone again. */
  hasSeen(object: T): boolean {
    const { uid } = object.metadata;
    return this.#deleted.has(uid) || this.#objects.get(keyOf(object))?.metadata.uid === uid;
  }

  all(): T[] {
    return [...this.#objects.values()];
  }

  inNamespace(namespace: string | undefined): T[] {
    return [...(this.#byNamespace.get(namespace)?.values() ?? [])];
  }

  /** Called for every change of the watch (also for one that was put in before), and for the differences of a new list. */
  onChange(listener: Listener<T>): void {
    this.#listeners.push(listener);
  }

  /** An object just written: the answer to a create, patch or replace. */
  put(object: T): void {
    const { uid, resourceVersion } = object.metadata;
    if (this.#deleted.has(uid)) return;
    const key = keyOf(object);
    const known = this.#objects.get(key);
    if (known !== undefined && !isNewer(resourceVersion, known.metadata.resourceVersion)) return;
    const { namespace } = object.metadata;
    const there = this.#byNamespace.get(namespace) ?? new Map<string, T>();
    this.#byNamespace.set(namespace, there.set(key, object));
    this.#objects.set(key, object);
  }

  /** Resolves with the first list; listeners have heard of everything then. */
  async start(signal: AbortSignal): Promise<Following> {
    await this.#list();
    return { ended: this.#follow(signal) };
  }

  /** Lists again, as a process does that starts. */
  refresh(): Promise<void> {
    return this.#list();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        if (this.#resourceVersion === '') await this.#list();
        await this.#watch(signal);
        if (signal.aborted) return;
      } catch (error) {
        if (signal.aborted) return;
        if (isGone(error)) this.#resourceVersion = '';
        this.#options.log(`${this.#options.type.plural}: watch broke off: ${describeError(error)}`);
        await pause(this.#options.clock, RETRY_MS, signal);
      }
    }
  }

  async #list(): Promise<void> {
    const { cluster, type, where = {} } = this.#options;
    // What the watch brings meanwhile is newer than the list, and not gone.
    const gone = new Map(this.#objects);
    const { items, resourceVersion } = await cluster.list(type, where);
    for (const object of items) {
      gone.delete(keyOf(object));
      this.#accept(object);
    }
    for (const object of gone.values()) this.#remove(object);
    this.#resourceVersion = resourceVersion;
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { cluster, type, where = {} } = this.#options;
    const from = { ...where, resourceVersion: this.#resourceVersion };
    for await (const event of cluster.watch(type, from, signal)) {
      this.see(event);
      this.#resourceVersion = event.object.metadata.resourceVersion;
    }
  }

  /** What a watch brings. */
  see({ type, object }: WatchEvent<T>): void {
    if (type === 'DELETED') this.#remove(object);
    else if (type !== 'BOOKMARK') this.#accept(object);
  }

  #accept(object: T): void {
    const known = this.#objects.has(keyOf(object));
    this.put(object);
    this.#tell({ type: known ? 'updated' : 'added', object });
  }

  #remove(object: T): void {
    this.#deleted.add(object.metadata.uid);
    // A new object may already have the name.
    const key = keyOf(object);
    if (this.#objects.get(key)?.metadata.uid === object.metadata.uid) {
      this.#objects.delete(key);
      this.#byNamespace.get(object.metadata.namespace)?.delete(key);
    }
    this.#tell({ type: 'deleted', object });
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) listener(change);
  }
}

const isNewer = (one: string, other: string): boolean => BigInt(one) > BigInt(other);
