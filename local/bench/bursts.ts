import { lockOf } from '../../functions/domain/lock.ts';
import type { Tenant } from '../demo/scenarios.ts';
import { now } from '../demo/watching.ts';
import type { Vmim } from '../kubevirt/types.ts';
import { FULL_KUBEVIRTS, FULL_MIGRATIONS, newKubeVirt, newMigration } from '../kubevirt/objects.ts';
import { until, untilQuiet, type Scene } from './scene.ts';

/** KubeVirt's limits on migrations at the same time. */
export interface Limits {
  readonly perCluster: number;
  readonly perNode: number;
}

export const DEFAULT_LIMITS: Limits = { perCluster: 5, perNode: 2 };

/** Milliseconds from the first migration to the last one's success, and to the last lock's end. */
export interface Burst {
  readonly through: number;
  readonly free: number;
}

const KUBEVIRT = { namespace: 'kubevirt', name: 'kubevirt' };

/** From now on, in the whole cluster. */
export async function setLimits({ admin }: Scene, limits: Limits): Promise<void> {
  const wish = {
    parallelMigrationsPerCluster: limits.perCluster,
    parallelOutboundMigrationsPerNode: limits.perNode,
  };
  const { metadata, ...rest } = newKubeVirt(wish);
  const { items } = await admin.list(FULL_KUBEVIRTS, { namespace: KUBEVIRT.namespace });
  if (items.length === 0) await admin.create(FULL_KUBEVIRTS, { metadata, ...rest });
  else await admin.patch(FULL_KUBEVIRTS, KUBEVIRT, { merge: rest });
}

/** Migrates every VM of every tenant at once, waits until all are through, and removes the migrations. */
export async function burst(scene: Scene, tenants: readonly Tenant[]): Promise<Burst> {
  const { admin, watching } = scene;
  const all = tenants.flatMap(({ namespace, vms }) => vms.map(({ name }) => ({ namespace, name })));
  const began = now();
  await Promise.all(all.map((one) => admin.create(FULL_MIGRATIONS, newMigration({ ...one, vmi: one.name }))));
  const find = ({ namespace, name }: (typeof all)[number]): Vmim | undefined =>
    watching.find('VirtualMachineInstanceMigration', name, namespace);
  await until(scene, 'all are through', () => all.every((one) => find(one)?.status?.phase === 'Succeeded'));
  const through = now() - began;
  await until(scene, 'all are unlocked', () =>
    tenants.every(({ namespace }) => {
      const tenant = watching.find('Namespace', namespace);
      return tenant !== undefined && lockOf(tenant).kind === 'none';
    }),
  );
  const free = now() - began;
  await untilQuiet(scene);
  await Promise.all(all.map((one) => admin.delete(FULL_MIGRATIONS, one)));
  await until(scene, 'the migrations are gone', () => all.every((one) => find(one) === undefined));
  await untilSourcesAreGone(scene, tenants);
  await untilQuiet(scene);
  return { through, free };
}

/** One launcher for each VM, and so counted by the quota. */
async function untilSourcesAreGone(scene: Scene, tenants: readonly Tenant[]): Promise<void> {
  await until(scene, 'the source pods are gone', () =>
    tenants.every(({ namespace, vms }) =>
      scene.watching
        .all('ResourceQuota', namespace)
        .every(({ status }) => status?.used?.['pods'] === String(vms.length)),
    ),
  );
}
