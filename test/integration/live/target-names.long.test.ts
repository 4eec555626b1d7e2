import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIVE_LABEL } from '../../../functions/domain/live/names.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { FULL_CLAIMS, FULL_VMIS, VMS } from '../../cluster/kubevirt/objects/objects.ts';
import { conditionsOf, untilRunning } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

const MADE = 'made-by-the-run';

test('a VM goes through under another name, into a namespace that the run makes', async () => {
  await crossings.within('renamed', async (crossing) => {
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web', targetName: 'shop' }], { targetNamespace: MADE });
    await crossing.createMigrationAs();
    const migration = await crossing.untilEnded();
    expect(conditionsOf(migration)).toContain('Succeeded');
    expect(migration.status?.vms).toMatchObject([{ name: 'web', newName: 'shop' }]);

    const { admin } = crossing.side('target');
    const { object: namespace } = await admin.get(NAMESPACES, { name: MADE });
    expect(namespace.metadata.labels).toMatchObject({
      [LIVE_LABEL.plan]: (await crossing.plan()).metadata.uid,
    });
    expect((await untilRunning(admin, { namespace: MADE, name: 'shop' })).spec.runStrategy).toBe('Always');
    const { items: guests } = await admin.list(FULL_VMIS, {});
    expect(guests.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`)).toEqual([
      `${MADE}/shop`,
    ]);
    const { items: claims } = await admin.list(FULL_CLAIMS, { namespace: MADE });
    expect(claims).toHaveLength(1);

    const source = crossing.side('source');
    const { object: left } = await source.admin.get(VMS, { namespace: source.namespace, name: 'web' });
    expect(left.spec.runStrategy).toBe('Halted');
    expect((await source.admin.list(FULL_VMIS, { namespace: source.namespace })).items).toEqual([]);
    expect(await crossing.finalizers()).toEqual([]);
  });
});
