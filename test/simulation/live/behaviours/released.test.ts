import { describe, expect, test } from '@jest/globals';
import { aReceiver } from '../../../support/builders/live-run.ts';
import { always, conditionsOf, HELD, ModelledRun } from '../world/modelled-run.ts';
import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import {
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  SECRETS,
  VIRTUAL_MACHINES,
} from '../../../../functions/kubernetes/live-resources.ts';

test('the last event of a run releases what it held again', async () => {
  const run = await ModelledRun.start();
  await run.hub.patch(
    SECRETS,
    { namespace: 'tenant', name: 'source' },
    { merge: { metadata: { finalizers: null } } },
  );
  await run.breakGlass();
  await run.changed('Migration');
  expect(await run.held()).toEqual([]);
});

describe('what a late call holds after the end of the run', () => {
  const ended = async (): Promise<ModelledRun> => {
    const run = await ModelledRun.start();
    await run.patchMigration({ spec: { cancel: [{ name: 'web' }] } });
    await run.resync();
    expect(await run.held()).toEqual([]);
    return run;
  };

  test('goes with the Plan when that is deleted', async () => {
    const run = await ended();
    await run.hold('plan', 'source', 'destination');
    await run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
    await run.changed('Plan');
    expect(await run.held()).toEqual([]);
    expect((await run.hub.list(PLANS, {})).items).toEqual([]);
  });

  test('goes when it is deleted, if it is a Provider', async () => {
    const run = await ended();
    await run.hold('source');
    await run.hub.delete(PROVIDERS, { namespace: 'tenant', name: 'source' });
    await run.changed('Provider', 'source');
    expect(await run.held()).toEqual([]);
    const { items } = await run.hub.list(PROVIDERS, {});
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['destination']);
  });

  test('stays while another run goes on', async () => {
    const run = await ModelledRun.start();
    await run.made(aReceiver(always), VIRTUAL_MACHINES);
    await run.resync();
    run.away.add('source');
    await run.hub.delete(PROVIDERS, { namespace: 'tenant', name: 'source' });
    await run.changed('Provider', 'source');
    await run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
    await run.changed('Plan');
    expect((await run.held()).sort()).toEqual(HELD);
  });
});

test('the process ended between the Plan, which is gone, and its Migration: that is let go too', async () => {
  const run = await ModelledRun.start();
  await run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
  await run.resync();
  await run.hold('migration', 'source');
  await run.resync();
  expect(await run.held()).toEqual([]);
  expect(conditionsOf((await run.migration()).status)).toContain('Canceled');
});

test('the process ended before a closed Migration, which is deleted, went: its events are posted first', async () => {
  const run = await ModelledRun.start();
  run.isBrokerAway = true;
  await run.patchMigration({ spec: { cancel: [{ name: 'web' }] } });
  await run.resync();
  expect(run.posted).toEqual([]);
  run.isBrokerAway = false;
  await run.hold('migration', 'plan');
  await run.hub.delete(PLAN_MIGRATIONS, { namespace: 'tenant', name: 'migration' });
  await run.resync();
  expect(run.posted.map(({ type }) => type)).toContain('io.kubevirt.mtq.live.canceled');
  expect(await run.held()).toEqual([]);
  expect((await run.hub.list(PLAN_MIGRATIONS, {})).items).toEqual([]);
});

test('what an interrupted beginning holds goes with its Plan, and the Migration is written first', async () => {
  const run = await ModelledRun.prepare();
  await run.hold('migration', 'plan', 'source');
  await run.patchMigration({ metadata: { annotations: { [LIVE_ANNOTATION.clusters]: 's t p q' } } });
  await run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
  await run.resync();
  expect(await run.held()).toEqual([]);
  expect((await run.migration()).metadata.annotations ?? {}).not.toHaveProperty([LIVE_ANNOTATION.clusters]);
});

test('a run goes on with its Providers though a user took the finalizer off its Migration', async () => {
  const run = await ModelledRun.start();
  run.away.add('source');
  await run.resync();
  await run.patchMigration({ metadata: { finalizers: null } });
  await run.hub.delete(PROVIDERS, { namespace: 'tenant', name: 'source' });
  await run.changed('Provider', 'source');
  expect((await run.held()).sort()).toEqual(HELD);
});
