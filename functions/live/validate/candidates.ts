import { has } from '../../domain/live/conditions.ts';
import type { PlanVm } from '../../domain/live/forklift.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { PlanView, VmView } from '../../domain/live/plan-view.ts';
import { shownName } from '../../domain/live/shown.ts';

/** One VM of a plan that is found and has not moved yet. */
export interface Candidate extends VmView {
  readonly vm: VirtualMachine;
  readonly name: string;
  readonly targetName: string;
}

/** How the plan names it. */
export const labelOf = ({ id, namespace, name }: PlanVm): string =>
  name ? `${namespace ?? ''}/${name}` : (id ?? '');

/** VMs that have succeeded are where they shall be. */
export const candidatesOf = ({ plan, sourceCluster }: PlanView): Candidate[] =>
  plan.spec.vms.flatMap((entry, index) => {
    const seen = sourceCluster?.vms[index];
    const [vm] = seen?.found ?? [];
    if (seen === undefined || vm === undefined || hasMoved(plan, vm)) return [];
    const name = shownName(vm);
    return [{ ...seen, vm, name, targetName: entry.targetName || vm.metadata.name }];
  });

const hasMoved = ({ status }: PlanView['plan'], { metadata }: VirtualMachine): boolean =>
  (status?.migration?.vms ?? []).some(
    (shown) => shown.id === metadata.uid && has(shown, LIVE_CONDITION.succeeded),
  );
