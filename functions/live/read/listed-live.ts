import type { LiveCondition, Plan, PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION, LIVE_FINALIZER } from '../../domain/live/names.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { hasOutbox } from '../run/outbox.ts';
import { hasEnded, hasFinalizer, hasMoved, isAwaited, vmsUnderWay } from '../run/state.ts';
import type { ListedType } from '../../kubernetes/cluster.ts';
import { PLAN_MIGRATIONS, PLANS } from '../../kubernetes/live-resources.ts';
import { trimmed, type Keep } from '../../kubernetes/trim.ts';
import { NAMED, OBJECT } from '../../cluster/listed.ts';

/*
 * Forklift's kinds as the guard and the watcher of other clusters keep them: the runs under way, with their VMs and clusters. A tenant may
 * make any number, each as long as a request.
 */

const MAX_BYTES = 16 * 1024;
export const METADATA = { ...NAMED, finalizers: true } as const;
export const REFERENCE = { namespace: true, name: true } as const;
export const CONDITION: Keep<LiveCondition> = {
  type: true,
  status: true,
  category: false,
  reason: false,
  message: false,
  suggestion: false,
  durable: false,
  items: false,
  lastTransitionTime: false,
};
const NO_ENTRY = { id: false, namespace: false, name: false, targetName: false, hooks: false } as const;
const NO_STAGE = {
  description: false,
  started: false,
  completed: false,
  progress: false,
  reason: false,
  error: false,
} as const;
const NO_VM = { ...NO_ENTRY, newName: false, phase: false, error: false, pipeline: [false] } as const;

/** Returns the metadata with no finalizer but `live`'s: anybody may write others. */
export const withOwnFinalizer = (whole: KubernetesObject): KubernetesObject['metadata'] => ({
  ...whole.metadata,
  finalizers: hasFinalizer(whole) ? [LIVE_FINALIZER] : [],
});

const PLAN: Keep<Plan> = {
  ...OBJECT,
  metadata: METADATA,
  spec: {
    type: true,
    archived: true,
    targetNamespace: true,
    provider: { source: REFERENCE, destination: REFERENCE },
    map: false,
    vms: false,
    targetLabels: false,
    targetNodeSelector: false,
    targetAffinity: false,
    serviceAccount: false,
    description: false,
  },
  status: {
    conditions: [CONDITION],
    observedGeneration: false,
    migration: {
      vms: [{ ...NO_VM, started: false, completed: false, conditions: [CONDITION] }],
      history: false,
      started: false,
      completed: false,
      progress: false,
      message: false,
    },
  },
};

/** Plans with their conditions, and with a VM that has moved, or all such VMs of which something is awaited. */
export const LISTED_PLANS: ListedType<Plan> = {
  ...PLANS,
  trim: (whole) => {
    const { status } = whole;
    const moved = (status?.migration?.vms ?? []).filter(hasMoved);
    const awaited = moved.filter(isAwaited);
    const vms = awaited.length > 0 ? awaited : moved.slice(0, 1);
    const migration = { ...status?.migration, vms };
    const metadata = withOwnFinalizer(whole);
    return trimmed(PLAN, { ...whole, metadata, status: { ...status, migration } }, MAX_BYTES);
  },
};

const PLAN_MIGRATION: Keep<PlanMigration> = {
  ...OBJECT,
  metadata: {
    ...METADATA,
    // The requester last: it may be long.
    annotations: { [LIVE_ANNOTATION.clusters]: true, [LIVE_ANNOTATION.requester]: true },
  },
  spec: { plan: REFERENCE, cancel: false },
  status: {
    started: true,
    completed: true,
    outbox: [{ id: true, type: false, time: false, subject: false, data: false }],
    vms: [
      {
        ...{ id: false, hooks: false, phase: false, error: false, conditions: false },
        ...{ namespace: true, name: true, newName: true, targetName: true, started: true, completed: true },
        pipeline: [{ ...NO_STAGE, name: true, phase: true }],
      },
    ],
    observedGeneration: false,
    conditions: false,
    leftovers: false,
    progress: false,
    message: false,
  },
};

/** Migrations with which something is left to do, with their VMs under way, and the stages of these that run now. */
export const LISTED_PLAN_MIGRATIONS: ListedType<PlanMigration> = {
  ...PLAN_MIGRATIONS,
  trim: (whole) => {
    // A tenant's Migrations that have ended may stay for ever.
    if (hasEnded(whole) && !hasOutbox(whole)) return undefined;
    const vms = vmsUnderWay(whole).map((vm) => ({
      ...vm,
      pipeline: vm.pipeline.filter(({ phase }) => phase === 'Running'),
    }));
    const metadata = withOwnFinalizer(whole);
    return trimmed(PLAN_MIGRATION, { ...whole, metadata, status: { ...whole.status, vms } }, MAX_BYTES);
  },
};
