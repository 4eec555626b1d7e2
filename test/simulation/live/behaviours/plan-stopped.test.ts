import { describe, expect, test } from '@jest/globals';
import { aReceiver, arrived, aWaitingVmi } from '../../../support/builders/live-run.ts';
import { seconds } from '../../../support/builders/object.ts';
import { always, conditionsOf, HELD, MARK, ModelledRun } from '../world/modelled-run.ts';
import type { ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import {
  PLANS,
  PROVIDERS,
  SECRETS,
  VIRTUAL_MACHINES,
  WHOLE_VMIS,
} from '../../../../functions/kubernetes/live-resources.ts';

describe('the Plan is archived or deleted', () => {
  const archive = (run: ModelledRun): Promise<unknown> => run.patchPlan({ spec: { archived: true } });
  const remove = (run: ModelledRun): Promise<void> =>
    run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' });
  const ACTS = { archive, delete: remove };
  const isPlanGone = async (run: ModelledRun): Promise<boolean> =>
    (await run.hub.list(PLANS, {})).items.length === 0;

  describe.each(Object.entries(ACTS))('%s', (name, act) => {
    test('before a Migration begins: it says so, and has failed after an hour', async () => {
      const run = await ModelledRun.prepare();
      await act(run);
      await run.changed('Plan', 'plan', name === 'delete' ? 'delete' : 'update');
      const wanted = name === 'delete' ? 'PlanNotValid NotFound' : 'PlanNotReady Archived';
      expect(conditionsOf((await run.migration()).status)).toEqual([wanted]);
      expect(await run.held()).toEqual([]);
      run.wait(3_600);
      await run.resync();
      expect(conditionsOf((await run.migration()).status)).toEqual([wanted, 'Failed']);
    });

    test('while a Migration begins: nothing is held', async () => {
      const run = await ModelledRun.prepare();
      await run.hold('migration', 'plan', 'source');
      await act(run);
      await run.resync();
      expect(await run.held()).toEqual([]);
      expect(await run.isRecorded()).toBe(false);
      expect(await isPlanGone(run)).toBe(name === 'delete');
    });

    test('before the cut-over: the VM is as it was, and nothing is held', async () => {
      const run = await ModelledRun.start();
      await run.resync();
      await act(run);
      await run.changed('Plan');
      const { status } = await run.migration();
      expect(conditionsOf(status?.vms?.[0])).toEqual([
        `Canceled ${name === 'delete' ? 'Deleted' : 'Archived'}`,
      ]);
      expect(await run.held()).toEqual([]);
      expect(await run.isRecorded()).toBe(false);
      expect((await run.vm())?.spec.runStrategy).toBe('Always');
      expect(await isPlanGone(run)).toBe(name === 'delete');
    });

    test('past the cut-over: the VM stays on the target, and is turned off on the source', async () => {
      const run = await ModelledRun.start({ attempt: 1, arrivedAt: seconds(0), marks: [MARK] });
      await run.made(aReceiver(always), VIRTUAL_MACHINES);
      await run.made(aWaitingVmi(arrived), WHOLE_VMIS);
      await act(run);
      await run.changed('Plan');
      const { status } = await run.migration();
      expect(conditionsOf(status?.vms?.[0])).toEqual(['CutOver', 'Succeeded Succeeded']);
      expect((await run.vm())?.spec.runStrategy).toBe('Halted');
      expect(await run.onTarget()).toEqual(['web']);
      expect(await run.held()).toEqual([]);
      expect(await isPlanGone(run)).toBe(name === 'delete');
    });

    test('after its end, with something left over: it is held until that is gone', async () => {
      const run = await ModelledRun.start();
      await run.made(aReceiver(), VIRTUAL_MACHINES);
      await run.models.source.admin.delete(VIRTUAL_MACHINES, { namespace: 'vms', name: 'web' });
      await run.resync();
      await act(run);
      await run.changed('Plan');
      expect((await run.held()).sort()).toEqual(HELD);
      expect(await run.onTarget()).toEqual(['web']);
      await run.models.destination.admin.delete(VIRTUAL_MACHINES, { namespace: 'target', name: 'web' });
      await run.resync();
      expect(await run.held()).toEqual([]);
      expect(await isPlanGone(run)).toBe(name === 'delete');
    });
  });

  test.each<[string, ResourceType]>([
    ['Provider', PROVIDERS],
    ['Secret', SECRETS],
  ])('the deletion of a %s is a cancel too', async (_what, type) => {
    const run = await ModelledRun.start();
    await run.resync();
    await run.hub.delete(type, { namespace: 'tenant', name: 'destination' });
    await run.resync();
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Canceled Deleted']);
    expect(await run.held()).toEqual([]);
    expect((await run.hub.list(type, {})).items.map(({ metadata }) => metadata.name)).toEqual(['source']);
  });
});
