import { describe, expect, test } from '@jest/globals';
import { seconds } from '../../../support/builders/object.ts';
import { aReceiver, arrived, aWaitingVmi } from '../../../support/builders/live-run.ts';
import { always, conditionsOf, HELD, ModelledRun } from '../world/modelled-run.ts';
import type { PlanMigration } from '../../../../functions/domain/live/forklift.ts';
import { LIVE_FINALIZER } from '../../../../functions/domain/live/names.ts';
import {
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  VIRTUAL_MACHINES,
  WHOLE_VMIS,
} from '../../../../functions/kubernetes/live-resources.ts';
import { aPlan } from '../../../support/builders/live.ts';

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
      await run.resync(kind, 'cold');
      await run.changed(kind, 'cold');
    }
    await run.changed('Provider', 'source');
    await run.changed('StorageMap', 'storage');
    await run.changed('NetworkMap', 'networks');
    // These were looked at.
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
    expect((await run.plan()).status?.conditions).toBeDefined();
    await run.patchMigration({ spec: { cancel: [{ name: 'web' }] } });
    await run.resync();
    expect(await versionsOf(run)).toEqual(before);
  });

  test('whose Migration has the finalizer, from a copy: it is let go', async () => {
    const run = await ModelledRun.prepare();
    await createCold(run, [LIVE_FINALIZER]);
    await run.resync('Migration', 'cold');
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

  test('whose Migration runs, and has the finalizer from a copy: it is released, and shows nothing of a live run', async () => {
    const run = await ModelledRun.prepare();
    await createCold(run, [LIVE_FINALIZER]);
    await show(run, { started: seconds(0) });
    await run.resync('Migration', 'cold');
    expect(await run.held()).toEqual([]);
    expect((await run.hub.get(PLAN_MIGRATIONS, COLD)).object.status).toEqual({ started: seconds(0) });
  });

  test('holds back no Provider at the end of a live run', async () => {
    const run = await ModelledRun.start();
    await createCold(run);
    await show(run, { started: seconds(0) });
    await run.patchMigration({ spec: { cancel: [{ name: 'web' }] } });
    await run.resync();
    expect(await run.held()).toEqual([]);
  });
});

describe('a run whose Plan gets another type', () => {
  const change = (run: ModelledRun): Promise<unknown> => run.patchPlan({ spec: { type: 'cold' } });
  const vmOf = async (run: ModelledRun): Promise<string[]> =>
    conditionsOf((await run.migration()).status?.vms?.[0]);

  test('goes back before the cut-over, by the event of that', async () => {
    const run = await ModelledRun.start();
    await change(run);
    await run.changed('Plan');
    const { status } = await run.migration();
    expect(conditionsOf(status?.vms?.[0])).toEqual(['Canceled Modified']);
    expect(JSON.stringify(run.posted)).toContain('The plan is not for live migrations any more.');
    expect(await run.isRecorded()).toBe(false);
    expect(await run.held()).toEqual([]);
  });

  test('ends too where the Plan does not show it yet', async () => {
    const run = await ModelledRun.start();
    const at = { namespace: 'tenant', name: 'plan' };
    await run.hub.patch(PLANS, at, { merge: { status: { migration: null } }, subresource: 'status' });
    await change(run);
    await run.resync();
    expect(await vmOf(run)).toEqual(['Canceled Modified']);
    expect(await run.held()).toEqual([]);
  });

  test('goes forward after it: the source is turned off', async () => {
    const run = await ModelledRun.start({ attempt: 1 });
    await run.made(aReceiver(always), VIRTUAL_MACHINES);
    await run.made(aWaitingVmi(arrived), WHOLE_VMIS);
    await change(run);
    await run.resync();
    expect(await vmOf(run)).toEqual(['CutOver', 'Succeeded Succeeded']);
    expect((await run.vm())?.spec.runStrategy).toBe('Halted');
    expect(await run.held()).toEqual([]);
  });

  test('keeps what it needs, and can be given up, while a cluster does not answer', async () => {
    const run = await ModelledRun.start();
    run.away.add('source');
    await change(run);
    await run.resync();
    await run.hub.delete(PROVIDERS, { namespace: 'tenant', name: 'source' });
    await run.changed('Provider', 'source');
    expect((await run.held()).sort()).toEqual(HELD);
    expect(await vmOf(run)).toEqual(['Waiting ClusterUnknown']);
    await run.breakGlass();
    run.wait(61);
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    expect(await vmOf(run)).toEqual(['Failed GivenUp']);
  });

  test('has not begun: it is left alone', async () => {
    const run = await ModelledRun.prepareReady();
    await change(run);
    await run.resync();
    expect((await run.migration()).status).toBeUndefined();
    expect((await run.plan()).status).toBeUndefined();
  });
});
