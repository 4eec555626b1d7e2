import { describe, expect, test } from '@jest/globals';
import { seconds } from '../../support/builders/object.ts';
import { conditionsOf, HELD, ModelledRun } from './modelled-run.ts';
import type { PlanMigration } from '../../../functions/domain/live/forklift.ts';
import { LIVE_FINALIZER } from '../../../functions/domain/live/names.ts';
import { PLAN_MIGRATIONS, PLANS } from '../../../functions/kubernetes/live-resources.ts';
import { aPlan } from '../../support/builders/live.ts';

describe('a Plan of another type', () => {
  const COLD = { namespace: 'tenant', name: 'cold' };

  /** With a Migration. */
  async function createCold(run: ModelledRun, finalizers: string[] = []): Promise<void> {
    await run.hub.create(PLANS, { metadata: COLD, spec: { ...aPlan().spec, type: 'cold' } });
    const metadata = { ...COLD, finalizers };
    await run.hub.create(PLAN_MIGRATIONS, { metadata, spec: { plan: COLD } });
  }

  const show = (run: ModelledRun, status: PlanMigration['status'] & object): Promise<unknown> =>
    run.hub.patch(PLAN_MIGRATIONS, COLD, { merge: { status }, subresource: 'status' });

  const versionsOf = async ({ hub }: ModelledRun): Promise<string[]> =>
    (await Promise.all([hub.get(PLANS, COLD), hub.get(PLAN_MIGRATIONS, COLD)])).map(
      ({ object }) => object.metadata.resourceVersion,
    );

  test.each<[string, PlanMigration['status'] & object]>([
    ['waits', {}],
    ['runs', { started: seconds(0) }],
    ['has ended', { started: seconds(0), completed: seconds(9) }],
  ])('is never written, nor its Migration, which %s', async (_what, status) => {
    const run = await ModelledRun.prepare();
    await createCold(run);
    await show(run, status);
    const before = await versionsOf(run);
    for (const kind of ['Plan', 'Migration'] as const) {
      await run.sweep(kind, 'cold');
      await run.changed(kind, 'cold');
    }
    await run.changed('Provider', 'source');
    await run.changed('StorageMap', 'storage');
    await run.changed('NetworkMap', 'networks');
    // These were looked at.
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
    expect((await run.plan()).status?.conditions).toBeDefined();
    await run.patchMigration({ spec: { cancel: [{ name: 'web' }] } });
    await run.sweep();
    expect(await versionsOf(run)).toEqual(before);
  });

  test('whose Migration has the finalizer, from a copy: it is let go', async () => {
    const run = await ModelledRun.prepare();
    await createCold(run, [LIVE_FINALIZER]);
    await run.sweep('Migration', 'cold');
    expect(await run.held()).toEqual([]);
  });

  test('whose Migration was deleted, and has the finalizer from a copy: it goes, and a live run stays held', async () => {
    const run = await ModelledRun.start();
    await createCold(run, [LIVE_FINALIZER]);
    await run.hub.delete(PLAN_MIGRATIONS, COLD);
    await run.changed('Migration', 'cold');
    const { items } = await run.hub.list(PLAN_MIGRATIONS, {});
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['migration']);
    expect((await run.held()).sort()).toEqual(HELD);
  });

  test('that was deleted, and has the finalizer from a copy: it goes', async () => {
    const run = await ModelledRun.start();
    const metadata = { ...COLD, finalizers: [LIVE_FINALIZER] };
    await run.hub.create(PLANS, { metadata, spec: { ...aPlan().spec, type: 'cold' } });
    await run.hub.delete(PLANS, COLD);
    await run.changed('Plan', 'cold');
    expect((await run.held()).sort()).toEqual(HELD);
  });

  test('which was for live migrations: a run that is under way stays held', async () => {
    const run = await ModelledRun.start();
    await run.patchPlan({ spec: { type: 'cold' } });
    await run.sweep();
    expect((await run.held()).sort()).toEqual(HELD);
    expect(await run.isRecorded()).toBe(true);
  });

  test('holds back no Provider at the end of a live run', async () => {
    const run = await ModelledRun.start();
    await createCold(run);
    await show(run, { started: seconds(0) });
    await run.patchMigration({ spec: { cancel: [{ name: 'web' }] } });
    await run.sweep();
    expect(await run.held()).toEqual([]);
  });
});
