import { pause, systemClock, type Clock } from '../runtime/clock.ts';
import type { KubernetesObject } from '../domain/objects.ts';
import type { Cluster, ResourceType, Selection } from './cluster.ts';

export interface Follower<T> {
  /** Everything that matches, after each list: what is not in it is gone. */
  readonly onList: (objects: readonly T[]) => void;
  readonly onChange: (object: T) => void;
  /** Deleted, or no longer selected. */
  readonly onGone: (object: T) => void;
  /** The list or the watch broke; it starts again after a pause. */
  readonly onError: (error: unknown) => void;
}

export interface Followed<T extends KubernetesObject> {
  readonly type: ResourceType<T>;
  readonly where: Selection;
  readonly signal: AbortSignal;
  /** Left out: the machine's. */
  readonly clock?: Clock;
}

const PAUSE_MS = { first: 200, most: 10_000 };

/** Lists and watches until `signal` aborts; after any break it lists again, so that nothing is missed for good. */
export async function follow<T extends KubernetesObject>(
  cluster: Cluster,
  { type, where, signal, clock = systemClock }: Followed<T>,
  follower: Follower<T>,
): Promise<void> {
  let pauseMs = PAUSE_MS.first;
  while (!signal.aborted) {
    try {
      const { items, resourceVersion } = await cluster.list(type, where);
      follower.onList(items);
      pauseMs = PAUSE_MS.first;
      await watchFrom(resourceVersion);
    } catch (error) {
      if (isAborted(signal)) return;
      follower.onError(error);
      await pause(clock, pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, PAUSE_MS.most);
    }
  }

  /** Goes on from the last version seen for as long as the server closes the watch in good order. */
  async function watchFrom(start: string): Promise<void> {
    let resourceVersion = start;
    while (!signal.aborted) {
      for await (const event of cluster.watch(type, { ...where, resourceVersion }, signal)) {
        resourceVersion = event.object.metadata.resourceVersion;
        if (event.type === 'DELETED') follower.onGone(event.object);
        else if (event.type !== 'BOOKMARK') follower.onChange(event.object);
      }
    }
  }
}

/** Asked anew: an await lies between this and the last look. */
const isAborted = (signal: AbortSignal): boolean => signal.aborted;
