import type { Told } from './told.ts';

/** What woke a step: only a hint where to look. */
export interface Wake {
  readonly type: string;
  readonly id: string;
  readonly namespace: string;
  readonly token?: string;
  /** The kind of the object that an ApiServerSource's event is about. */
  readonly kind?: string;
  /** That object as the event has it: only ever a reason to do nothing (docs/adr/0015). */
  readonly told?: Told;
  /**
   * Only from the watchdog, never from an event: it has watched this token for the lock's whole lifetime on its own
   * clock, so the lock is over whatever the API servers' clocks say of each other.
   */
  readonly overdueToken?: string;
}
