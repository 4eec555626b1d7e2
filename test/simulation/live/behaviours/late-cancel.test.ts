import { describe, expect, test } from '@jest/globals';
import { migrationIdOf, vmimName } from '../../../../functions/live/run/names.ts';
import { aReceiver, arrived, aWaitingVmi, migrated, received } from '../../../support/builders/live-run.ts';
import { seconds } from '../../../support/builders/object.ts';
import { always, conditionsOf, ModelledRun } from '../world/modelled-run.ts';
import type { RunRecord } from '../../../../functions/live/run/record.ts';
import { FULL_MIGRATIONS } from '../../../cluster/kubevirt/objects/objects.ts';
import { VIRTUAL_MACHINES, WHOLE_VMIS } from '../../../../functions/kubernetes/live-resources.ts';

const CANCELED = {
  ...({ as: 'Canceled', reason: 'UserRequested', message: 'The migration has been canceled.' } as const),
  at: seconds(0),
};

/** The guest arrives after its end was recorded, and before that took effect. */
async function arriving(end: RunRecord['end'], { hooks = false } = {}): Promise<ModelledRun> {
  const run = await ModelledRun.start({ attempt: 1, end });
  if (hooks) {
    const hook = { namespace: 'tenant', name: 'gone' };
    const vms = [{ name: 'web', namespace: 'vms', hooks: [{ step: 'PostHook', hook }] }];
    await run.patchPlan({ spec: { vms } });
  }
  await run.made(aReceiver(always), VIRTUAL_MACHINES);
  await run.made(aWaitingVmi(arrived), WHOLE_VMIS);
  await run.resync();
  return run;
}

const postedBy = (run: ModelledRun): string[] =>
  run.posted.map(({ type }) => type.split('.').at(-1) ?? '').filter((type) => type !== 'progressed');

describe('a cancel that comes too late', () => {
  test('is no end of the run: the VM has moved', async () => {
    const run = await arriving(CANCELED);
    const { status } = await run.migration();
    expect(conditionsOf(status)).toEqual(['Ready', 'Succeeded']);
    expect(conditionsOf(status?.vms?.[0])).toEqual(['CutOver', 'Succeeded Succeeded']);
    expect(status?.message).toBe('1 of 1 VMs moved');
    expect(postedBy(run)).toEqual(expect.arrayContaining(['cutover', 'succeeded']));
    expect(postedBy(run)).not.toContain('canceled');
    expect((await run.vm())?.spec.runStrategy).toBe('Halted');
    expect(await run.held()).toEqual([]);
  });

  test('keeps no PostHook from running, and from failing', async () => {
    const run = await arriving(CANCELED, { hooks: true });
    const { status } = await run.migration();
    expect(conditionsOf(status?.vms?.[0])).toEqual(['CutOver', 'Failed HookFailed']);
    expect(status?.message).toBe('1 of 1 VMs moved; web: the Hook of the PostHook is gone');
    expect(postedBy(run)).not.toContain('canceled');
    expect(await run.held()).toEqual([]);
  });

  test('after the end was shown, the VM counts as moved', async () => {
    const run = await ModelledRun.start({ attempt: 1, end: CANCELED });
    await run.made(aReceiver(), VIRTUAL_MACHINES);
    await run.made(aWaitingVmi(migrated({ startTimestamp: seconds(0) })), WHOLE_VMIS);
    const { metadata: own, ...vmim } = received('Running');
    const id = {
      plan: '',
      migration: (await run.migration()).metadata.uid,
      vm: (await run.vm())?.metadata.uid ?? '',
    };
    const receiving = {
      ...{ ...vmim, spec: { vmiName: 'web', receive: { migrationID: migrationIdOf(id, 1) } } },
      metadata: { ...own, name: vmimName(id, 1), finalizers: ['kubevirt.io/held'] },
    };
    await run.made(receiving, FULL_MIGRATIONS);
    await run.resync();
    run.wait(601);
    await run.resync();
    const first = (await run.migration()).status;
    expect(conditionsOf(first?.vms?.[0])).toEqual(['Canceled Aborting']);
    const target = run.models.destination.admin;
    const at = { namespace: 'target', name: 'web' };
    const { metadata, status } = aWaitingVmi(arrived);
    const annotations = { 'kubevirt.io/create-migration-target': null, ...metadata.annotations };
    await target.patch(WHOLE_VMIS, at, { merge: { metadata: { annotations } } });
    await target.patch(WHOLE_VMIS, at, { merge: { status }, subresource: 'status' });
    await target.patch(VIRTUAL_MACHINES, at, { merge: { spec: { runStrategy: 'Always' } } });
    await run.resync();
    const next = (await run.migration()).status;
    expect(conditionsOf(next?.vms?.[0])).toEqual(['Canceled Aborting', 'CutOver']);
    expect(next?.message).toMatch(/^1 of 1 VMs moved/);
    expect(postedBy(run)).toContain('cutover');
    expect((await run.vm())?.spec.runStrategy).toBe('Halted');
  });
});
