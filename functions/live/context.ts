import type { PostedEvent } from '../eventing/posted-event.ts';
import type { Clock } from '../runtime/clock.ts';
import type { KeyedSerializer } from '../runtime/keyed-serializer.ts';
import type { Log } from '../runtime/log.ts';
import type { Reach } from './read/remote.ts';

/** The clients and settings of `live`. `live` keeps no state between events: each event starts with reads. */
export interface LiveContext extends Reach {
  readonly clock: Clock;
  readonly log: Log;
  /** Posts an event for subscribers to the Broker. */
  readonly post: (event: PostedEvent) => Promise<void>;
  /** Maximum of the VMs of a Migration that move at the same time. */
  readonly maxVmsInFlight: number;
  /** Whether the watcher of the clusters has posted an event that is handled now, so that it runs. */
  readonly isWatched?: boolean;
  /** What is done for each Migration, Plan, and what they name, in turn; left out: each begins at once. */
  readonly turns?: KeyedSerializer;
}
