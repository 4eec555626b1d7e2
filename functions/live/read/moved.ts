import { has } from '../../domain/live/conditions.ts';
import type { Plan, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { overQuota } from '../on-target/quota.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { VIRTUAL_MACHINES, WHOLE_VMIS } from '../../kubernetes/live-resources.ts';
import { RESOURCE_QUOTAS } from '../../kubernetes/resources.ts';
import { strategyOf } from '../run/record.ts';
import type { MovedSide, MovedVm } from '../status/after-move.ts';
import { getOrUndefined } from './get.ts';
import type { VmAt } from './vmims.ts';

/** The clusters of a plan that may be read now. */
export interface MovedClusters {
  readonly source: Reader | undefined;
  readonly target: Reader | undefined;
}

/** Reads a VM that has moved, on both sides. A cluster that does not answer leaves its side unknown. */
export async function readMoved(
  vm: VmStatus,
  { spec: { targetNamespace } }: Plan,
  { source, target }: MovedClusters,
): Promise<MovedVm> {
  const { id, namespace = '', name = '' } = vm;
  const at = { namespace: targetNamespace, name: vm.newName ?? name };
  const [from, there] = await Promise.all([
    unlessAway(source && readSide(source, { namespace, name }, id)),
    target === undefined ? {} : readThere(vm, at, target),
  ]);
  return { source: from, ...there };
}

async function readThere(vm: VmStatus, at: VmAt, target: Reader): Promise<Pick<MovedVm, 'target' | 'over'>> {
  const isOver = has(vm, LIVE_CONDITION.restartWouldBeRefused);
  return {
    target: await unlessAway(readSide(target, at)),
    over: isOver ? await unlessAway(readOver(target, at.namespace)) : undefined,
  };
}

const readOver = async (cluster: Reader, namespace: string): Promise<string> =>
  overQuota((await cluster.list(RESOURCE_QUOTAS, { namespace })).items);

const unlessAway = async <T>(read: Promise<T> | undefined): Promise<T | undefined> =>
  read?.catch(() => undefined);

/** Reads the VM and its VMI. A VM of another uid has replaced it, and is none of the move; a VM that is off is read alone. */
async function readSide(cluster: Reader, at: VmAt, uid?: string): Promise<MovedSide> {
  const vm = await getOrUndefined(cluster.get(VIRTUAL_MACHINES, at));
  if (vm === undefined || (uid !== undefined && vm.metadata.uid !== uid))
    return { vm: undefined, vmi: undefined };
  const vmi = strategyOf(vm) === undefined ? undefined : await getOrUndefined(cluster.get(WHOLE_VMIS, at));
  return { vm, vmi };
}
