import type { Subject } from '../domain/progress/progress-object.ts';
import type { EventObject } from './event-object.ts';

/** An event that runs a step: only a hint where to look. */
export interface StepRequest {
  readonly type: string;
  readonly id: string;
  /** '' for an event about a drain or the upgrade. */
  readonly namespace: string;
  /** The drain or the upgrade that `progress` reports on. */
  readonly maintenance?: Subject;
  /** The `source` of our own event. */
  readonly source?: string;
  readonly token?: string;
  /** The migrations and the reason of our own event. */
  readonly migrations?: readonly { readonly name: string; readonly uid: string }[];
  readonly reason?: string;
  /** Names of the lock's ResourceQuotas and VMMRQs, from the event. */
  readonly quotas?: readonly string[];
  readonly vmmrqs?: readonly string[];
  /** Names of the migrations' VMIs, from the event. */
  readonly vmis?: readonly string[];
  /** The kind of the object that an ApiServerSource's event is about. */
  readonly kind?: string;
  /** The object from the event. A hint to do nothing (docs/adr/0015) or to go on at once (docs/adr/0026). */
  readonly eventObject?: EventObject;
  /**
   * Token of an overdue lock; the watchdog sets it, never an event. The watchdog has watched this token for the lock's whole
   * lifetime on its own clock, so the lock is over whatever the API servers' clocks show.
   */
  readonly overdueToken?: string;
}
