import { hasArrived, marksOf, wasGuestReady } from './cut-over.ts';
import { MARK } from '../../domain/live/names.ts';
import { isReceivingVmi, receiverOf, vmimOf } from './proofs.ts';
import { withMarks, type RunRecord } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';

/**
 * Returns the record with the marks that are seen now, and with the arrival; undefined if nothing is new. An arrival counts only for the VM
 * that the attempts are for, because the source goes by it: a user may have made another VM with its labels. A mark counts for any VM
 * with these labels, because it only keeps everything as it is.
 */
export function withSeenMarks(run: RecordedRun): RunRecord | undefined {
  const { source, target, record, hub } = run;
  const receiver = receiverOf(run);
  const vmi = receiver === undefined ? undefined : target.vmi;
  const isAnother = vmi !== undefined && record.receiver !== undefined && !isReceivingVmi(vmi, record);
  const seen = { vm: receiver, vmi, vmim: vmimOf(target.vmims, run.run, record.attempt) };
  const { before } = record;
  const isNoted = record.marks.some(({ mark }) => mark === MARK.guestReady);
  const wasReady = isNoted || (!isAnother && wasGuestReady(seen.vmim));
  return withMarks(
    record,
    {
      marks: marksOf({ source, target: seen, before }),
      hasArrived: hasArrived({
        source,
        target: { ...seen, vmi: isAnother ? undefined : vmi },
        before,
        wasReady,
      }),
    },
    new Date(hub.now).toISOString(),
  );
}
