import { has } from '../../domain/live/conditions.ts';
import type { Plan, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import { overQuota } from '../target/quota.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { PLANS, VIRTUAL_MACHINES } from '../../kubernetes/live-resources.ts';
import { RESOURCE_QUOTAS } from '../../kubernetes/resources.ts';
import { putStatus } from './check.ts';
import { readProvider } from '../read/providers.ts';
import type { LiveContext } from '../context.ts';
import { getOrUndefined } from '../read/get.ts';
import { overFinding } from '../status/vm.ts';

/**
 * Shows of each VM that has moved, and was over its quota then, whether it is still, and by how much: as long as that is so it would not
 * start again (L8). The Migration shows what it was at its end.
 */
export async function checkMoved(plan: Plan, context: LiveContext): Promise<void> {
  const { metadata, spec, status } = plan;
  const { namespace = '' } = metadata;
  const destination = await readProvider({ namespace, ...named(spec.provider.destination) }, context);
  const shown = status?.migration;
  if (destination?.cluster === undefined || shown === undefined) return;
  const vms = await readAgain(shown.vms ?? [], spec.targetNamespace, destination.cluster);
  if (vms === undefined) return;
  await putStatus(context.hub, PLANS, { object: plan, status: { ...status, migration: { ...shown, vms } } });
}

/** undefined: the cluster does not answer, so what was known stays. */
async function readAgain(
  vms: readonly VmStatus[],
  namespace: string,
  cluster: Reader,
): Promise<VmStatus[] | undefined> {
  try {
    const over = overQuota((await cluster.list(RESOURCE_QUOTAS, { namespace })).items);
    return await Promise.all(
      vms.map(async (vm) => {
        if (!has(vm, LIVE_CONDITION.restartWouldBeRefused)) return vm;
        const { name = '', newName = name } = vm;
        const isThere =
          (await getOrUndefined(cluster.get(VIRTUAL_MACHINES, { namespace, name: newName }))) !== undefined;
        return withOver(vm, isThere ? over : '');
      }),
    );
  } catch {
    return undefined;
  }
}

/** Empty: it is over no more. */
const withOver = (vm: VmStatus, over: string): VmStatus => ({
  ...vm,
  conditions: (vm.conditions ?? []).flatMap((condition) => {
    if (condition.type !== LIVE_CONDITION.restartWouldBeRefused) return condition;
    return over === '' ? [] : { ...condition, ...overFinding(over) };
  }),
});
