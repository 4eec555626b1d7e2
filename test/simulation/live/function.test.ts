import { describe, expect, test } from '@jest/globals';
import { aReceiver } from '../../support/builders/live-run.ts';
import { seconds } from '../../support/builders/object.ts';
import { conditionsOf, ModelledRun } from './modelled-run.ts';
import { PROVIDERS, SECRETS, VIRTUAL_MACHINES } from '../../../functions/kubernetes/live-resources.ts';

const HELD = [
  'Migration migration',
  'Plan plan',
  ...['Provider destination', 'Provider source', 'Secret destination', 'Secret source'],
];
const END = { as: 'Failed', reason: 'TransferFailed', message: 'it failed', at: seconds(0) } as const;

describe('a run that is given up', () => {
  test('says how, while a cluster does not answer', async () => {
    const run = await ModelledRun.start();
    run.away.add('source');
    await run.sweep();
    const { status, metadata } = await run.migration();
    expect(status?.vms?.[0]?.conditions).toMatchObject([
      {
        reason: 'ClusterUnknown',
        message: expect.stringContaining(
          'Only if a cluster is gone for good: kubectl annotate migrations.forklift.konveyor.io migration -n tenant ' +
            `live.mtq.kubevirt.io/break-glass=${metadata.uid}`,
        ),
      },
    ]);
    expect((await run.held()).sort()).toEqual(HELD);
  });

  test('ends after a minute without an answer: nothing is held, and nothing was written on the other cluster', async () => {
    const run = await ModelledRun.start();
    run.away.add('source');
    await run.sweep();
    await run.breakGlass();
    const { revision } = run.models.destination.store;
    await run.changed('Migration');
    expect((await run.held()).sort()).toEqual(HELD);
    run.wait(61);
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    const { status } = await run.migration();
    expect(conditionsOf(status)).toContain('Failed');
    expect(conditionsOf(status?.vms?.[0])).toEqual(['Failed GivenUp']);
    expect(status?.leftovers).toContain('perhaps the record of VirtualMachine vms/web');
    expect(run.posted.map(({ type }) => type)).toContain('io.kubevirt.mtq.live.failed');
    expect(run.models.destination.store.revision).toBe(revision);
    expect(await run.isRecorded()).toBe(true);
  });

  test('ends too where a Provider was removed in spite of its finalizer', async () => {
    const run = await ModelledRun.start();
    const at = { namespace: 'tenant', name: 'source' };
    await run.hub.patch(PROVIDERS, at, { merge: { metadata: { finalizers: null } } });
    await run.hub.delete(PROVIDERS, at);
    await run.sweep();
    await run.breakGlass();
    run.wait(61);
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Failed GivenUp']);
  });

  test('is canceled where both clusters answer', async () => {
    const run = await ModelledRun.start();
    await run.breakGlass();
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    const { status } = await run.migration();
    expect(conditionsOf(status?.vms?.[0])).toEqual(['Canceled GivenUp']);
    expect(status).not.toHaveProperty('leftovers');
    expect(await run.isRecorded()).toBe(false);
  });

  test('leaves what it had left over', async () => {
    const run = await ModelledRun.start({ attempt: 1, end: END });
    await run.made(aReceiver(), VIRTUAL_MACHINES);
    await run.models.source.admin.delete(VIRTUAL_MACHINES, { namespace: 'vms', name: 'web' });
    await run.sweep();
    const left = ['VirtualMachine target/web'];
    expect((await run.migration()).status?.leftovers).toEqual(left);
    expect((await run.held()).sort()).toEqual(HELD);
    await run.breakGlass();
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    expect((await run.migration()).status?.leftovers).toEqual(left);
    expect(await run.onTarget()).toEqual(['web']);
  });
});

test('what the last event of a run held again is let go of by it', async () => {
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

test('a Migration whose plan is not Ready for an hour has failed, and moves nothing when it is', async () => {
  const run = await ModelledRun.prepare();
  await run.sweep();
  expect(conditionsOf((await run.migration()).status)).toEqual(['PlanNotReady NotFound']);
  run.wait(3_599);
  await run.sweep();
  expect((await run.migration()).status).not.toHaveProperty('completed');
  run.wait(1);
  await run.sweep();
  const { status, metadata } = await run.migration();
  expect(conditionsOf(status)).toEqual(['PlanNotReady NotFound', 'Failed']);
  expect(status?.message).toMatch(
    /^too late: The `plan` does not have Ready condition. See the conditions of Plan plan/,
  );
  await run.sweep();
  expect((await run.migration()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  expect(await run.held()).toEqual([]);
  expect(await run.isRecorded()).toBe(false);
});

test('a beginning that was interrupted, and whose plan is not Ready for an hour, holds nothing afterwards', async () => {
  const run = await ModelledRun.prepare();
  await run.hold('migration', 'plan', 'source');
  await run.sweep();
  run.wait(3_600);
  await run.sweep();
  await run.changed('Migration');
  expect(conditionsOf((await run.migration()).status)).toContain('Failed');
  expect(await run.held()).toEqual([]);
});

describe('a cluster that a run cannot ask', () => {
  test('is shown by its Provider and the Plan while VMs move, until it answers again', async () => {
    const run = await ModelledRun.start();
    run.away.add('source');
    await run.sweep();
    expect(conditionsOf((await run.provider('source')).status)).toContain('ConnectionTestFailed Tested');
    expect(conditionsOf((await run.provider('destination')).status)).toContain('Ready');
    const shown = conditionsOf((await run.plan()).status);
    expect(shown).toContain('Executing');
    expect(shown).toContain('SourceProviderNotReady');
    expect(shown).not.toContain('Ready');

    run.away.clear();
    run.wait(60);
    await run.sweep();
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
    expect(conditionsOf((await run.plan()).status)).not.toContain('SourceProviderNotReady');
  });

  test('is shown too once its VM has ended with something left over', async () => {
    const run = await ModelledRun.start({ attempt: 1, end: END });
    await run.made(aReceiver(), VIRTUAL_MACHINES);
    await run.models.source.admin.delete(VIRTUAL_MACHINES, { namespace: 'vms', name: 'web' });
    await run.sweep();
    run.away.add('destination');
    await run.sweep();
    expect(conditionsOf((await run.plan()).status)).toContain('DestinationProviderNotReady');
  });

  test('is asked with a renewed token when the guard looks at the run again', async () => {
    const run = await ModelledRun.start();
    run.tokens.source = 'renewed';
    await run.sweep();
    expect(conditionsOf((await run.provider('source')).status)).toContain('ConnectionAuthFailed Tested');
    const [vm] = (await run.migration()).status?.vms ?? [];
    expect(conditionsOf(vm)).toEqual(['Waiting ClusterUnknown']);

    await run.renewToken('source', 'renewed');
    await run.sweep();
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
    const [next] = (await run.migration()).status?.vms ?? [];
    expect(next?.phase).toBe('CreateEmptyDataVolumes');
    expect(conditionsOf(next)).not.toContain('Waiting ClusterUnknown');
  });

  test('is asked with a renewed token when the guard looks at the plan again', async () => {
    const run = await ModelledRun.prepare();
    run.tokens.source = 'renewed';
    await run.sweep('Plan');
    expect(conditionsOf((await run.plan()).status)).toContain('SourceProviderNotReady');
    await run.renewToken('source', 'renewed');
    await run.sweep('Plan');
    expect(conditionsOf((await run.plan()).status)).not.toContain('SourceProviderNotReady');
    expect(conditionsOf((await run.provider('source')).status)).toContain('Ready');
  });
});
