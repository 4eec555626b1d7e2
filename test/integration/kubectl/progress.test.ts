import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KUBEVIRT } from '../../../functions/domain/names.ts';
import { PROGRESSES } from '../../../functions/kubernetes/resources.ts';
import {
  hasState,
  startMaintenanceScene,
  type MaintenanceScene,
} from '../../support/maintenance/maintenance-scene.ts';
import {
  expectRightsMissing,
  kubeconfigOfViewer,
  runWith,
  startPlugin,
  type RunPlugin,
} from '../../support/environment/plugin.ts';

let scene: MaintenanceScene;
let kubeconfig: string;
let plugin: RunPlugin;

beforeAll(async () => {
  scene = await startMaintenanceScene();
  kubeconfig = await kubeconfigOfViewer(scene.environment);
  plugin = runWith(kubeconfig);
});

afterAll(async () => {
  await scene.stop();
});

/** A node with one VM, whose drain has begun. */
async function begunOn(node: string): Promise<string> {
  await scene.node(node, { unschedulable: true });
  await scene.vm(node, 'vm0');
  await scene.evacuate(node, 'vm0');
  return (await scene.untilDrain(node, hasState('Running'))).metadata.name;
}

test('says when nothing is under way', async () => {
  expect(await plugin('progress')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: no drain or upgrade is under way\n',
  });
});

test('without the rights lists them, and exits with 2', async () => {
  const rights = ['list maintenanceprogresses.mtq.kubevirt.io'];
  await expectRightsMissing(scene.environment, ['progress'], rights);
});

test('follows two drains with one line for each change, until both have completed', async () => {
  const nodes = ['both-one', 'both-other'];
  const names = await Promise.all(nodes.map(begunOn));
  const running = startPlugin(kubeconfig, 'progress');
  const { lines } = running;
  await lines.until('both are shown', () => lines.items.length >= 2);
  const refused = [{ type: KUBEVIRT.rejectedByQuota, status: 'True' }];
  await scene.setMigration('both-one', 'evacuates-vm0', { phase: 'Pending', conditions: refused });
  await lines.until('one is blocked', () =>
    lines.items.some((line) => line.startsWith(`${names[0] ?? ''} Blocked 0/1: `)),
  );
  for (const node of nodes) await scene.patchVm(node, 'vm0', { status: { phase: 'Succeeded' } });
  expect(await running.ended).toBe(0);
  for (const name of names) {
    const own = lines.items.filter((line) => line.startsWith(`${name} `));
    expect(own.at(-1)).toContain(`${name} Completed 1/1: `);
    expect(new Set(own).size).toBe(own.length);
  }
  expect((await plugin('progress', names[0] ?? '')).code).toBe(0);
});

test('says at once that it waits, and shows the last drain of the node', async () => {
  const running = startPlugin(kubeconfig, 'progress', 'both-one');
  const { lines } = running;
  await lines.until('both are said', () => lines.items.length >= 2);
  await running.stop();
  expect(lines.items).toEqual([
    'waiting up to 60 s for a drain or an upgrade of both-one to begin; Ctrl-C stops',
    expect.stringMatching(
      /^the last one ended \S+: drain-\S+ Completed 1\/1: every VM with an eviction strategy has left/,
    ),
  ]);
});

test('waits for a drain that begins, and exits with 1 when it is canceled', async () => {
  const running = startPlugin(kubeconfig, 'progress', 'canceled');
  await begunOn('canceled');
  await running.lines.until('it is shown', () => running.lines.items.length > 0);
  await scene.setNode('canceled', { unschedulable: null } as never);
  expect(await running.ended).toBe(1);
  expect(running.lines.items.at(-1)).toMatch(/ Canceled 0\/1: node canceled takes pods again/);
});

test('exits with 2 when the object is deleted', async () => {
  const name = await begunOn('deleted');
  const running = startPlugin(kubeconfig, 'progress', name);
  await running.lines.until('it is shown', () => running.lines.items.length > 0);
  await scene.admin.delete(PROGRESSES, { name });
  expect(await running.ended).toBe(2);
  expect(running.lines.items.at(-1)).toBe(`error: ${name} was deleted`);
});
