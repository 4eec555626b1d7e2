import { has } from '../../domain/live/conditions.ts';
import type { VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, LIVE_REASON, type LiveReason } from '../../domain/live/names.ts';
import { fail, type StepDecision, type Ended } from '../run/decision.ts';
import type { RunSnapshot } from '../run/snapshot.ts';

/** Returns the end in the status: the run has ended, and the record is removed. */
export function shownEnd(status: VmStatus | undefined): Ended {
  const { succeeded, canceled } = LIVE_CONDITION;
  const other = has(status, canceled) ? 'Canceled' : 'Failed';
  return ended(has(status, succeeded) ? 'Succeeded' : other, {
    reason: LIVE_REASON.succeeded,
    message: '',
  });
}

/** Fails instead of trying a write again that has been refused for long. */
export const unlessRefused = (decision: StepDecision, { refused }: RunSnapshot['hub']): StepDecision =>
  decision.kind === 'write' && refused !== undefined ? fail(LIVE_REASON.refused, refused) : decision;

/** An end without a record to remove. */
export const ended = (
  as: Ended['as'],
  { reason, message }: { readonly reason: LiveReason; readonly message: string },
  leftovers: readonly string[] = [],
): Ended => ({ kind: 'ended', as, reason, message, leftovers, recordRemoval: [] });
