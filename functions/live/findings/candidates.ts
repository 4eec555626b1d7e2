import type { VmReference } from '../../domain/live/forklift.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { movedIn } from '../guest/has-moved.ts';
import { movedToOf } from '../guest/moved-to.ts';
import type { PlanView, VmView } from './plan-view.ts';
import { describeName } from '../run/describe.ts';
import { foreignRecordOf } from '../run/record.ts';

/** A VM of a plan that is found and has not moved yet. */
export interface Candidate extends VmView {
  readonly vm: VirtualMachine;
  readonly name: string;
  readonly targetName: string;
}

/** Returns how a plan or a cancel names the VM: by name, by id, or by both. */
export function labelOf({ id, namespace, name }: VmReference): string {
  const named = name && namespace ? `${namespace}/${name}` : (name ?? '');
  if (!id) return named;
  return named === '' ? `id ${id}` : `${named} with id ${id}`;
}

/** VMs of the plan that have not moved: a VM that has moved is where it shall be. */
export const candidatesOf = ({ plan, sourceCluster }: PlanView): Candidate[] =>
  plan.spec.vms.flatMap((entry, index) => {
    const seen = sourceCluster?.vms[index];
    const [vm] = seen?.found ?? [];
    if (seen === undefined || vm === undefined || movedIn(plan, { id: vm.metadata.uid }) !== undefined)
      return [];
    const name = describeName(vm);
    return [{ ...seen, vm, name, targetName: entry.targetName || vm.metadata.name }];
  });

/**
 * Whether no run has the VM, or has moved it elsewhere. To restart one that is not free, or to delete its disks on the target, may end the
 * guest or start a second copy: no other problem of it is shown.
 */
export const isFree = ({ vm }: Candidate): boolean =>
  foreignRecordOf(vm) === undefined && movedToOf(vm) === undefined;
