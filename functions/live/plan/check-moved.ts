import { has } from '../../domain/live/conditions.ts';
import type { Plan, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import { overQuota } from '../on-target/quota.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { PLANS, VIRTUAL_MACHINES } from '../../kubernetes/live-resources.ts';
import { RESOURCE_QUOTAS } from '../../kubernetes/resources.ts';
import { isHost } from '../findings/providers.ts';
import { readUsable } from './check-referred.ts';
import { reviewOf } from './requester-review.ts';
import { rightsToLook, rightsToUse } from './rights-needed.ts';
import { putStatus } from './write-findings.ts';
import type { LiveContext } from '../context.ts';
import { getOrUndefined } from '../read/get.ts';
import { overFinding } from '../status/vm.ts';

/**
 * Writes for each VM that has moved, and was over its quota then, whether it still is, and by how much: as long as that is so it would not
 * start again (L8). The Migration's status keeps the amount at its end. Known amounts stay if the plan's requester may not see them any more.
 */
export async function checkMoved(plan: Plan, context: LiveContext): Promise<void> {
  const { metadata, spec, status } = plan;
  const { namespace = '' } = metadata;
  const review = await reviewOf(plan, context.hub);
  if ((await review(rightsToUse(plan))) !== undefined) return;
  const destination = await readUsable({ namespace, ...named(spec.provider.destination) }, context);
  const shown = status?.migration;
  if (destination?.cluster === undefined || shown === undefined) return;
  const hosts = { isSource: false, isTarget: isHost(destination.provider) };
  if ((await review(rightsToLook(plan, hosts))) !== undefined) return;
  const vms = await readAgain(shown.vms ?? [], spec.targetNamespace, destination.cluster);
  if (vms === undefined) return;
  await putStatus(context.hub, PLANS, { object: plan, status: { ...status, migration: { ...shown, vms } } });
}

/** Reads the quotas again; undefined if the cluster does not answer, so that the known amounts stay. */
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

/** Returns the status with this amount; if it is empty, the VM is no longer over its quota. */
const withOver = (vm: VmStatus, over: string): VmStatus => ({
  ...vm,
  conditions: (vm.conditions ?? []).flatMap((condition) => {
    if (condition.type !== LIVE_CONDITION.restartWouldBeRefused) return condition;
    return over === '' ? [] : { ...condition, ...overFinding(over) };
  }),
});
