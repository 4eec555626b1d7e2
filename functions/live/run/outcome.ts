import { LIVE_REASON } from '../../domain/live/names.ts';
import type { RunEnd, RunRecord } from './record.ts';

type Ending = Pick<RunRecord, 'end' | 'arrivedAt'>;

/** Reasons that stay an end however the VM came to the target. */
const LASTING: readonly string[] = [
  LIVE_REASON.hookFailed,
  LIVE_REASON.recordLost,
  LIVE_REASON.targetNotRunning,
];

/** Whether an end of this reason stays one after the guest's arrival. */
export const isLasting = (reason: string): boolean => LASTING.includes(reason);

/**
 * Returns the end that the run goes to; undefined if it goes on. A cancel or a deadline may be recorded while the guest arrives, and
 * nothing undoes an arrival: then the end came too late.
 */
export function finalOutcome({ end, arrivedAt }: Ending = {}): RunEnd | undefined {
  const isLate = arrivedAt !== undefined && end !== undefined && !isLasting(end.reason);
  return isLate ? undefined : end;
}

/** Returns the end that came too late, in words; undefined if there is none. */
export function overruledEnd(record: Ending = {}): string | undefined {
  const { end } = record;
  if (end === undefined || finalOutcome(record) !== undefined) return undefined;
  return end.as === 'Canceled'
    ? `the cancel came too late (${end.message})`
    : `its guest arrived after the run had failed (${end.message})`;
}
