import { describe, expect, test } from '@jest/globals';
import type { MigrationState, VirtualMachine } from '../../../../functions/domain/live/kubevirt.ts';
import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import {
  PLAN_MIGRATIONS,
  PLANS,
  VIRTUAL_MACHINES,
  WHOLE_VMIS,
} from '../../../../functions/kubernetes/live-resources.ts';
import { NEXT_CRASH_THERE } from '../../../../functions/live/status/after-move.ts';
import { aReceiver, arrived, aWaitingVmi, migrated } from '../../../support/builders/live-run.ts';
import { seconds } from '../../../support/builders/object.ts';
import { always, conditionsOf, ModelledRun } from '../world/modelled-run.ts';

const AT = { namespace: 'target', name: 'web' };
const BOTH_SIDES: MigrationState = {
  sourceState: { migrationUID: 'sent', syncAddress: '10.8.0.1:9185' },
  targetState: { migrationUID: 'received' },
  completed: true,
};

/** VM `web` runs on the destination, and its VMI has this state. `shown`: a condition of its end. */
async function moved(state: MigrationState, ...shown: readonly object[]): Promise<ModelledRun> {
  const run = await ModelledRun.prepare();
  await run.made(aReceiver(always), VIRTUAL_MACHINES);
  await run.made(aWaitingVmi(arrived, migrated(state)), WHOLE_VMIS);
  const succeeded = {
    ...{
      type: 'Succeeded',
      status: 'True',
      category: 'Advisory',
      durable: true,
      lastTransitionTime: seconds(0),
    },
  };
  const conditions = [...shown.map((one) => ({ ...succeeded, ...one })), succeeded];
  const { uid: id } = (await run.vm())?.metadata ?? {};
  const vm = {
    id,
    namespace: 'vms',
    name: 'web',
    phase: 'Completed',
    pipeline: [],
    completed: seconds(0),
    conditions,
  };
  const merge = { status: { conditions: [succeeded], migration: { vms: [vm] } } };
  await run.hub.patch(PLANS, { namespace: 'tenant', name: 'plan' }, { merge, subresource: 'status' });
  return run;
}

const said = async (run: ModelledRun): Promise<string[]> => conditionsOf((await run.plan()).status);
const saidOfVm = async (run: ModelledRun): Promise<string[]> =>
  ((await run.plan()).status?.migration?.vms ?? []).flatMap(conditionsOf);
const version = async (run: ModelledRun): Promise<string> => (await run.plan()).metadata.resourceVersion;
const onTarget = async ({ models }: ModelledRun): Promise<VirtualMachine> =>
  (await models.destination.admin.get(VIRTUAL_MACHINES, AT)).object;
const annotationOf = async (run: ModelledRun): Promise<string | undefined> =>
  (await onTarget(run)).metadata.annotations?.[LIVE_ANNOTATION.nextCrash];
const setState = async ({ models }: ModelledRun, migrationState: object | null): Promise<void> => {
  await models.destination.admin.patch(WHOLE_VMIS, AT, { merge: { status: { migrationState } } });
};
const setStrategy = async ({ models }: ModelledRun, runStrategy: string): Promise<void> => {
  const at = { namespace: 'vms', name: 'web' };
  await models.source.admin.patch(VIRTUAL_MACHINES, at, { merge: { spec: { runStrategy } } });
};

describe('a plan whose VM has moved', () => {
  test('says that the VM runs on both clusters, as long as it does', async () => {
    const run = await moved({});
    await run.resync('Plan');
    expect(await said(run)).toEqual(['Succeeded', 'RunsOnBoth Moved']);
    expect(await saidOfVm(run)).toEqual(['RunsOnBoth Moved', 'Succeeded']);
    const before = await version(run);
    await run.resync('Plan');
    expect(await version(run)).toBe(before);
    await setStrategy(run, 'Halted');
    await run.resync('Plan');
    expect(await said(run)).toEqual(['Succeeded']);
    expect(await saidOfVm(run)).toEqual(['Succeeded']);
  });

  test('says nothing of a VM that is off on the source', async () => {
    const run = await moved({});
    await setStrategy(run, 'Halted');
    await run.resync('Plan');
    expect(await said(run)).toEqual(['Succeeded']);
  });

  test('says nothing new where it cannot look', async () => {
    const run = await moved({});
    await run.resync('Plan');
    await setStrategy(run, 'Halted');
    run.away.add('source');
    await run.resync('Plan');
    expect(await said(run)).toEqual(['Succeeded', 'RunsOnBoth Moved']);
  });

  test('looks at nothing for a user who may not use the providers', async () => {
    const run = await moved({});
    run.forbids = ({ verb }) => verb === 'use';
    await run.resync('Plan');
    expect(await said(run)).toEqual(['Succeeded']);
  });

  test('looks no more once it is archived', async () => {
    const run = await moved({});
    await run.patchPlan({ spec: { archived: true } });
    await run.resync('Plan');
    expect(await said(run)).not.toContain('RunsOnBoth Moved');
  });
});

describe('a VM that KubeVirt halts at its next crash', () => {
  const halts = (): Promise<ModelledRun> => moved(BOTH_SIDES, NEXT_CRASH_THERE);

  test('has that on the plan, and on itself, until its VMI has another state', async () => {
    const run = await halts();
    await setStrategy(run, 'Halted');
    await run.resync('Plan');
    expect(await said(run)).toEqual(['Succeeded', 'NextCrashHalts Moved']);
    expect(await annotationOf(run)).toMatch(/^KubeVirt halts the VM on the target at its next crash/);
    const { resourceVersion } = (await onTarget(run)).metadata;
    await run.resync('Plan');
    expect((await onTarget(run)).metadata.resourceVersion).toBe(resourceVersion);
    await setState(run, { sourceState: null, targetState: null, migrationUid: 'local' });
    await run.resync('Plan');
    expect(await said(run)).toEqual(['Succeeded']);
    expect(await saidOfVm(run)).toEqual(['Succeeded']);
    expect(await annotationOf(run)).toBeUndefined();
  });

  test('has nothing written on it that no run of the plan has made', async () => {
    const run = await halts();
    const labels = { 'live.mtq.kubevirt.io/plan': 'another' };
    await run.models.destination.admin.patch(VIRTUAL_MACHINES, AT, { merge: { metadata: { labels } } });
    await run.resync('Plan');
    expect(await annotationOf(run)).toBeUndefined();
  });
});

describe('the event of a Migration that has ended looks at the VMs that its plan has moved', () => {
  async function asks(run: ModelledRun): Promise<boolean> {
    const at = { namespace: 'tenant', name: 'migration' };
    const merge = { status: { started: seconds(0), completed: seconds(0) } };
    await run.hub.patch(PLAN_MIGRATIONS, at, { merge, subresource: 'status' });
    const before = run.requests.length;
    await run.changed('Migration');
    return run.requests.length > before;
  }

  test('not where the run has shown all of them', async () => {
    expect(await asks(await moved({}))).toBe(false);
  });

  test('where something of them is awaited', async () => {
    expect(await asks(await moved(BOTH_SIDES, NEXT_CRASH_THERE))).toBe(true);
  });
});
