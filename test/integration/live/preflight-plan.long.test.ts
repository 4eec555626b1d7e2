import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTwoKubeVirts, type TwoKubeVirts } from '../../support/kubevirt/two-kubevirts.ts';
import {
  Crossing,
  installForkliftKinds,
  installLiveAccount,
  prepareMember,
} from '../../support/live/crossing.ts';
import { runWith, type RunPlugin } from '../../support/plugin.ts';

let clusters: TwoKubeVirts;
let kubeconfig: string;
let plugin: RunPlugin;

beforeAll(async () => {
  clusters = await startTwoKubeVirts({ runMs: 100 });
  const { source, target } = clusters.members;
  await prepareMember(source.admin, 'fast');
  await prepareMember(target.admin, 'gold');
  await installForkliftKinds(source.admin);
  kubeconfig = await installLiveAccount(source);
  plugin = runWith(source.controlPlane.adminKubeconfig);
});

afterAll(async () => {
  await clusters.stop();
});

test('preflight plan says what stops a plan, that nobody has looked since, and that it would start', async () => {
  await clusters.within('preflight', async (pair) => {
    const { members } = clusters;
    const namespace = 'plans-preflight';
    const crossing = new Crossing({ hub: members.source, kubeconfig, members, pair, namespace });
    const preflight = (): ReturnType<RunPlugin> => plugin('preflight', 'plan', 'move', '-n', namespace);
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }, { name: 'gone' }]);
    expect(await preflight()).toMatchObject({ code: 2 });

    await crossing.sweep('Plan');
    const stopped = await preflight();
    expect(stopped.code).toBe(1);
    expect(stopped.stdout).toMatch(/stops +VMNotFound .*gone/);
    expect(stopped.stdout).toContain('no Migration of it starts');

    await crossing.patchPlan({ spec: { vms: [{ name: 'web', namespace: pair.source.namespace }] } });
    const unknown = await preflight();
    expect([unknown.code, unknown.stdout + unknown.stderr]).toEqual([
      2,
      expect.stringContaining('has not been looked at yet'),
    ]);

    await crossing.sweep('Plan');
    const ready = await preflight();
    expect([ready.code, ready.stdout]).toEqual([0, expect.stringContaining('a Migration of it would start')]);
  });
});
