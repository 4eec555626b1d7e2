import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIVE_FINALIZER } from '../../../functions/domain/live/names.ts';
import { PROVIDERS, SECRETS } from '../../../functions/kubernetes/live-resources.ts';
import { conditionsOf } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
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

test('a plan that is archived says so, and moves nothing until that is taken back', async () => {
  await crossings.within('archived', async (crossing) => {
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.resync('Plan');
    await crossing.patchPlan({ spec: { archived: true } });
    await crossing.resync('Plan');
    expect(conditionsOf(await crossing.plan())).toEqual(['Archived']);
    await crossing.createMigrationAs();
    await crossing.resync();
    expect((await crossing.migration()).status?.started).toBeUndefined();
    await crossing.patchPlan({ spec: { archived: false } });
    const migration = await crossing.untilEnded();
    expect(conditionsOf(migration)).toContain('Succeeded');
    expect(conditionsOf(await crossing.plan())).not.toContain('Archived');
  });
});
