import type { PostedEvent } from '../eventing/posted-event.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Log } from '../runtime/log.ts';
import type { Reach } from './read/remote.ts';

/** Everything that `live` may use. Like a step it holds no state: each event starts with reads. */
export interface LiveContext extends Reach {
  readonly clock: Clock;
  readonly log: Log;
  /** Posts an event for subscribers to the Broker. */
  readonly post: (event: PostedEvent) => Promise<void>;
  /** How many VMs of a Migration move at the same time. */
  readonly maxVmsInFlight: number;
}
