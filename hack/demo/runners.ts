import { CONDITION, EVENT_REASON } from '../../functions/domain/names.ts';
import { grantOf } from '../../functions/domain/quota/grant.ts';
import { lockOf } from '../../functions/domain/lock.ts';
import { isRejectedByQuota } from '../../functions/domain/migration.ts';
import type { ProgressStatus } from '../../functions/domain/progress/progress-object.ts';
import type { KubernetesEvent, Vmmrq } from '../../functions/domain/objects.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { cordon } from '../../test/cluster/kubevirt/objects/node-objects.ts';
import { FULL_MIGRATIONS } from '../../test/cluster/kubevirt/objects/objects.ts';
import { deploy } from '../../test/cluster/kubevirt/operator.ts';
import { RELEASE, releaseOf } from '../../test/cluster/kubevirt/objects/release.ts';
import { NODE_NAMES } from '../../test/cluster/kubevirt/start.ts';
import type { Vmim } from '../../test/cluster/kubevirt/objects/types.ts';
import { drain } from './drain.ts';
import { ALL_MILESTONES, type Milestone } from './step-table.ts';
import type { ScenarioKind, Tenant, Vm } from './scenarios.ts';
import type { DemoEnvironment } from './environment.ts';
import type { Watching } from './watching.ts';
import { hasCondition, migrateAll, migrationFor, migrationOf, VMMRQ_NAME } from './tenant.ts';

/** How a kind of scenario runs, and its expected result. */
export interface ScenarioRunner {
  /** The stations that every tenant must reach. */
  readonly milestones: readonly Milestone[];
  /** Runs from the request to migrate to the end; resolves to false when `signal` aborts before. */
  readonly run: (
    tenants: readonly Tenant[],
    environment: DemoEnvironment,
    signal: AbortSignal,
  ) => Promise<boolean>;
  /** The reasons of a migration's Events at the end. */
  readonly migrationEvents: readonly string[];
  readonly vmmrqEvents: readonly string[];
  /** The VMMRQ's conditions at the end; a missing one counts as False. */
  readonly conditions: Readonly<Record<string, 'True' | 'False'>>;
  /** Runs the tenants' set-up, and what belongs before and after it; the set-up alone by default. */
  readonly aroundSetUp?: (admin: Cluster, setUp: () => Promise<void>) => Promise<void>;
  /** The kind's own timeout, in milliseconds. */
  readonly deadlineMs?: number;
}

const { migrationAdmitted, quotaLowered, quotaNotEnough } = EVENT_REASON;

const THROUGH: ScenarioRunner = {
  milestones: ALL_MILESTONES,
  migrationEvents: [migrationAdmitted],
  vmmrqEvents: [quotaLowered],
  conditions: { ...idleConditions(), [CONDITION.raisedButNotAdmitted]: 'False' },
  async run(tenants, environment, signal) {
    await Promise.all(tenants.map((tenant) => migrateAll(tenant, environment.cluster.admin)));
    return untilThrough(tenants, environment, signal);
  },
};

const NOT_ENOUGH: ScenarioRunner = {
  milestones: ['refusal', 'feasibility'],
  migrationEvents: [quotaNotEnough],
  // Its condition says it.
  vmmrqEvents: [],
  conditions: { [CONDITION.blocking]: 'True', [CONDITION.notEnough]: 'True' },
  async run(tenants, environment, signal) {
    await Promise.all(tenants.map((tenant) => migrateAll(tenant, environment.cluster.admin)));
    return environment.watching.until(
      () => tenants.every((tenant) => isReported(tenant, environment, NOT_ENOUGH)),
      signal,
    );
  },
};

const CANCELLED: ScenarioRunner = {
  milestones: ['refusal', 'lock', 'raise', 'lower', 'unlock'],
  migrationEvents: [quotaLowered],
  vmmrqEvents: [quotaLowered],
  conditions: idleConditions(),
  async run(tenants, environment, signal) {
    const isHere = (namespace: string): boolean => tenants.some((tenant) => tenant.namespace === namespace);
    // The Broker holds the events, so that virt-controller stops between the refusal and the raise with fast functions too.
    const resume = environment.cluster.eventing.broker.hold(
      ({ event, trigger }) => trigger === 'mtq-lock' && isHere(event.attributes['subject'] ?? ''),
    );
    try {
      await Promise.all(tenants.map((tenant) => migrateAll(tenant, environment.cluster.admin)));
      const refused = await environment.watching.until(
        () => everyMigration(tenants, environment, (one) => one !== undefined && isRejectedByQuota(one)),
        signal,
      );
      if (!refused) return false;
      await environment.cluster.stopKubeVirt();
    } finally {
      resume();
    }
    if (!(await environment.watching.until(() => tenants.every((one) => isRaised(one, environment)), signal)))
      return false;
    await cancelAll(tenants, environment);
    const isBack = await environment.watching.until(
      () =>
        tenants.every((tenant) => isFree(tenant, environment) && isReported(tenant, environment, CANCELLED)),
      signal,
    );
    // The quotas were lowered without virt-controller, but only virt-controller can end the migration.
    await environment.cluster.startKubeVirt();
    return isBack && untilGone(tenants, environment, signal);
  },
};

export const DRAINED_NODE = 'node1';
const OTHER_NODES = NODE_NAMES.filter((name) => name !== DRAINED_NODE);

/** All VMs start on the node that is drained. */
export async function aroundDrain(admin: Cluster, setUp: () => Promise<void>): Promise<void> {
  for (const name of OTHER_NODES) await cordon(admin, name);
  await setUp();
  for (const name of OTHER_NODES) await cordon(admin, name, false);
}

const DRAIN: ScenarioRunner = {
  ...THROUGH,
  deadlineMs: 150_000,
  aroundSetUp: aroundDrain,
  async run(tenants, environment, signal) {
    const kubectl = drain(DRAINED_NODE, environment, signal);
    const isThrough = await untilThrough(tenants, environment, signal);
    const isReported = untilProgress(environment, signal, ({ state }) => state === 'Completed');
    return (await kubectl) && isThrough && isReported;
  },
};

const NEXT = releaseOf('v1.9.1', { moreOverhead: '20Mi' });

const UPGRADE: ScenarioRunner = {
  ...THROUGH,
  deadlineMs: 150_000,
  async aroundSetUp(admin, setUp) {
    await deploy(admin, { workloadUpdateMethods: ['LiveMigrate'] }, RELEASE);
    await setUp();
  },
  async run(tenants, environment, signal) {
    const { cluster, watching } = environment;
    await cluster.upgradeKubeVirt(NEXT);
    if (!(await untilThrough(tenants, environment, signal))) return false;
    // KubeVirt counts up to five seconds later.
    const isCounted = (): boolean =>
      watching.find('KubeVirt', 'kubevirt', 'kubevirt')?.status?.outdatedVirtualMachineInstanceWorkloads ===
      0;
    // The upgrade is completed only when KubeVirt has been quiet for a minute.
    const isReported = untilProgress(environment, signal, ({ total, left }) => total > 0 && left === 0);
    return (await watching.until(isCounted, signal)) && isReported;
  },
};

/** Waits until the only MaintenanceProgress of the cluster has come so far. */
const untilProgress = (
  { watching }: DemoEnvironment,
  signal: AbortSignal,
  holds: (status: ProgressStatus) => boolean,
): Promise<boolean> =>
  watching.until(
    () => watching.all('MaintenanceProgress', '').some(({ status }) => status !== undefined && holds(status)),
    signal,
  );

/** Waits until every VM's migration has succeeded, and every namespace is free and reported. */
const untilThrough = (
  tenants: readonly Tenant[],
  environment: DemoEnvironment,
  signal: AbortSignal,
): Promise<boolean> =>
  environment.watching.until(
    () =>
      everyMigration(tenants, environment, (migration) => migration?.status?.phase === 'Succeeded') &&
      tenants.every((tenant) => isFree(tenant, environment) && isReported(tenant, environment, THROUGH)),
    signal,
  );

export const RUNNERS: Readonly<Record<ScenarioKind, ScenarioRunner>> = {
  through: THROUGH,
  notEnough: NOT_ENOUGH,
  cancelled: CANCELLED,
  drain: DRAIN,
  upgrade: UPGRADE,
};

/** The conditions without blocked migrations and without a lock. */
function idleConditions(): Record<string, 'False'> {
  const { blocking, locked, raised, notEnough } = CONDITION;
  return Object.fromEntries([blocking, locked, raised, notEnough].map((type) => [type, 'False']));
}

function everyMigration(
  tenants: readonly Tenant[],
  { watching }: DemoEnvironment,
  holds: (migration: Vmim | undefined) => boolean,
): boolean {
  return tenants.every(({ namespace, vms }) =>
    vms.every((vm) => holds(migrationFor(vm, watching.all('VirtualMachineInstanceMigration', namespace)))),
  );
}

/** Whether the namespace is unlocked and no quota has a grant. */
function isFree({ namespace, quotas }: Tenant, { watching }: DemoEnvironment): boolean {
  const found = watching.find('Namespace', namespace);
  return (
    found !== undefined &&
    lockOf(found).kind === 'none' &&
    quotas.every(({ name }) => {
      const quota = watching.find('ResourceQuota', name, namespace);
      return quota !== undefined && grantOf(quota).kind === 'none';
    })
  );
}

function isRaised({ namespace, quotas }: Tenant, { watching }: DemoEnvironment): boolean {
  return quotas.every(({ name }) => {
    const quota = watching.find('ResourceQuota', name, namespace);
    return quota !== undefined && grantOf(quota).kind === 'held';
  });
}

const isReported = (tenant: Tenant, environment: DemoEnvironment, runner: ScenarioRunner): boolean =>
  missingReportsOf(tenant, environment.watching, runner).length === 0;

/** The expected Events and conditions that are still missing. */
export function missingReportsOf(tenant: Tenant, watching: Watching, runner: ScenarioRunner): string[] {
  const { namespace } = tenant;
  const vmmrq = watching.find('VirtualMachineMigrationResourceQuota', VMMRQ_NAME, namespace);
  return [
    ...missingConditions(vmmrq, runner).map((one) => `condition ${one.join('=')} of ${VMMRQ_NAME}`),
    ...missingEvents(tenant, runner, {
      events: watching.all('Event', namespace),
      migrations: watching.all('VirtualMachineInstanceMigration', namespace),
    }),
  ];
}

/** [type, status] */
export const missingConditions = (vmmrq: Vmmrq | undefined, { conditions }: ScenarioRunner): string[][] =>
  Object.entries(conditions).filter(([type, status]) => !hasCondition(vmmrq, type, status));

export function missingEvents(
  { vms }: Tenant,
  { vmmrqEvents, migrationEvents }: ScenarioRunner,
  {
    events,
    migrations,
  }: { readonly events: readonly KubernetesEvent[]; readonly migrations: readonly Vmim[] },
): string[] {
  const missing = (name: string, reasons: readonly string[]): string[] =>
    reasons
      .filter((reason) => !events.some((one) => one.involvedObject.name === name && one.reason === reason))
      .map((reason) => `Event ${reason} on ${name}`);
  const nameOf = (vm: Vm): string => migrationFor(vm, migrations)?.metadata.name ?? migrationOf(vm);
  return [...missing(VMMRQ_NAME, vmmrqEvents), ...vms.flatMap((vm) => missing(nameOf(vm), migrationEvents))];
}

async function cancelAll(tenants: readonly Tenant[], { cluster }: DemoEnvironment): Promise<void> {
  const all = tenants.flatMap(({ namespace, vms }) =>
    vms.map((vm) => ({ namespace, name: migrationOf(vm) })),
  );
  await Promise.all(all.map((at) => cluster.admin.delete(FULL_MIGRATIONS, at)));
}

const untilGone = (
  tenants: readonly Tenant[],
  environment: DemoEnvironment,
  signal: AbortSignal,
): Promise<boolean> =>
  environment.watching.until(
    () => everyMigration(tenants, environment, (migration) => migration === undefined),
    signal,
  );
