import { has } from '../../domain/live/conditions.ts';
import type { Plan, VmStatus } from '../../domain/live/forklift.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION, LIVE_CONDITION } from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import type { ApiServer } from '../../kubernetes/cluster.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { PLANS, VIRTUAL_MACHINES } from '../../kubernetes/live-resources.ts';
import { withMovedFindings } from '../findings/moved.ts';
import { hasMoved } from '../run/state.ts';
import type { LiveContext } from '../context.ts';
import { readMoved } from '../read/moved.ts';
import { isMadeBy, lookedAt, NEXT_CRASH_TEXT } from '../status/after-move.ts';
import { timeText } from '../status/vm.ts';
import { readUsable } from './check-referred.ts';
import { clustersWithRights, reviewOf, type SideClusters } from './requester-review.ts';
import { rightsToLook, rightsToUse } from './rights-needed.ts';
import { putStatus } from './write-findings.ts';

/**
 * Writes for each VM that has moved what is so of it now: whether it runs on both clusters, whether it would start again (L8), and what else
 * lasts after its move. The Migration's status keeps what was so at its end. A condition stays if its VM cannot be read now, or if the plan's
 * requester may not see it any more.
 */
export async function checkMoved(plan: Plan, context: LiveContext): Promise<void> {
  const { status } = plan;
  const shown = status?.migration;
  const clusters = await readableClusters(plan, context);
  if (clusters === undefined || shown === undefined) return;
  const now = context.clock.now();
  const time = timeText(now.getTime());
  const vms = await Promise.all(
    (shown.vms ?? []).map((vm) =>
      hasMoved(vm) ? lookAt(vm, { plan, clusters, time }, context) : Promise.resolve(vm),
    ),
  );
  const conditions = withMovedFindings(status?.conditions ?? [], vms, now.toISOString());
  await putStatus(context.hub, PLANS, {
    object: plan,
    status: { ...status, conditions, migration: { ...shown, vms } },
  });
}

/** Returns the clusters that the plan's requester may look at; undefined if the requester may not use the providers. */
async function readableClusters(plan: Plan, context: LiveContext): Promise<SideClusters | undefined> {
  const { metadata, spec, status } = plan;
  const { namespace = '' } = metadata;
  const review = await reviewOf([plan], context.hub);
  if ((await review(rightsToUse(plan))) !== undefined) return undefined;
  const [source, destination] = await Promise.all([
    readUsable({ namespace, ...named(spec.provider.source) }, context),
    readUsable({ namespace, ...named(spec.provider.destination) }, context),
  ]);
  // The spec may name other VMs by now than have moved.
  const vms = (status?.migration?.vms ?? []).filter(hasMoved);
  return clustersWithRights({ source, destination }, review, (hosts) =>
    rightsToLook({ ...plan, spec: { ...spec, vms } }, hosts),
  );
}

interface Look {
  readonly plan: Plan;
  readonly clusters: SideClusters;
  readonly time: string;
}

/** Reads the VM, and returns its status. The VM on the target is annotated first: its condition brings the next look, if that fails. */
async function lookAt(
  vm: VmStatus,
  { plan, clusters, time }: Look,
  { log }: Pick<LiveContext, 'log'>,
): Promise<VmStatus> {
  const seen = await readMoved(vm, plan, clusters);
  const next = lookedAt(vm, seen, { plan, time });
  const copy = seen.target?.vm;
  if (copy === undefined || clusters.target === undefined) return next;
  try {
    await annotate(copy, { plan, halts: has(next, LIVE_CONDITION.nextCrashHalts) }, clusters.target);
    return next;
  } catch (error) {
    log('warn', `the VM on the target is not annotated: ${describeError(error)}`, { vm: vm.name });
    return vm;
  }
}

/**
 * Writes on a VM that a run of the plan made that KubeVirt halts it at its next crash, or takes that off: once KubeVirt has halted the VM,
 * nothing else on that cluster says why.
 */
async function annotate(
  vm: VirtualMachine,
  { plan, halts }: { readonly plan: Plan; readonly halts: boolean },
  target: ApiServer,
): Promise<void> {
  const { [LIVE_ANNOTATION.nextCrash]: before, ...others } = vm.metadata.annotations ?? {};
  if (!isMadeBy(plan, vm) || halts === (before !== undefined)) return;
  const annotations = halts ? { ...others, [LIVE_ANNOTATION.nextCrash]: NEXT_CRASH_TEXT } : others;
  await target.replace(VIRTUAL_MACHINES, { ...vm, metadata: { ...vm.metadata, annotations } });
}
