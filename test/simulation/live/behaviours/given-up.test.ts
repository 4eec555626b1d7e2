import { describe, expect, test } from '@jest/globals';
import { aReceiver } from '../../../support/builders/live-run.ts';
import { conditionsOf, END, HELD, ModelledRun } from '../world/modelled-run.ts';
import { PROVIDERS, VIRTUAL_MACHINES } from '../../../../functions/kubernetes/live-resources.ts';

describe('a run that is given up', () => {
  test('says how, while a cluster does not answer', async () => {
    const run = await ModelledRun.start();
    run.away.add('source');
    await run.resync();
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
    await run.resync();
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
    await run.resync();
    await run.breakGlass();
    run.wait(61);
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Failed GivenUp']);
  });

  test('names the Secrets that stay held, where their Role is gone with their namespace', async () => {
    const run = await ModelledRun.start();
    run.mayReadSecrets = false;
    await run.resync();
    await run.breakGlass();
    run.wait(61);
    await run.changed('Migration');
    expect(await run.held()).toEqual(['Secret destination', 'Secret source']);
    expect(run.warnings).toContain(
      'no Role lets live read Secrets of namespace tenant: take the finalizer live.mtq.kubevirt.io/run off these by hand ' +
        '{"secrets":"source, destination"}',
    );
  });

  test('leaves no Secret held where the Providers refer to other ones by now', async () => {
    const run = await ModelledRun.start();
    for (const name of ['source', 'destination']) {
      const merge = { spec: { secret: { name: 'none', namespace: 'tenant' } } };
      await run.hub.patch(PROVIDERS, { namespace: 'tenant', name }, { merge });
    }
    await run.resync();
    await run.breakGlass();
    run.wait(61);
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
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
    await run.resync();
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
