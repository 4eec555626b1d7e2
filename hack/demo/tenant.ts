import { CONDITION } from '../../functions/domain/names.ts';
import type { ResourceQuota, Vmmrq } from '../../functions/domain/objects.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../../functions/kubernetes/resources.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  newMigration,
  newVirtualMachineInstance,
} from '../../test/cluster/kubevirt/objects/objects.ts';
import type { Vmim } from '../../test/cluster/kubevirt/objects/types.ts';
import type { Tenant } from './scenarios.ts';
import type { Watching } from './watching.ts';

/** The tenant's own metadata, which no component may change. */
const OWN = { labels: { team: 'payments' }, annotations: { 'example.com/ticket': 'T-1234' } };

export const VMMRQ_NAME = 'migrations';

export const migrationOf = (vm: { readonly name: string }): string => `migrate-${vm.name}`;

/** The migration of a VM, made by the tenant's users or by KubeVirt. */
export const migrationFor = (vm: { readonly name: string }, migrations: readonly Vmim[]): Vmim | undefined =>
  migrations.find(({ spec }) => spec.vmiName === vm.name);

/** The tenant's objects before the scenario. */
export interface Before {
  readonly quotas: readonly ResourceQuota[];
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

/**
 * Creates the namespace with its quotas, starts the VMs, and waits until feasibility has seen the VMMRQ. Rejects when `signal` aborts
 * before.
 */
export async function setUpTenant(
  tenant: Tenant,
  { admin, watching, signal }: { admin: Cluster; watching: Watching; signal: AbortSignal },
): Promise<Before> {
  const { namespace, quotas, vms, gives } = tenant;
  const until = async (what: string, holds: () => boolean): Promise<void> => {
    if (!(await watching.until(holds, signal))) throw new Error(`${namespace}: ${what} in time`);
  };
  const { object } = await admin.create(NAMESPACES, { metadata: { name: namespace, ...OWN } });
  for (const { name, hard } of quotas) {
    await admin.create(RESOURCE_QUOTAS, { metadata: { name, namespace, ...OWN }, spec: { hard } });
  }
  await until('the quotas were not counted', () =>
    quotas.every(({ name }) => watching.find('ResourceQuota', name, namespace)?.status?.used !== undefined),
  );
  for (const vm of vms) await admin.create(FULL_VMIS, newVirtualMachineInstance({ namespace, ...vm }));
  await until('the VMs did not start', () =>
    vms.every(
      ({ name }) => watching.find('VirtualMachineInstance', name, namespace)?.status?.phase === 'Running',
    ),
  );
  const metadata = { name: VMMRQ_NAME, namespace };
  await admin.create(VMMRQS, { metadata, spec: { additionalMigrationResources: gives } });
  await until('feasibility did not look at the VMMRQ', () =>
    hasCondition(
      watching.find('VirtualMachineMigrationResourceQuota', VMMRQ_NAME, namespace),
      CONDITION.ready,
    ),
  );
  const { items } = await admin.list(RESOURCE_QUOTAS, { namespace });
  const { labels = {}, annotations = {} } = object.metadata;
  return { quotas: items, labels, annotations };
}

/** Requests a live migration of every VM, as the tenant's users do. */
export async function migrateAll({ namespace, vms }: Tenant, admin: Cluster): Promise<void> {
  for (const vm of vms) {
    await admin.create(FULL_MIGRATIONS, newMigration({ namespace, name: migrationOf(vm), vmi: vm.name }));
  }
}

/** Whether a condition has this status; a missing one counts as False. */
export const hasCondition = (vmmrq: Vmmrq | undefined, wanted: string, status = 'True'): boolean =>
  (vmmrq?.status?.conditions?.find(({ type }) => type === wanted)?.status ?? 'False') === status;
