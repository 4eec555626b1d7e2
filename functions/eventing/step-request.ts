import type { EventObject } from './event-object.ts';

/** What woke a step: only a hint where to look. */
export interface StepRequest {
  readonly type: string;
  readonly id: string;
  readonly namespace: string;
  /** The event's own `source`, where it is one of ours. */
  readonly source?: string;
  readonly token?: string;
  /** Of our own events: what it was for, and why. */
  readonly migrations?: readonly { readonly name: string; readonly uid: string }[];
  readonly reason?: string;
  /** Names of the lock's ResourceQuotas and VMMRQs, as the event has them. */
  readonly quotas?: readonly string[];
  readonly vmmrqs?: readonly string[];
  /** The kind of the object that an ApiServerSource's event is about. */
  readonly kind?: string;
  /** That object as the event has it: a hint, either to do nothing (docs/adr/0015) or to go on at once (docs/adr/0026). */
  readonly eventObject?: EventObject;
  /**
   * Only from the watchdog, never from an event: it has watched this token for the lock's whole lifetime on its own
   * clock, so the lock is over whatever the API servers' clocks say of each other.
   */
  readonly overdueToken?: string;
}
