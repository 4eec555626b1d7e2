import { CONDITION, EVENT_REASON } from '../../functions/domain/names.ts';
import { grantOf } from '../../functions/domain/quota/grant.ts';
import { lockOf } from '../../functions/domain/lock.ts';
import { isRejectedByQuota } from '../../functions/domain/migration.ts';
import type { KubernetesEvent, Vmmrq } from '../../functions/domain/objects.ts';
import { FULL_MIGRATIONS } from '../../test/cluster/kubevirt/objects.ts';
import type { Vmim } from '../../test/cluster/kubevirt/types.ts';
import { WHOLE_WAY, type Station } from './itinerary.ts';
import type { Course, Tenant } from './scenarios.ts';
import type { Stage } from './stage.ts';
import type { Watching } from './watching.ts';
import { hasCondition, migrateAll, migrationOf, VMMRQ_NAME } from './tenant.ts';

/** How a kind of scenario is played, and what it comes to. */
export interface Direction {
  /** The stations that every tenant of it must see. */
  readonly way: readonly Station[];
  /** From the wish to migrate to the end; resolves to false when `signal` aborts before that. */
  readonly play: (tenants: readonly Tenant[], stage: Stage, signal: AbortSignal) => Promise<boolean>;
  /** Reasons of the Events that a migration has at the end. */
  readonly migrationEvents: readonly string[];
  readonly vmmrqEvents: readonly string[];
  /** Conditions of the VMMRQ at the end; one that is to be False may be missing. */
  readonly conditions: Readonly<Record<string, 'True' | 'False'>>;
}

const { migrationAdmitted, quotaLowered, quotaNotEnough } = EVENT_REASON;

const THROUGH: Direction = {
  way: WHOLE_WAY,
  migrationEvents: [migrationAdmitted],
  vmmrqEvents: [quotaLowered],
  conditions: { ...settled(), [CONDITION.raisedButNotAdmitted]: 'False' },
  async play(tenants, stage, signal) {
    await Promise.all(tenants.map((tenant) => migrateAll(tenant, stage.cluster.admin)));
    return stage.watching.until(
      () =>
        everyMigration(tenants, stage, (migration) => migration?.status?.phase === 'Succeeded') &&
        tenants.every((tenant) => isFree(tenant, stage) && isReported(tenant, stage, THROUGH)),
      signal,
    );
  },
};

const NOT_ENOUGH: Direction = {
  way: ['refusal', 'feasibility'],
  migrationEvents: [quotaNotEnough],
  vmmrqEvents: [quotaNotEnough],
  conditions: { [CONDITION.blocking]: 'True', [CONDITION.notEnough]: 'True' },
  async play(tenants, stage, signal) {
    await Promise.all(tenants.map((tenant) => migrateAll(tenant, stage.cluster.admin)));
    return stage.watching.until(
      () => tenants.every((tenant) => isReported(tenant, stage, NOT_ENOUGH)),
      signal,
    );
  },
};

const CANCELLED: Direction = {
  way: ['refusal', 'lock', 'raise', 'lower', 'unlock'],
  migrationEvents: [quotaLowered],
  vmmrqEvents: [quotaLowered],
  conditions: settled(),
  async play(tenants, stage, signal) {
    const isHere = (namespace: string): boolean => tenants.some((tenant) => tenant.namespace === namespace);
    // virt-controller leaves between the refusal and the raise, however fast the functions are.
    const resume = stage.cluster.eventing.broker.hold(
      ({ event, trigger }) => trigger === 'mtq-lock' && isHere(event.attributes['subject'] ?? ''),
    );
    try {
      await Promise.all(tenants.map((tenant) => migrateAll(tenant, stage.cluster.admin)));
      const refused = await stage.watching.until(
        () => everyMigration(tenants, stage, (one) => one !== undefined && isRejectedByQuota(one)),
        signal,
      );
      if (!refused) return false;
      await stage.cluster.stopKubeVirt();
    } finally {
      resume();
    }
    if (!(await stage.watching.until(() => tenants.every((one) => isRaised(one, stage)), signal)))
      return false;
    await cancelAll(tenants, stage);
    const isBack = await stage.watching.until(
      () => tenants.every((tenant) => isFree(tenant, stage) && isReported(tenant, stage, CANCELLED)),
      signal,
    );
    // Nobody needed it to put the quotas back; the migration itself only it can end.
    await stage.cluster.startKubeVirt();
    return isBack && untilGone(tenants, stage, signal);
  },
};

export const DIRECTIONS: Readonly<Record<Course, Direction>> = {
  through: THROUGH,
  notEnough: NOT_ENOUGH,
  cancelled: CANCELLED,
};

/** Nothing waits, nothing is held. */
function settled(): Record<string, 'False'> {
  const { blocking, locked, raised, notEnough } = CONDITION;
  return Object.fromEntries([blocking, locked, raised, notEnough].map((type) => [type, 'False']));
}

function everyMigration(
  tenants: readonly Tenant[],
  { watching }: Stage,
  holds: (migration: Vmim | undefined) => boolean,
): boolean {
  return tenants.every(({ namespace, vms }) =>
    vms.every((vm) => holds(watching.find('VirtualMachineInstanceMigration', migrationOf(vm), namespace))),
  );
}

/** Not locked, and no quota holds a grant. */
function isFree({ namespace, quotas }: Tenant, { watching }: Stage): boolean {
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

function isRaised({ namespace, quotas }: Tenant, { watching }: Stage): boolean {
  return quotas.every(({ name }) => {
    const quota = watching.find('ResourceQuota', name, namespace);
    return quota !== undefined && grantOf(quota).kind === 'held';
  });
}

const isReported = (tenant: Tenant, stage: Stage, direction: Direction): boolean =>
  missingReportsOf(tenant, stage.watching, direction).length === 0;

/** Events and conditions that a scenario ends with, and that are not there yet. */
export function missingReportsOf(tenant: Tenant, watching: Watching, direction: Direction): string[] {
  const { namespace } = tenant;
  const vmmrq = watching.find('VirtualMachineMigrationResourceQuota', VMMRQ_NAME, namespace);
  return [
    ...missingConditions(vmmrq, direction).map((one) => `condition ${one.join('=')} of ${VMMRQ_NAME}`),
    ...missingEvents(tenant, watching.all('Event', namespace), direction),
  ];
}

/** [type, status] */
export const missingConditions = (vmmrq: Vmmrq | undefined, { conditions }: Direction): string[][] =>
  Object.entries(conditions).filter(([type, status]) => !hasCondition(vmmrq, type, status));

export function missingEvents(
  { vms }: Tenant,
  events: readonly KubernetesEvent[],
  { vmmrqEvents, migrationEvents }: Direction,
): string[] {
  const missing = (name: string, reasons: readonly string[]): string[] =>
    reasons
      .filter((reason) => !events.some((one) => one.involvedObject.name === name && one.reason === reason))
      .map((reason) => `Event ${reason} on ${name}`);
  return [
    ...missing(VMMRQ_NAME, vmmrqEvents),
    ...vms.flatMap((vm) => missing(migrationOf(vm), migrationEvents)),
  ];
}

async function cancelAll(tenants: readonly Tenant[], { cluster }: Stage): Promise<void> {
  const all = tenants.flatMap(({ namespace, vms }) =>
    vms.map((vm) => ({ namespace, name: migrationOf(vm) })),
  );
  await Promise.all(all.map((at) => cluster.admin.delete(FULL_MIGRATIONS, at)));
}

const untilGone = (tenants: readonly Tenant[], stage: Stage, signal: AbortSignal): Promise<boolean> =>
  stage.watching.until(() => everyMigration(tenants, stage, (migration) => migration === undefined), signal);
