import { isFinal, isRunning, wasRejectedByQuota } from '../../functions/domain/migration.ts';
import { KIND, KUBEVIRT } from '../../functions/domain/names.ts';
import type {
  Condition,
  KubeVirt,
  Migration,
  VirtualMachineInstance,
} from '../../functions/domain/objects.ts';
import {
  isFor,
  isProtected,
  methodsOf,
  vmStateOf,
  WAITS_FOR,
  notReadySince,
  type VmState,
} from '../../functions/progress/vm-state.ts';
import type { NamespaceFacts } from './facts.ts';
import { isByEviction, type Task } from './task.ts';

/** A VM, and the migration that would move it. */
export interface Move {
  readonly vmi: VirtualMachineInstance;
  readonly migration: Migration;
  /** Whether the migration is still to be created. */
  readonly isNew: boolean;
  /** Whether KubeVirt's condition shows that a quota refused its target. */
  readonly isShown: boolean;
}

/** The outcome of a VM that does not depend on any quota. */
export interface Exempt {
  readonly outcome: 'Passes' | 'NotMigratable' | 'Restarted' | 'CannotTell';
  readonly reason: string;
  readonly message: string;
}

interface WhatIf {
  readonly task: Task;
  /** Whether an upgrade has begun, so that only the VMs that are outdated already count. */
  readonly onlyOutdated: boolean;
  readonly kubevirt: KubeVirt | undefined;
  /** The time, in milliseconds. */
  readonly now: number;
}

/** A VM, the migration that the task would give it, and its outcome if the task gives it none. */
export interface Planned {
  readonly move: Move;
  /** The exemption; undefined: KubeVirt migrates the VM if the quotas allow it. */
  readonly exempt: Exempt | undefined;
  /** Whether another migration of the VM must end first. */
  readonly isLater: boolean;
}

/** The effect of the task on the VMs of a namespace, in their order. */
export function planOf(
  { vmis, migrations }: Pick<NamespaceFacts, 'vmis' | 'migrations'>,
  whatIf: WhatIf,
): Planned[] {
  // After a migration that is being deleted, KubeVirt makes the next.
  const byVm = migrationsByVm(migrations.filter(({ metadata }) => metadata.deletionTimestamp === undefined));
  return vmis.map((vmi) => {
    const current = byVm.get(vmi.metadata.name);
    const isLater = current !== undefined && isBeforeUpgrade(current, whatIf);
    const own = isLater ? undefined : current;
    return { move: moveOf(vmi, own, whatIf), exempt: exemptionOf(vmi, own, whatIf), isLater };
  });
}

/**
 * The migration that the task would give this VM: its own unfinished one, beside which KubeVirt creates no other, or one as
 * KubeVirt or a user would create it (facts/kubevirt.md §3), refused by a quota.
 */
function moveOf(vmi: VirtualMachineInstance, own: Migration | undefined, whatIf: WhatIf): Move {
  const { task } = whatIf;
  const migration = own ?? migrationFor(vmi, whatIf);
  return {
    vmi: task.kind === 'upgrade' ? outdated(vmi) : vmi,
    migration: refused(migration),
    isNew: own === undefined,
    isShown: own !== undefined && wasRejectedByQuota(own),
  };
}

/** `own`: its unfinished migration. */
function exemptionOf(
  vmi: VirtualMachineInstance,
  own: Migration | undefined,
  whatIf: WhatIf,
): Exempt | undefined {
  if (own !== undefined) return exemptionByOwn(own, whatIf.now);
  const evictionStrategy = whatIf.kubevirt?.spec?.configuration?.evictionStrategy;
  if (whatIf.task.kind === 'node' && !isProtected(vmi, evictionStrategy)) return STOPPED;
  const { namespace = '', name } = vmi.metadata;
  const left = { namespace, name, vmi: evicted(vmi), isQueued: false, isLocked: false };
  return exemptionBy(vmStateOf(left, rulesOf(whatIf)), whatIf);
}

/** Whether a migration runs before the upgrade, so that it gets the launcher of now. */
const isBeforeUpgrade = (own: Migration, { task, onlyOutdated, now }: WhatIf): boolean =>
  task.kind === 'upgrade' &&
  !onlyOutdated &&
  !(isFor(own, 'Upgrade') && own.spec.priority === 'system-critical') &&
  exemptionByOwn(own, now) === MIGRATING;

function exemptionByOwn(own: Migration, now: number): Exempt | undefined {
  if (own.spec.sendTo !== undefined || own.spec.receive !== undefined) return CROSS_CLUSTER;
  if (notReadySince(own, now) !== undefined) return NOT_READY;
  return isRunning(own) ? MIGRATING : undefined;
}

const NOT_READY: Exempt = {
  outcome: 'CannotTell',
  reason: WAITS_FOR.notReady,
  message: 'it is being migrated, and its target pod has not been ready for a minute',
};

const CROSS_CLUSTER: Exempt = {
  outcome: 'CannotTell',
  reason: WAITS_FOR.crossCluster,
  message: 'it is being migrated to another cluster',
};

export const MIGRATING: Exempt = {
  outcome: 'Passes',
  reason: WAITS_FOR.running,
  message: 'it is being migrated already',
};

const STOPPED: Exempt = {
  outcome: 'Restarted',
  reason: 'EvictionStrategyNone',
  message: 'its evictionStrategy does not protect it, so the drain stops it',
};

/** The rules by which the reports on drains and upgrades see a VM; any VM of a namespace can be migrated by hand. */
function rulesOf({ task, kubevirt, now }: WhatIf): Parameters<typeof vmStateOf>[1] {
  const methods = methodsOf(kubevirt);
  const evictionStrategy = kubevirt?.spec?.configuration?.evictionStrategy;
  if (task.kind === 'node') return { kind: 'Drain', methods, evictionStrategy, now };
  return {
    kind: 'Upgrade',
    methods: task.kind === 'namespace' ? ['LiveMigrate'] : methods,
    evictionStrategy,
    now,
  };
}

function exemptionBy({ bucket, reason, message }: VmState, { kubevirt }: WhatIf): Exempt | undefined {
  if (bucket === 'notMigratable')
    return { outcome: 'NotMigratable', reason, message: message ?? 'KubeVirt cannot migrate it live' };
  if (bucket === 'notAutomated') return { outcome: 'NotMigratable', reason, message: notAutomated(kubevirt) };
  if (bucket === 'restarted')
    return { outcome: 'Restarted', reason, message: message ?? 'KubeVirt stops it instead of migrating it' };
  return reason === WAITS_FOR.external ? { ...EXTERNAL, reason } : undefined;
}

function notAutomated(kubevirt: KubeVirt | undefined): string {
  const { name = 'kubevirt', namespace = 'kubevirt' } = kubevirt?.metadata ?? {};
  const strategy = { spec: { workloadUpdateStrategy: { workloadUpdateMethods: ['LiveMigrate'] } } };
  const patch = `kubectl patch kubevirt ${name} -n ${namespace} --type=merge -p '${JSON.stringify(strategy)}'`;
  return `KubeVirt has no workloadUpdateMethods, so it migrates no VM after an upgrade. To let it: ${patch}`;
}

const EXTERNAL = {
  outcome: 'CannotTell',
  message: 'its evictionStrategy is External: another controller decides',
} as const;

function migrationFor(vmi: VirtualMachineInstance, { task, kubevirt, now }: WhatIf): Migration {
  const { namespace = '', name, uid } = vmi.metadata;
  const { annotations, priority } = marksOf(vmi, isByEviction(task, kubevirt) ? 'node' : task.kind);
  return {
    ...KIND.migration,
    metadata: {
      name: `preflight-${name}`,
      namespace,
      uid: `preflight-${uid}`,
      resourceVersion: '0',
      creationTimestamp: new Date(now).toISOString(),
      annotations,
    },
    spec: { vmiName: name, ...(priority === undefined ? {} : { priority }) },
  };
}

/** The marks that KubeVirt writes on a migration of its own. */
function marksOf(
  { status }: VirtualMachineInstance,
  kind: Task['kind'],
): { annotations: Record<string, string>; priority?: string } {
  switch (kind) {
    case 'node':
      return { annotations: { [KUBEVIRT.evacuation]: status?.nodeName ?? '' }, priority: 'system-critical' };
    case 'upgrade':
      return { annotations: { [KUBEVIRT.workloadUpdate]: '' }, priority: 'system-critical' };
    case 'namespace':
      return { annotations: {} };
  }
}

/**
 * The migration after a refusal, because the domain evaluates only refused migrations; one that would fit has the verdict Fits. KubeVirt's
 * own condition has the time of the refusal.
 */
function refused(migration: Migration): Migration {
  const own = migration.status?.conditions?.find(isOfQuota);
  const condition: Condition = own ?? { type: KUBEVIRT.rejectedByQuota, status: 'True' };
  return { ...migration, status: { ...migration.status, phase: 'Pending', conditions: [condition] } };
}

const isOfQuota = ({ type, status }: Condition): boolean =>
  type === KUBEVIRT.rejectedByQuota && status === 'True';

const outdated = (vmi: VirtualMachineInstance): VirtualMachineInstance => ({
  ...vmi,
  metadata: { ...vmi.metadata, labels: { ...vmi.metadata.labels, [KUBEVIRT.outdatedLauncher]: '' } },
});

/** The VMI as KubeVirt's eviction webhook marks it. */
const evicted = (vmi: VirtualMachineInstance): VirtualMachineInstance => ({
  ...vmi,
  status: {
    ...vmi.status,
    ...(vmi.status?.nodeName === undefined ? {} : { evacuationNodeName: vmi.status.nodeName }),
  },
});

/** The unfinished migration of each VM, by the VM's name. */
export const migrationsByVm = (migrations: readonly Migration[]): Map<string, Migration> =>
  new Map(
    migrations
      .filter((migration) => !isFinal(migration))
      .map((migration) => [migration.spec.vmiName ?? '', migration]),
  );
