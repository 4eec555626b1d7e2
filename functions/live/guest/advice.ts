import { hasTargetPod, isOff, isSourceAlive, isTargetUp, receiverOf } from './proofs.ts';
import type { RecordedRun, RunSnapshot } from '../run/snapshot.ts';

/*
 * All advice to start, stop or delete a VM that moves. A user who obeys it must not lose the only copy, or start a second one: each is empty
 * unless the snapshot proves the state of the other VM. No other message of `live` has such advice (test/contract/static/live-advice.test.ts).
 */

/** How to start the VM on the target: it has the newest data, and the one on the source is off. */
export function adviceToStartTarget(run: RecordedRun): string {
  const vm = receiverOf(run);
  const { source, record } = run;
  const isNeeded = record.arrivedAt !== undefined && vm !== undefined && !isTargetUp(run);
  if (!isNeeded || !isOff(source.vm) || source.vmi !== undefined) return '';
  const { namespace = '', name } = vm.metadata;
  return isOff(vm) || run.target.vmi === undefined
    ? `: start it there (virtctl start ${name} -n ${namespace})`
    : `: see the Events of its VMI ${namespace}/${name}`;
}

/** How to end the VM on the source: the guest runs on the target. */
export const adviceToEndSource = (snapshot: RunSnapshot): string =>
  isTargetUp(snapshot)
    ? ': the VM runs on the target, so set the one on the source to Halted, also where a GitOps tool has it'
    : '';

/** How to end the VM on the target: the guest never left the launcher of the source, which runs. */
export const adviceToDeleteTarget = (run: RecordedRun): string =>
  isSourceAlive(run) && run.source.vmi?.metadata.uid === run.record.vmi && !hasTargetPod(run.target)
    ? ': the guest still runs on the source, so delete the VM on the target'
    : '';
