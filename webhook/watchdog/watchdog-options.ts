import type { Namespace } from '../../functions/domain/objects.ts';
import type { ResyncOptions } from './resync.ts';

export interface WatchdogSettings {
  readonly STALL_SECONDS: number;
  readonly OVERDUE_SECONDS: number;
}

export interface WatchdogOptions extends Pick<
  ResyncOptions,
  'cluster' | 'clock' | 'log' | 'post' | 'repair'
> {
  /** The watchdog reports every lock to `onLock`, an overdue lock to `onOverdue`, and a lock that is gone to `onUnlocked`. */
  readonly onLock?: (namespace: Namespace) => void;
  readonly onOverdue?: (name: string) => void;
  readonly onUnlocked?: (name: string) => void;
  /** Whether a function of the cycle does not answer; false by default. */
  readonly isAnySilent?: () => Promise<boolean>;
  /** Whether a migration that the watchdog knows by a lock has been cancelled or has ended; never by default. */
  readonly hasEnded?: (uid: string) => boolean;
  /** Whether such a migration may still wait for its pod: it is Pending; it may not by default. */
  readonly isWaiting?: (uid: string) => boolean;
  /** Runs after each list of the locked namespaces, so first when every lock is known. */
  readonly onListed?: () => void;
}
