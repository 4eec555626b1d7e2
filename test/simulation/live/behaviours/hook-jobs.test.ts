import { describe, expect, test } from '@jest/globals';
import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import { hookName, runLabels, type RunId } from '../../../../functions/live/run/names.ts';
import type { Job } from '../../../../functions/domain/live/kubevirt.ts';
import {
  CONFIG_MAPS,
  HOOKS,
  JOBS,
  PLANS,
  VIRTUAL_MACHINES,
} from '../../../../functions/kubernetes/live-resources.ts';
import { aHook, TOM } from '../../../support/builders/live.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';

/** Its PreHook has been started. */
async function withPreHook(): Promise<ModelledRun> {
  const run = await aboutToHook();
  await run.resync();
  expect(await suspended(run)).toEqual([false]);
  return run;
}

/** `requester`: who wrote the hook, as stored. */
async function aboutToHook(requester = TOM): Promise<ModelledRun> {
  const run = await ModelledRun.start();
  const annotations = { [LIVE_ANNOTATION.requester]: requester };
  const metadata = { namespace: 'tenant', name: 'hook', annotations };
  await run.hub.create(HOOKS, { metadata, spec: aHook().spec });
  const hooks = [{ step: 'PreHook', hook: { namespace: 'tenant', name: 'hook' } }];
  await run.patchPlan({ spec: { vms: [{ name: 'web', namespace: 'vms', hooks }] } });
  return run;
}

describe('a hook whose requester', () => {
  const mallory = JSON.stringify({ user: 'mallory', groups: [] });

  test.each([
    ['may make no pod', mallory, /Hook tenant\/hook: User "mallory" cannot create pods in namespace tenant/],
    ['is not known', '', /Hook tenant\/hook: The guard has not recorded the user who wrote this object/],
  ])('%s is not run, and the Migration says why', async (_what, requester, message) => {
    const run = await aboutToHook(requester);
    run.forbids = ({ resource }, user) => user === 'mallory' && resource === 'pods';
    await run.resync();
    expect(await jobsOf(run)).toEqual([]);
    expect(JSON.stringify((await run.migration()).status).replaceAll('\\"', '"')).toMatch(message);
  });
});

const jobsOf = async (run: ModelledRun): Promise<readonly Job[]> => (await run.hub.list(JOBS, {})).items;

const suspended = async (run: ModelledRun): Promise<(boolean | undefined)[]> =>
  (await jobsOf(run)).map(({ spec }) => spec?.suspend);

test.each<[string, string, (run: ModelledRun) => Promise<unknown>]>([
  ['is canceled', 'Canceled', (run) => run.patchMigration({ spec: { cancel: [{ name: 'web' }] } })],
  [
    'has a plan that is being deleted',
    'Canceled',
    (run) => run.hub.delete(PLANS, { namespace: 'tenant', name: 'plan' }),
  ],
  [
    'loses its VM',
    'Failed',
    (run) => run.models.source.admin.delete(VIRTUAL_MACHINES, { namespace: 'vms', name: 'web' }),
  ],
  // The deadline of the hook, and five minutes.
  [
    'has waited too long for it',
    'Failed',
    (run) => {
      run.wait(601);
      return Promise.resolve();
    },
  ],
])('a run that %s leaves no Job of a hook running', async (_what, end, act) => {
  const run = await withPreHook();
  await act(run);
  await run.resync();
  expect(conditionsOf((await run.migration()).status).map((one) => one.split(' ')[0])).toContain(end);
  expect(await run.held()).toEqual([]);
  expect(await suspended(run)).toEqual([true]);
});

test('a Job that has ended stays as it is', async () => {
  const run = await withPreHook();
  const [job] = await jobsOf(run);
  const { name = '', namespace = '' } = job?.metadata ?? {};
  const conditions = [{ type: 'Failed', status: 'True', message: 'it has failed' }];
  await run.hub.patch(
    JOBS,
    { namespace, name },
    { merge: { status: { conditions } }, subresource: 'status' },
  );
  await run.resync();
  expect(conditionsOf((await run.migration()).status)).toContain('Failed');
  expect(await suspended(run)).toEqual([false]);
});

describe('a ConfigMap of the hook’s name that somebody has made before', () => {
  /** By a user who may create ConfigMaps, and knows the uids. One who may delete them can still replace it just before the pod starts. */
  async function withForeign(labels: (of: RunId) => Record<string, string>): Promise<ModelledRun> {
    const run = await aboutToHook();
    const [{ metadata: migration }, { metadata: plan }] = [await run.migration(), await run.plan()];
    const of = { plan: plan.uid, migration: migration.uid, vm: (await run.vm())?.metadata.uid ?? '' };
    const metadata = { namespace: 'tenant', name: hookName(of, 'PreHook'), labels: labels(of) };
    await run.hub.create(CONFIG_MAPS, { metadata, ...EVIL });
    await run.resync();
    return run;
  }

  test('keeps the hook from running', async () => {
    const run = await withForeign(() => ({}));
    expect(conditionsOf((await run.migration()).status?.vms?.[0])).toEqual(['Failed HookFailed']);
    expect(await suspended(run)).toEqual([true]);
  });

  test('is replaced by the run’s own, where it has the labels', async () => {
    const run = await withForeign(runLabels);
    const { items } = await run.hub.list(CONFIG_MAPS, {});
    expect(items).toMatchObject([{ immutable: true, binaryData: { 'playbook.yml': aHook().spec.playbook } }]);
    expect(await suspended(run)).toEqual([false]);
  });
});

const EVIL = { binaryData: { 'playbook.yml': 'LSBldmlsCg==' } };
