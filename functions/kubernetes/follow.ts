import { pause, systemClock, type Clock } from '../runtime/clock.ts';
import type { KubernetesObject } from '../domain/objects.ts';
import { isLater } from '../domain/resource-version.ts';
import type { Cluster, ListedType, ResourceType, Selection, WatchEvent } from './cluster.ts';
import { isGone, isTooLargeVersion, isNotFound } from './errors.ts';

export interface Follower<T> {
  /** All matching objects, after each list. An object that is not in it is gone. */
  readonly onList: (objects: readonly T[]) => void;
  readonly onChange: (object: T) => void;
  /** Receives an object that was deleted, or is no longer selected; the whole object, even where `type` trims. */
  readonly onGone: (object: T) => void;
  /** The list or the watch failed; it is retried after a pause. `isLost`: a list is needed first, so any change may have been missed. */
  readonly onError: (error: unknown, isLost: boolean) => void;
}

export interface Followed<T extends KubernetesObject> {
  /** A ListedType trims watched objects too. An object of which it keeps nothing counts as gone. */
  readonly type: ResourceType<T> | ListedType<T>;
  readonly where: Selection;
  readonly signal: AbortSignal;
  /** The clock; the system clock by default. */
  readonly clock?: Clock;
  /** Interval of lists beside the watch, milliseconds: bounds how long a silent watch can hide a change. Left out: never. */
  readonly listEveryMs?: number;
  /** The kind may not be installed: a 404 is an empty list then. */
  readonly isOptional?: boolean;
  /** The API server has no watch cache of the kind, as of Events: it sends no bookmarks, and each list reads etcd. */
  readonly isUncached?: boolean;
}

const PAUSE_MS = { first: 200, max: 10_000 };

/**
 * Bookmarks come every minute (k8s.io/apiserver, storage/cacher), so a watch that is silent for longer is dead. A list is needed then: of a
 * storage that was restored from a backup the API server sends no events until its versions have caught up.
 */
const SILENCE_MS = 75_000;

/** Milliseconds of silence after which a list is needed, less by what a timer may come too early. */
const UNHEARD_MS = SILENCE_MS - 1_000;

/** The abort reason of a silent watch. */
const SILENT = new Error('silent for too long');

/** A watch that lasted so long needs no pause before the next one. */
const STEADY_MS = 5_000;

/** Pause before a kind that is not installed is tried again. */
const MISSING_MS = 5_000;

/** Objects in a page: bounds the memory of a list before it is trimmed. */
const PAGE_SIZE = 500;

/**
 * Lists and watches until `signal` aborts. A watch that ended is resumed from the last version seen, bookmarks included. It
 * lists again only where the server no longer has that version (410), or was not heard for long.
 */
export async function follow<T extends KubernetesObject>(
  cluster: Cluster,
  followed: Followed<T>,
  follower: Follower<T>,
): Promise<void> {
  await new Following(cluster, followed, follower).run();
}

class Following<T extends KubernetesObject> {
  readonly #cluster: Cluster;
  readonly #followed: Followed<T>;
  readonly #follower: Follower<T>;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  /** The last version seen; undefined: a list is needed. */
  #version: string | undefined;
  /** Version of the last list: it includes every watch event up to that version. */
  #listed = '';
  /** Milliseconds when the server was heard last. */
  #heardAt = 0;
  /** Milliseconds when this attempt began to watch: a list that took long and failed needs a pause all the same. */
  #watchedAt = Infinity;

  constructor(cluster: Cluster, followed: Followed<T>, follower: Follower<T>) {
    this.#cluster = cluster;
    this.#followed = followed;
    this.#follower = follower;
    this.#clock = followed.clock ?? systemClock;
    this.#signal = followed.signal;
  }

  async run(): Promise<void> {
    const { listEveryMs } = this.#followed;
    await Promise.all([
      this.#listAndWatch(),
      ...(listEveryMs === undefined ? [] : [this.#listEvery(listEveryMs)]),
    ]);
  }

  async #listAndWatch(): Promise<void> {
    let pauseMs = PAUSE_MS.first;
    while (!this.#isStopped()) {
      this.#watchedAt = Infinity;
      const isMissing = await this.#attempt();
      const isSteady = this.#clock.elapsed() - this.#watchedAt >= STEADY_MS;
      if (isSteady) pauseMs = PAUSE_MS.first;
      if (isMissing) await this.#pause(MISSING_MS);
      else if (!isSteady) {
        await this.#pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, PAUSE_MS.max);
      }
    }
  }

  /** Runs until the watch ends, also with an error. Returns whether the kind is not installed. */
  async #attempt(): Promise<boolean> {
    try {
      if (this.#version === undefined) await this.#list();
      await this.#watch();
      this.#forgetUnheard();
    } catch (error) {
      if (this.#isStopped()) return false;
      if (this.#followed.isOptional === true && isNotFound(error)) {
        this.#version = undefined;
        this.#follower.onList([]);
        return true;
      }
      this.#forgetUnheard();
      if (this.#version !== undefined && (isGone(error) || isTooLargeVersion(error)))
        this.#version = undefined;
      else this.#follower.onError(error, this.#version === undefined);
    }
    return false;
  }

  #forgetUnheard(): void {
    const isUnheard = this.#clock.elapsed() - this.#heardAt >= UNHEARD_MS;
    if (isUnheard && this.#followed.isUncached !== true) this.#version = undefined;
  }

  async #listEvery(everyMs: number): Promise<void> {
    while (!this.#isStopped()) {
      await this.#pause(everyMs);
      // Without a version #listAndWatch lists.
      if (this.#isStopped() || this.#version === undefined) continue;
      await this.#list().catch((error: unknown) => {
        if (!this.#isStopped()) this.#follower.onError(error, this.#version === undefined);
      });
    }
  }

  async #list(): Promise<void> {
    const { type, where } = this.#followed;
    const { items, resourceVersion } = await this.#cluster.list(type, where, { pageSize: PAGE_SIZE });
    // The watch is ahead: this list would restore objects that are gone.
    if (this.#isStopped() || (this.#version !== undefined && isLater(this.#version, resourceVersion))) return;
    this.#version = resourceVersion;
    this.#listed = resourceVersion;
    this.#heardAt = this.#clock.elapsed();
    this.#follower.onList(items);
  }

  /** Watches from the last version seen, until the server ends the watch or is silent for too long. */
  async #watch(): Promise<void> {
    // An aborted signal does not call a new listener.
    if (this.#isStopped()) return;
    const { type, where } = this.#followed;
    const from = { ...where, resourceVersion: this.#version ?? '' };
    this.#watchedAt = this.#clock.elapsed();
    const ending = new AbortController();
    const { signal } = ending;
    const end = (): void => ending.abort();
    const listen = (): (() => void) => this.#clock.after(SILENCE_MS, () => ending.abort(SILENT));
    let cancel = listen();
    // Not AbortSignal.any: Node keeps its result for as long as it has a listener.
    this.#signal.addEventListener('abort', end, { once: true });
    try {
      for await (const event of this.#cluster.watch<T>({ ...type, trim: undefined }, from, signal)) {
        if (signal.aborted) return;
        cancel();
        this.#heardAt = this.#clock.elapsed();
        cancel = listen();
        this.#apply(event);
      }
    } catch (error) {
      if (signal.reason !== SILENT) throw error;
    } finally {
      cancel();
      this.#signal.removeEventListener('abort', end);
    }
  }

  #apply({ type, object }: WatchEvent<T>): void {
    const { resourceVersion } = object.metadata;
    if (isLater(resourceVersion, this.#version ?? '')) this.#version = resourceVersion;
    if (type === 'BOOKMARK' || !isLater(resourceVersion, this.#listed)) return;
    const { trim } = this.#followed.type;
    const kept = trim === undefined ? object : trim(object)?.object;
    if (type === 'DELETED' || kept === undefined) this.#follower.onGone(object);
    else this.#follower.onChange(kept);
  }

  #pause(ms: number): Promise<void> {
    return pause(this.#clock, ms, this.#signal);
  }

  /** A method, because the value may change during an await. */
  #isStopped(): boolean {
    return this.#signal.aborted;
  }
}

export const uidOf = ({ metadata }: KubernetesObject): string => metadata.uid;

export type Changes<T> = Pick<Follower<T>, 'onList' | 'onChange' | 'onGone'>;

/** Keeps the current objects in a map, by a key. */
export function inMap<T extends KubernetesObject>(
  map: Map<string, T>,
  keyOf: (object: T) => string = uidOf,
): Changes<T> {
  return {
    onList: (objects) => {
      map.clear();
      for (const object of objects) map.set(keyOf(object), object);
    },
    onChange: (object) => void map.set(keyOf(object), object),
    onGone: (object) => void map.delete(keyOf(object)),
  };
}
