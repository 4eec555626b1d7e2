import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VmStatus } from '../../../functions/domain/live/forklift.ts';
import { LIVE_ANNOTATION, LIVE_LABEL, LIVE_REASON } from '../../../functions/domain/live/names.ts';
import { PLAN_MIGRATIONS, SECRETS } from '../../../functions/kubernetes/live-resources.ts';
import { VMS } from '../../cluster/kubevirt/objects/objects.ts';
import { conditionsOf, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

/** The versions of the VMs on both clusters. */
async function vms(crossing: Crossing): Promise<string[]> {
  const lists = await Promise.all(
    (['source', 'target'] as const).map(async (side) => {
      const { admin, namespace } = crossing.side(side);
      return (await admin.list(VMS, { namespace })).items;
    }),
  );
  return lists.flat().map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
}

const isUnknown = ({ conditions = [] }: VmStatus): boolean =>
  conditions.some(({ reason }) => reason === LIVE_REASON.clusterUnknown);

/** As if nothing had been known for two minutes. */
async function age(crossing: Crossing): Promise<void> {
  const migration = await crossing.migration();
  const lastTransitionTime = new Date(Date.now() - 120_000).toISOString();
  const aged = (migration.status?.vms ?? []).map((vm) => ({
    ...vm,
    conditions: (vm.conditions ?? []).map((each) => ({ ...each, lastTransitionTime })),
  }));
  const status = { ...migration.status, vms: aged };
  await crossing.admin.replace(PLAN_MIGRATIONS, { ...migration, status }, { subresource: 'status' });
}

test('a run whose target is gone for good is given up: nothing is held, and no VM is touched', async () => {
  const work = async (crossing: Crossing): Promise<void> => {
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.createMigrationAs();
    const target = crossing.side('target');
    await crossing.until('the VM waits on the target', async () => {
      const { items } = await target.admin.list(VMS, { namespace: target.namespace });
      return items.some(({ metadata }) => metadata.labels?.[LIVE_LABEL.migration] !== undefined);
    });
    const { namespace } = crossing.migrationAt;
    const data = { token: Buffer.from('expired').toString('base64') };
    await crossing.admin.patch(SECRETS, { namespace, name: 'target' }, { merge: { data } });
    const { metadata } = await crossing.until('the target is unknown', ({ status }) =>
      (status?.vms ?? []).some(isUnknown),
    );
    const before = await vms(crossing);
    await crossing.patchMigration({
      metadata: { annotations: { [LIVE_ANNOTATION.breakGlass]: metadata.uid } },
    });
    await age(crossing);
    const { status } = await crossing.untilEnded();
    expect(conditionsOf({ status: status ?? {} })).toContain('Failed');
    expect(status?.vms?.[0]?.conditions).toMatchObject([{ reason: LIVE_REASON.givenUp }]);
    expect(status?.leftovers).toContain(`perhaps VirtualMachine ${target.namespace}/web on the target`);
    expect(await crossing.finalizers()).toEqual([]);
    expect(await vms(crossing)).toEqual(before);
  };
  await crossings.within('given-up', work, { trust: false });
});
