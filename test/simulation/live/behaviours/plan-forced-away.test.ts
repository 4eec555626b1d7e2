import { describe, expect, test } from '@jest/globals';
import { aPlan } from '../../../support/builders/live.ts';
import { conditionsOf, HELD, ModelledRun } from '../world/modelled-run.ts';
import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import { moveEvent } from '../../../../functions/domain/live/move-events.ts';
import { PLANS, PROVIDERS } from '../../../../functions/kubernetes/live-resources.ts';

describe('a Plan that was deleted in spite of its finalizer', () => {
  const force = async (run: ModelledRun): Promise<void> => {
    await run.patchPlan({ metadata: { finalizers: null } });
    await run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
    await run.changed('Plan', 'plan', 'delete');
  };
  const REST = HELD.filter((one) => one !== 'Plan plan');

  test('while VMs move: the run says how it is given up, and then lists what it may have left', async () => {
    const run = await ModelledRun.start();
    await run.resync();
    await force(run);
    const { uid } = (await run.migration()).metadata;
    expect((await run.migration()).status?.conditions).toContainEqual(
      expect.objectContaining({ suggestion: expect.stringContaining(`break-glass=${uid}`) }),
    );
    expect((await run.held()).sort()).toEqual(REST);
    const posted = run.posted.length;
    await run.breakGlass();
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    const { status } = await run.migration();
    expect(conditionsOf(status)).toContain('Failed');
    expect(status?.leftovers).toContain('perhaps the record of VirtualMachine vms/web');
    expect(await run.isRecorded()).toBe(true);
    const [event, ...others] = run.posted
      .map((one) => moveEvent.safeParse(one).data ?? one.type)
      .slice(posted);
    expect(event).toMatchObject({
      type: 'io.kubevirt.mtq.live.failed',
      data: {
        plan: { namespace: 'tenant', name: 'plan' },
        target: { name: 'web' },
        reason: 'GivenUp',
        message: expect.stringContaining('given up after its Plan was removed'),
        left: 0,
      },
    });
    expect(others).toEqual([]);
  });

  test('while VMs move, and no Broker takes events: that it is given up is posted later', async () => {
    const run = await ModelledRun.start();
    await run.resync();
    await force(run);
    await run.breakGlass();
    run.isBrokerAway = true;
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    run.isBrokerAway = false;
    await run.resync();
    expect(run.posted.at(-1)?.type).toBe('io.kubevirt.mtq.live.failed');
    expect((await run.migration()).status).not.toHaveProperty('outbox');
  });

  test.each<[string, (run: ModelledRun) => Promise<unknown>]>([
    ['', () => Promise.resolve()],
    [' without its finalizer', (run) => run.patchMigration({ metadata: { finalizers: null } })],
    [
      ' without finalizer and owner',
      (run) => run.patchMigration({ metadata: { finalizers: null, ownerReferences: null } }),
    ],
  ])('while VMs move: another Plan of its name ends the run%s', async (_what, change) => {
    const run = await ModelledRun.start();
    await run.resync();
    await force(run);
    await change(run);
    await run.hub.create(
      PLANS,
      aPlan((plan) => ({ ...plan, spec: { ...plan.spec, targetNamespace: 'other' } })),
    );
    await run.changed('Plan');
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Canceled Modified']);
    expect(await run.isRecorded()).toBe(false);
    expect(await run.held()).toEqual([]);
  });

  const deleteProvider = async (run: ModelledRun): Promise<void> => {
    await run.hub.delete(PROVIDERS, { namespace: 'tenant', name: 'source' });
    await run.changed('Provider', 'source');
  };
  const providersOn = async ({ hub }: ModelledRun): Promise<string[]> =>
    (await hub.list(PROVIDERS, {})).items.map(({ metadata }) => metadata.name).sort();

  test('while VMs move: a Provider that is deleted stays until the Plan is there again, and its run has ended', async () => {
    const run = await ModelledRun.start();
    await run.resync();
    await force(run);
    await deleteProvider(run);
    expect((await run.held()).sort()).toEqual(REST);
    await run.hub.create(PLANS, aPlan());
    await run.changed('Plan');
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Canceled Deleted']);
    expect(await run.isRecorded()).toBe(false);
    expect(await run.held()).toEqual([]);
    expect(await providersOn(run)).toEqual(['destination']);
  });

  test('while VMs move: a Provider that is deleted goes when the run is given up', async () => {
    const run = await ModelledRun.start();
    await run.resync();
    await force(run);
    await deleteProvider(run);
    await run.breakGlass();
    await run.changed('Migration');
    expect(await run.held()).toEqual([]);
    expect(await providersOn(run)).toEqual(['destination']);
  });

  test('before VMs move: nothing is held', async () => {
    const run = await ModelledRun.prepare();
    await run.hold('migration', 'source');
    const { uid } = (await run.provider('source')).metadata;
    const annotations = { [LIVE_ANNOTATION.clusters]: `s t ${uid} q` };
    await run.patchMigration({ metadata: { annotations } });
    await force(run);
    expect(await run.held()).toEqual([]);
    expect(conditionsOf((await run.migration()).status)).toEqual(['PlanNotValid NotFound']);
  });

  test('and whose Migration has the finalizer from a copy: nothing but that is let go', async () => {
    const run = await ModelledRun.prepare();
    await run.hold('migration', 'source');
    await force(run);
    expect(await run.held()).toEqual(['Provider source', 'Secret source']);
  });
});
