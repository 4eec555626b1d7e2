import type { OurEvent } from '../../functions/domain/events.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import type { Clock } from '../../functions/runtime/clock.ts';
import type { Log } from '../../functions/runtime/log.ts';

export interface WatchdogSettings {
  readonly STALL_SECONDS: number;
  readonly OVERDUE_SECONDS: number;
}

export interface WatchdogOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
  readonly post: (event: OurEvent) => Promise<void>;
  /** Lowers and unlocks in the guard's process; `token`: the lock that the watchdog has watched for its whole lifetime. */
  readonly repair: (namespace: string, token: string | undefined) => Promise<unknown>;
  /** The watchdog reports every lock to `onLock`, one that is overdue to `onOverdue`, and every lock that is gone to `onUnlocked`. */
  readonly onLock?: (namespace: Namespace) => void;
  readonly onOverdue?: (name: string) => void;
  readonly onUnlocked?: (name: string) => void;
  /** Whether a migration that the watchdog knows by a lock has been cancelled or has ended; left out: never. */
  readonly hasEnded?: (uid: string) => boolean;
  /** Called after each list of the locked namespaces, so first when every lock is known. */
  readonly onListed?: () => void;
}
