import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { LIVE_ANNOTATION } from '../../../functions/domain/live/names.ts';
import { PLAN_MIGRATIONS, PROVIDERS } from '../../../functions/kubernetes/live-resources.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { runProviderOf } from '../../../functions/live/read/providers.ts';
import { withRunClusters } from '../../../functions/live/run/run-clusters.ts';
import { getOrUndefined } from '../../../functions/live/read/get.ts';
import { FULL_MIGRATIONS, FULL_VMIS, VMS } from '../../cluster/kubevirt/objects/objects.ts';
import { removeClaims } from '../../support/live/claims.ts';
import { accessOf, conditionsOf, type Crossing, untilRunning } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { bindRole, untilAllowed } from '../../support/environment/roles.ts';
import { labelled } from '../../support/live/seen.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

const sourceVm = (crossing: Crossing): Promise<object | undefined> => {
  const { admin, namespace } = crossing.side('source');
  return getOrUndefined(admin.get(VMS, { namespace, name: 'web' }));
};

describe.each(['source', 'target'] as const)('hub = %s', (hub) => {
  test('a VM with a disk goes through, is off on the source, and nothing is held afterwards', async () => {
    const work = async (crossing: Crossing): Promise<void> => {
      await crossing.createVm('web');
      await crossing.createPlan([{ name: 'web' }]);
      await crossing.resync('Plan');
      expect(conditionsOf(await crossing.plan())).toContain('Ready');
      await crossing.createMigrationAs();
      const migration = await crossing.untilEnded();
      expect(conditionsOf(migration)).toContain('Succeeded');
      expect(conditionsOf(await crossing.plan())).toContain('Succeeded');
      const target = crossing.side('target');
      expect(
        (await untilRunning(target.admin, { namespace: target.namespace, name: 'web' })).spec.runStrategy,
      ).toBe('Always');
      const source = await sourceVm(crossing);
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
  const [source, target] = await Promise.all(
    (['source', 'target'] as const).map(async (side) => {
      const { object } = await crossing.side(side).admin.get(NAMESPACES, { name: 'kube-system' });
      const { object: provider } = await crossing.admin.get(PROVIDERS, {
        namespace: crossing.migrationAt.namespace,
        name: side,
      });
      return { cluster: object.metadata.uid, provider: runProviderOf(provider) };
    }),
  );
  if (source === undefined || target === undefined) throw new Error('no clusters');
  const annotations = withRunClusters({}, { source, target });
  await crossing.patchMigration({ metadata: { annotations } });
  const { admin: sourceAdmin, namespace: sourceNamespace } = crossing.side('source');
  const { object: vm } = await sourceAdmin.get(VMS, { namespace: sourceNamespace, name: 'web' });
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
    const { namespace } = crossing.migrationAt;
    const plans = { apiGroups: ['forklift.konveyor.io'], resources: ['plans'], verbs: ['get'] };
    await bindRole(crossing.admin, { role: `${name}-reads`, user: 'tenant', rules: [plans], namespace });
    const may = { verb: 'get', group: 'forklift.konveyor.io', resource: 'plans', namespace };
    await untilAllowed(crossing.admin, 'tenant', { ...may, allowed: true });
    await crossing.createMigrationAs({ user: 'tenant', groups: [] });
    await before(crossing);
    const migration = await crossing.until('it is refused', ({ status }) =>
      conditionsOf({ status: status ?? {} }).includes('NotAllowed'),
    );
    expect(JSON.stringify(migration.status)).toContain(
      `User \\"tenant\\" cannot use providers.forklift.konveyor.io/source in namespace plans-${name}`,
    );
    expect(await crossing.finalizers()).toEqual([]);
    expect(JSON.stringify(await sourceVm(crossing))).not.toContain(LIVE_ANNOTATION.run);
  });
});

test('a tenant’s plan tells nothing of VMs that the tenant may not read, and their run does not begin', async () => {
  const tenant = { user: 'a-tenant', groups: [] };
  const work = async (crossing: Crossing): Promise<void> => {
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }, { name: 'gone' }]);
    const { admin, migrationAt } = crossing;
    const rules = [{ apiGroups: ['forklift.konveyor.io'], resources: ['*'], verbs: ['get', 'use'] }];
    await bindRole(admin, { role: 'a-tenant', user: tenant.user, rules, namespace: migrationAt.namespace });
    const { namespace } = migrationAt;
    const may = { verb: 'use', group: 'forklift.konveyor.io', resource: 'providers', namespace };
    await untilAllowed(admin, tenant.user, { ...may, allowed: true });
    await crossing.resync('Plan');
    const { namespace: of } = crossing.side('source');
    const plan = await crossing.plan();
    expect(conditionsOf(plan)).toEqual(['NotAllowed']);
    expect(plan.status?.conditions?.[0]?.message).toBe(
      `User "a-tenant" cannot get virtualmachines.kubevirt.io/web in namespace ${of}, ` +
        `get virtualmachines.kubevirt.io/gone in namespace ${of}.`,
    );
    await crossing.createMigrationAs();
    await crossing.resync();
    expect(conditionsOf(await crossing.migration())).toEqual(['PlanNotReady']);
    expect(await crossing.finalizers()).toEqual([]);
  };
  await crossings.within('tenant', work, { author: tenant });
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
    const source = await sourceVm(crossing);
    expect(source).toMatchObject({ spec: { runStrategy: 'Always' }, status: { printableStatus: 'Running' } });
    expect(JSON.stringify(source)).not.toContain(LIVE_ANNOTATION.run);
    expect((await admin.list(FULL_MIGRATIONS, { namespace })).items).toEqual([]);
    expect(await labelled(crossing)).toEqual([]);
    expect(await crossing.finalizers()).toEqual([]);
  };
  await crossings.within('canceled', work, { trust: false });
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
