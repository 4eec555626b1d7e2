import { describe, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import {
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  SECRETS,
} from '../../../../functions/kubernetes/live-resources.ts';
import { endRefresh } from '../../../../functions/live/plan/refresh.ts';
import { KUBEVIRTS } from '../../../../functions/kubernetes/resources.ts';
import { rawText } from '../../../support/raw-text.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';

const at = (name: string): { namespace: string; name: string } => ({ namespace: 'tenant', name });
const asked = (value = 'now'): { merge: Record<string, unknown> } => ({
  merge: { metadata: { annotations: { [LIVE_ANNOTATION.refresh]: value } } },
});
const valueOf = ({ metadata }: KubernetesObject): string | undefined =>
  metadata.annotations?.[LIVE_ANNOTATION.refresh];

const gates = (run: ModelledRun, ...featureGates: string[]): Promise<unknown> =>
  run.models.destination.admin.patch(
    KUBEVIRTS,
    { namespace: 'vms', name: 'kubevirt' },
    { merge: { spec: { configuration: { developerConfiguration: { featureGates } } } } },
  );

describe('an annotation has live look again', () => {
  test('at a plan, after a change in another cluster, and goes', async () => {
    const run = await ModelledRun.prepareReady();
    await run.hub.delete(PLAN_MIGRATIONS, at('migration'));
    await gates(run);
    await run.resync('Plan');
    const shown = async (): Promise<string[]> => {
      await run.changed('Plan');
      return conditionsOf((await run.plan()).status);
    };
    expect(await shown()).toEqual(['MigrationTypeNotValid NotSupported']);
    await gates(run, 'DecentralizedLiveMigration');
    expect(await shown()).toEqual(['MigrationTypeNotValid NotSupported']);
    await run.hub.patch(PLANS, at('plan'), asked());
    expect(await shown()).toEqual(['Ready']);
    expect(valueOf(await run.plan())).toBeUndefined();
    const before = run.requests.length;
    await shown();
    expect(run.requests.slice(before)).toEqual([]);
  });

  test('at a Provider whose token was renewed, and at its plans and their Migrations', async () => {
    const run = await ModelledRun.prepareReady();
    run.tokens.source = 'renewed';
    await run.resync();
    expect(conditionsOf((await run.plan()).status)).toEqual(['SourceProviderNotReady']);
    await run.renewToken('source', 'renewed');
    await run.changed('Provider', 'source');
    expect(conditionsOf((await run.plan()).status)).toEqual(['SourceProviderNotReady']);
    await run.hub.patch(PROVIDERS, at('source'), asked());
    await run.changed('Provider', 'source');
    expect(conditionsOf((await run.plan()).status)).toContain('Ready');
    expect(await run.isRecorded()).toBe(true);
    expect(valueOf(await run.provider('source'))).toBeUndefined();
  });

  test('at a plan that runs: its run uses the renewed token', async () => {
    const run = await ModelledRun.start();
    run.tokens.source = 'renewed';
    await run.resync();
    await run.renewToken('source', 'renewed');
    await run.hub.patch(PLANS, at('plan'), asked());
    await run.changed('Plan');
    const [vm] = (await run.migration()).status?.vms ?? [];
    expect(vm?.phase).toBe('CreateEmptyDataVolumes');
    expect(valueOf(await run.plan())).toBeUndefined();
  });
});

test('a look ends the request that was there before it, and no later one', async () => {
  const run = await ModelledRun.prepare();
  await run.hub.patch(PLANS, at('plan'), asked('first'));
  const before = await run.plan();
  await run.hub.patch(PLANS, at('plan'), asked('second'));
  await endRefresh(run.hub, PLANS, before);
  expect(valueOf(await run.plan())).toBe('second');
  await endRefresh(run.hub, PLANS, await run.plan());
  expect(valueOf(await run.plan())).toBeUndefined();
  await run.hub.delete(PLANS, at('plan'));
  await endRefresh(run.hub, PLANS, before);
});

describe('a run that a cluster does not let in says what to do', () => {
  const GIVE_UP = LIVE_ANNOTATION.breakGlass;
  const messageAfter = async (run: ModelledRun): Promise<string> => {
    await run.resync();
    const [vm] = (await run.migration()).status?.vms ?? [];
    return rawText(vm?.conditions?.find(({ reason }) => reason === 'ClusterUnknown')?.message);
  };
  const withSecret = (run: ModelledRun, data: Record<string, string | null>): Promise<unknown> =>
    run.hub.patch(SECRETS, at('source'), { merge: { data } });

  test.each<[string, (run: ModelledRun) => unknown, string]>([
    [
      'where the source refuses the token',
      (run) => (run.tokens.source = 'renewed'),
      'the source refuses the token: renew the token in Secret tenant/source',
    ],
    [
      'where the target refuses the token',
      (run) => (run.tokens.destination = 'renewed'),
      'the target refuses the token: renew the token in Secret tenant/destination',
    ],
    [
      'where the Secret has no token',
      (run) => withSecret(run, { token: null }),
      'Provider tenant/source: The `secret` is not valid. Add the key token to the Secret.',
    ],
    [
      'where the Secret has another URL',
      (run) => withSecret(run, { url: Buffer.from('https://other.example.com').toString('base64') }),
      'Add the key url to the Secret, with the URL of the provider.',
    ],
  ])('%s', async (_where, act, wanted) => {
    const run = await ModelledRun.start();
    await act(run);
    const message = await messageAfter(run);
    expect(message).toContain(wanted);
    expect(message).not.toContain(GIVE_UP);
  });

  test.each<[string, (run: ModelledRun) => unknown]>([
    ['where it does not answer', (run) => run.away.add('source')],
    [
      'where the Secret is gone',
      (run) =>
        run.hub
          .patch(SECRETS, at('source'), { merge: { metadata: { finalizers: null } } })
          .then(() => run.hub.delete(SECRETS, at('source'))),
    ],
  ])('%s, and how to give the run up', async (_where, act) => {
    const run = await ModelledRun.start();
    await act(run);
    expect(await messageAfter(run)).toContain(GIVE_UP);
  });
});
