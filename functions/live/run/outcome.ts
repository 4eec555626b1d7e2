import { LIVE_REASON } from '../../domain/live/names.ts';
import type { RunEnd, RunRecord } from './record.ts';

type Ending = Pick<RunRecord, 'end' | 'arrivedAt'>;

/** What is wrong however the VM came to the target. */
const LASTING: readonly string[] = [LIVE_REASON.hookFailed, LIVE_REASON.recordLost];

/**
 * The end that the run goes to; undefined: none, so it goes on. A cancel or a deadline may be recorded while the guest arrives, which
 * nothing takes back: then it came too late.
 */
export function finalOutcome({ end, arrivedAt }: Ending = {}): RunEnd | undefined {
  const isLate = arrivedAt !== undefined && end !== undefined && !LASTING.includes(end.reason);
  return isLate ? undefined : end;
}

/** What came too late, in words; undefined: nothing. */
export function overruledEnd(record: Ending = {}): string | undefined {
  const { end } = record;
  if (end === undefined || finalOutcome(record) !== undefined) return undefined;
  return end.as === 'Canceled'
    ? `the cancel came too late (${end.message})`
    : `its guest arrived after the run had failed (${end.message})`;
}
