import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { LIVE_ANNOTATION, LIVE_CONDITION, LIVE_FINALIZER } from '../../../functions/domain/live/names.ts';
import type { New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import {
  CLUSTER_INSTANCETYPES,
  CLUSTER_PREFERENCES,
  CONTROLLER_REVISIONS,
  INSTANCETYPES,
  PLAN_MIGRATIONS,
  PREFERENCES,
  PROVIDERS,
  SECRETS,
} from '../../../functions/kubernetes/live-resources.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { found } from '../../../functions/live/found.ts';
import { FULL_MIGRATIONS, FULL_VMIS, VMS } from '../../cluster/kubevirt/objects.ts';
import type { Vm } from '../../cluster/kubevirt/types.ts';
import { serveAnything } from '../../cluster/served.ts';
import type { PairSide } from '../../support/kubevirt/pair.ts';
import { removeClaims } from '../../support/live/claims.ts';
import { accessOf, conditionsOf, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { labelled } from '../../support/live/seen.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

const vmOf = async (
  crossing: Crossing,
  side: 'source' | 'target',
  name: string,
): Promise<object | undefined> => {
  const { admin, namespace } = crossing.side(side);
  return found(admin.get(VMS, { namespace, name }));
};

describe.each(['source', 'target'] as const)('hub = %s', (hub) => {
  test('a VM with a disk goes through, is off on the source, and nothing is held afterwards', async () => {
    const work = async (crossing: Crossing): Promise<void> => {
      await crossing.createVm('web');
      await crossing.createPlan([{ name: 'web' }]);
      await crossing.sweep('Plan');
      expect(conditionsOf(await crossing.plan())).toContain('Ready');
      await crossing.createMigrationAs();
      const migration = await crossing.untilEnded();
      expect(conditionsOf(migration)).toContain('Succeeded');
      expect(conditionsOf(await crossing.plan())).toContain('Succeeded');
      expect(await vmOf(crossing, 'target', 'web')).toMatchObject({
        spec: { runStrategy: 'Always' },
        status: { printableStatus: 'Running' },
      });
      const source = await vmOf(crossing, 'source', 'web');
      expect(source).toMatchObject({ spec: { runStrategy: 'Halted' } });
      expect(JSON.stringify(source)).not.toContain(LIVE_ANNOTATION.run);
      const { admin, namespace } = crossing.side('source');
      expect((await admin.list(FULL_VMIS, { namespace })).items).toEqual([]);
      expect(await labelled(crossing)).toEqual(['VirtualMachine web', 'PersistentVolumeClaim web-root']);
      expect(await crossing.finalizers()).toEqual([]);
      const { controlPlane } = crossings.clusters.members[hub === 'source' ? 'target' : 'source'];
      const { token } = accessOf(controlPlane.adminKubeconfig);
      expect(JSON.stringify([crossing.lines, crossing.posted, migration])).not.toContain(token);
    };
    await crossings.within(`moves-${hub}`, work, { hub });
  });
});

/** The first write of a beginning was done, and the plan may be another one since. */
async function begin(crossing: Crossing): Promise<void> {
  const ids = await Promise.all(
    (['source', 'target'] as const).map(async (side) => {
      const { object } = await crossing.side(side).admin.get(NAMESPACES, { name: 'kube-system' });
      return object.metadata.uid;
    }),
  );
  await crossing.patchMigration({ metadata: { annotations: { [LIVE_ANNOTATION.clusters]: ids.join(' ') } } });
  const source = crossing.side('source');
  const { object: vm } = await source.admin.get(VMS, { namespace: source.namespace, name: 'web' });
  const { name, namespace, uid: id } = vm.metadata;
  const vms = [{ id, name, namespace, phase: 'Validate', pipeline: [] }];
  const status = { started: new Date().toISOString(), vms };
  const { admin, migrationAt } = crossing;
  await admin.patch(PLAN_MIGRATIONS, migrationAt, { merge: { status }, subresource: 'status' });
}

test.each<[string, string, (crossing: Crossing) => Promise<void>]>([
  ['moves nothing, and nothing is held', 'refused', () => Promise.resolve()],
  ['moves nothing by a plan that was another one when it was checked', 'exchanged', begin],
])('a user who may not use the providers %s', async (_what, name, before) => {
  await crossings.within(name, async (crossing) => {
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.createMigrationAs({ user: 'tenant', groups: [] });
    await before(crossing);
    const migration = await crossing.until('it is refused', ({ status }) =>
      conditionsOf({ status: status ?? {} }).includes('NotAllowed'),
    );
    expect(JSON.stringify(migration.status)).toContain(
      `User \\"tenant\\" cannot use providers.forklift.konveyor.io/source in namespace plans-${name}`,
    );
    expect(await crossing.finalizers()).toEqual([]);
    expect(JSON.stringify(await vmOf(crossing, 'source', 'web'))).not.toContain(LIVE_ANNOTATION.run);
  });
});

test('a provider that gets another Secret while its VM moves: neither is held afterwards', async () => {
  await crossings.within('renewed', async (crossing) => {
    const { admin } = crossing;
    const at = { namespace: 'plans-renewed' };
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.createMigrationAs();
    await crossing.until('it has begun', ({ metadata }) => metadata.finalizers !== undefined);
    const { object: old } = await admin.get(SECRETS, { ...at, name: 'target' });
    expect(old.metadata.finalizers).toEqual([LIVE_FINALIZER]);
    const { labels = {} } = old.metadata;
    await admin.create(SECRETS, { metadata: { ...at, name: 'renewed', labels }, data: old.data ?? {} });
    const merge = { spec: { secret: { ...at, name: 'renewed' } } };
    await admin.patch(PROVIDERS, { ...at, name: 'target' }, { merge });
    await crossing.untilEnded();
    expect(await crossing.finalizers()).toEqual([]);
  });
});

test('a VM that is canceled before its cut-over is as it was, and the target keeps nothing', async () => {
  const work = async (crossing: Crossing): Promise<void> => {
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.createMigrationAs();
    const { admin, namespace } = crossing.side('source');
    await crossing.until(
      'the clusters do not trust each other',
      async () => (await admin.list(FULL_MIGRATIONS, { namespace })).items.length > 0,
    );
    await crossing.patchMigration({ spec: { cancel: [{ namespace, name: 'web' }] } });
    const stopRemoving = removeClaims(crossing.side('target'));
    const migration = await crossing.untilEnded().finally(stopRemoving);
    expect(conditionsOf(migration)).toContain('Canceled');
    const source = await vmOf(crossing, 'source', 'web');
    expect(source).toMatchObject({ spec: { runStrategy: 'Always' }, status: { printableStatus: 'Running' } });
    expect(JSON.stringify(source)).not.toContain(LIVE_ANNOTATION.run);
    expect((await admin.list(FULL_MIGRATIONS, { namespace })).items).toEqual([]);
    expect(await labelled(crossing)).toEqual([]);
    expect(await crossing.finalizers()).toEqual([]);
  };
  await crossings.within('canceled', work, { trust: false });
});

test('a plan that is archived says so, and moves nothing until that is taken back', async () => {
  await crossings.within('archived', async (crossing) => {
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.sweep('Plan');
    await crossing.patchPlan({ spec: { archived: true } });
    await crossing.sweep('Plan');
    expect(conditionsOf(await crossing.plan())).toEqual(['Archived']);
    await crossing.createMigrationAs();
    await crossing.sweep();
    expect((await crossing.migration()).status?.started).toBeUndefined();
    await crossing.patchPlan({ spec: { archived: false } });
    const migration = await crossing.untilEnded();
    expect(conditionsOf(migration)).toContain('Succeeded');
    expect(conditionsOf(await crossing.plan())).not.toContain('Archived');
  });
});

test('a target namespace whose quota is full is explained, and the VM moves once there is room', async () => {
  await crossings.within('full', async (crossing) => {
    await crossing.limitTarget({ 'requests.memory': '600Mi' });
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.createMigrationAs();
    const waiting = await crossing.until('it waits for the quota', ({ status }) =>
      JSON.stringify(status?.vms ?? []).includes('OverQuota'),
    );
    expect(waiting.status?.message).toMatch(/ResourceQuota quota lacks .*requests.memory/);
    const source = crossing.side('source');
    expect((await source.admin.list(FULL_MIGRATIONS, { namespace: source.namespace })).items).toEqual([]);
    await crossing.limitTarget({ 'requests.memory': '4Gi' });
    const migration = await crossing.until('it has ended', ({ status }) => status?.completed !== undefined);
    expect(conditionsOf(migration)).toContain('Succeeded');
  });
});

const OWN: readonly ResourceType[] = [INSTANCETYPES, PREFERENCES];
const WIDE: readonly ResourceType[] = [CLUSTER_INSTANCETYPES, CLUSTER_PREFERENCES];

const ofSize = (guest: number, at: object): never => ({ metadata: at, spec: { cpu: { guest } } }) as never;

/** As KubeVirt does for a VM, and the object has been changed since. */
async function storeRevision({ admin, namespace }: PairSide, type: ResourceType): Promise<object> {
  const { kind, apiVersion } = type;
  const revisionName = `stored-${type.plural}`;
  const data = { apiVersion, kind, ...(ofSize(1, { name: 'own' }) as object) };
  const stored = { metadata: { namespace, name: revisionName }, data, ...{ revision: 1 } };
  await admin.create(CONTROLLER_REVISIONS, stored);
  await admin.create(type, ofSize(4, { namespace, name: 'own' }));
  return { kind, name: 'own', revisionName };
}

test('instance types are copied as VMs run with them, and cluster-wide ones must be on the target', async () => {
  const { source, target } = crossings.clusters.members;
  for (const { admin } of [source, target])
    for (const type of [...OWN, ...WIDE]) await serveAnything(admin, type);
  await crossings.within('sized', async (crossing) => {
    const [instancetype, preference] = [
      await storeRevision(crossing.side('source'), INSTANCETYPES),
      await storeRevision(crossing.side('source'), PREFERENCES),
    ];
    for (const type of WIDE) await source.admin.create(type, ofSize(2, { name: 'wide' }));
    const at = { namespace: crossing.side('target').namespace, name: 'own' };
    await target.admin.create(PREFERENCES, ofSize(1, at));
    const named = (more: object) => (vm: New<Vm>) => ({ ...vm, spec: { ...vm.spec, ...more } });
    await crossing.createVm('web', { change: named({ instancetype, preference: { name: 'wide' } }) });
    await crossing.createVm('db', { change: named({ instancetype: { name: 'wide' }, preference }) });
    await crossing.createPlan([{ name: 'web' }, { name: 'db' }]);
    await crossing.sweep('Plan');
    const { conditions = [] } = (await crossing.plan()).status ?? {};
    expect(conditions.find(({ type }) => type === LIVE_CONDITION.instanceTypeDiffers)?.items).toEqual([
      expect.stringMatching(/web: VirtualMachineClusterPreference wide is not on the target/),
      expect.stringMatching(/db: VirtualMachineClusterInstancetype wide is not on the target/),
    ]);

    for (const type of WIDE) await target.admin.create(type, ofSize(2, { name: 'wide' }));
    await crossing.sweep('Plan');
    expect(conditionsOf(await crossing.plan())).not.toContain(LIVE_CONDITION.instanceTypeDiffers);
    await crossing.createMigrationAs();
    expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
    for (const type of OWN)
      expect((await target.admin.get(type, at)).object).toMatchObject({ spec: { cpu: { guest: 1 } } });
  });
});
