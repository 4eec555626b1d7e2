import { DONE, wait, write, type LiveWrite, type StepDecision } from '../../domain/live/decision.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import type { RecordedRun } from '../../domain/live/run-snapshot.ts';

/** Takes the VMIMs away that are left; the VM on the target, and what it uses, stays. */
export function decide({ source, target }: RecordedRun): StepDecision {
  const left = [
    ...source.vmims.map((object) => ({ on: 'source' as const, object })),
    ...target.vmims.map((object) => ({ on: 'target' as const, object })),
  ];
  if (left.length === 0) return DONE;
  const due = left.filter(({ object }) => object.metadata.deletionTimestamp === undefined);
  if (due.length === 0) return wait(LIVE_REASON.cleaningUp, 'waiting until KubeVirt has removed the VMIMs');
  return write('deleting the VMIMs', ...due.map((each): LiveWrite => ({ verb: 'delete', ...each })));
}
