import { isGivenUp } from './break-glass.ts';
import type { Plan, PlanMigration, VmReference } from '../../domain/live/forklift.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Stop } from './snapshot.ts';
import { hasFinalizer } from './state.ts';
import { describe } from './describe.ts';

interface StopView {
  readonly migration: PlanMigration;
  readonly plan: Plan;
  /** The Providers with their Secrets: a user who deletes one withdraws its use. */
  readonly providerObjects?: readonly KubernetesObject[];
}

/**
 * Returns why the run of this VM is to end; undefined if it is not. The texts are Forklift's (facts/cross-cluster.md §A1). VMs in the
 * status of a Migration that are not in the plan do not move.
 */
export function stopOf(
  vm: VmReference,
  { migration, plan, providerObjects = [] }: StopView,
): Stop | undefined {
  if ([migration, plan].some(({ metadata }) => metadata.deletionTimestamp !== undefined))
    return { reason: LIVE_REASON.deleted, message: 'The migration has been deleted.' };
  const [withdrawn] = providerObjects.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  if (withdrawn !== undefined)
    return { reason: LIVE_REASON.deleted, message: `The ${describe(withdrawn)} has been deleted.` };
  if (plan.spec.archived === true)
    return { reason: LIVE_REASON.archived, message: 'The migration plan has been archived.' };
  if (isGivenUp(migration))
    return { reason: LIVE_REASON.givenUp, message: 'The migration has been given up.' };
  if (isReplaced(plan, migration))
    return {
      reason: LIVE_REASON.modified,
      message: 'The plan has been replaced by another one of its name.',
    };
  if (plan.spec.type !== 'live')
    return { reason: LIVE_REASON.modified, message: 'The plan is not for live migrations any more.' };
  if (!plan.spec.vms.some((entry) => isSameVm(entry, vm)))
    return { reason: LIVE_REASON.modified, message: 'The VM is not in the plan.' };
  return isCanceled(vm, { migration, plan })
    ? { reason: LIVE_REASON.userRequested, message: 'The migration has been canceled.' }
    : undefined;
}

/**
 * Whether the Plan has replaced the Migration's own. A Migration gets its Plan as owner when its run begins, if both are in one namespace
 * (finalizers.ts).
 */
const isReplaced = ({ metadata: { uid, namespace } }: Plan, migration: PlanMigration): boolean =>
  hasFinalizer(migration) &&
  migration.metadata.namespace === namespace &&
  migration.metadata.ownerReferences?.some((owner) => owner.uid === uid) !== true;

function isCanceled(vm: VmReference, { migration, plan }: StopView): boolean {
  const vms = migration.status?.vms ?? plan.spec.vms;
  return (migration.spec.cancel ?? []).some(
    (reference) => isSameVm(reference, vm) && !isAmbiguous(reference, vms),
  );
}

/** Whether several VMs fit the reference, so that the intended one is not known. */
export const isAmbiguous = (reference: VmReference, vms: readonly VmReference[]): boolean =>
  vms.filter((vm) => isSameVm(reference, vm)).length > 1;

/**
 * Whether two references name the same VM: by uid if both have one; else by name, in the same namespace unless one of them leaves it out.
 */
export function isSameVm(one: VmReference, other: VmReference): boolean {
  if (one.id && other.id) return one.id === other.id;
  if (!one.name || one.name !== other.name) return false;
  return !one.namespace || !other.namespace || one.namespace === other.namespace;
}
