import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import { foreignRecordOf, type RunRecord } from '../run/record.ts';
import { adviceToRemoveRecord } from './advice.ts';

/**
 * Says that another run moves the VM, and what a user does if that one never ends: `kubectl apply` of an old manifest writes a record again.
 * `record`: undefined if it cannot be read.
 */
export function vmInUse(vm: VirtualMachine, record: RunRecord | undefined): string {
  const advice = adviceToRemoveRecord(vm, record);
  if (record === undefined)
    return `the annotation ${LIVE_ANNOTATION.run} of the VM cannot be read: unless another Migration moves it, ${advice}`;
  const { namespace, name, uid } = record.migration;
  return `the VM is moved by the Migration ${namespace}/${name} of uid ${uid}: wait for its end. If it is gone, or ended long ago, ${advice}`;
}

/** Names the run that moves the VM, and what a user does if that run is gone; undefined if no run has a record on the VM. */
export function movedBy(vm: VirtualMachine): string | undefined {
  const foreign = foreignRecordOf(vm);
  return foreign && vmInUse(vm, foreign.record);
}
