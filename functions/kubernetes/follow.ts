import { pause, systemClock, type Clock } from '../runtime/clock.ts';
import type { KubernetesObject } from '../domain/objects.ts';
import { isLater } from '../domain/resource-version.ts';
import type { Cluster, ListedType, ResourceType, Selection, WatchEvent } from './cluster.ts';
import { isGone, isTooLargeVersion, isNotFound } from './errors.ts';
import { DEFINITIONS } from './resources.ts';

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
  /** The kind may not be installed: a 404 is an empty list then, until its CustomResourceDefinition comes. */
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

/** Pause before a kind that is not installed is tried again, where we may not watch its definition. */
const MISSING_MS = 5_000;

/** The abort reason where we may not watch the definition, or the API server does not answer. */
const UNWATCHED = new Error('the definition is not watched');

/** The longest pause before a kind is tried again whose definition is there and has not changed, such as for another version of the kind. */
const UNSERVED_MS = 3_600_000;

/** The one definition of a kind; its schema may be large. */
const DEFINITION: ListedType<KubernetesObject> = {
  ...DEFINITIONS,
  trim: ({ metadata: { name, uid, resourceVersion, creationTimestamp } }) => ({
    object: { metadata: { name, uid, resourceVersion, creationTimestamp } },
    size: 0,
  }),
};

const definitionOf = ({ apiVersion, plural }: Pick<ResourceType, 'apiVersion' | 'plural'>): string =>
  `${plural}.${apiVersion.split('/')[0] ?? ''}`;

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
  /** The definition of a kind that is not installed, at the last attempt: its version, and the number of attempts since it has that. */
  #definition: { readonly version: string | undefined; readonly tries: number } = {
    version: undefined,
    tries: 0,
  };
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
      if (isMissing) await this.#untilDefined();
      else if (!isSteady) {
        await this.#pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, PAUSE_MS.max);
      }
    }
  }

  /**
   * Waits until the kind may be installed: until its definition comes or changes. The kind is served a moment later, so while there is a
   * definition, the wait also ends after a pause that doubles with each attempt.
   */
  async #untilDefined(): Promise<void> {
    if (this.#isStopped()) return;
    const over = new AbortController();
    const end = (): void => over.abort();
    let cancel = (): void => undefined;
    const saw = (definition?: KubernetesObject): void => {
      const version = definition?.metadata.resourceVersion;
      const isNew = version !== this.#definition.version;
      this.#definition = { version, tries: isNew ? 0 : this.#definition.tries + 1 };
      cancel();
      if (version === undefined) return;
      const { tries } = this.#definition;
      if (isNew) end();
      else cancel = this.#clock.after(Math.min(PAUSE_MS.first * 2 ** tries, UNSERVED_MS), end);
    };
    this.#signal.addEventListener('abort', end, { once: true });
    const where = { fieldSelector: `metadata.name=${definitionOf(this.#followed.type)}` };
    const followed = { type: DEFINITION, where, clock: this.#clock, signal: over.signal };
    await follow(this.#cluster, followed, {
      onList: ([definition]) => saw(definition),
      onChange: saw,
      onGone: () => saw(),
      onError: () => over.abort(UNWATCHED),
    });
    cancel();
    this.#signal.removeEventListener('abort', end);
    if (over.signal.reason === UNWATCHED) await this.#pause(MISSING_MS);
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
