import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FULL_NODES } from '../../cluster/kubevirt/objects/node-objects.ts';
import { FULL_VMIS } from '../../cluster/kubevirt/objects/objects.ts';
import { reportAddresses } from '../../cluster/kubevirt/operator.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { runWith, startPlugin, type RunPlugin } from '../../support/environment/plugin.ts';

let crossings: Crossings;
let kubeconfig: string;
let plugin: RunPlugin;

beforeAll(async () => {
  crossings = await startCrossings();
  kubeconfig = crossings.clusters.members.source.controlPlane.adminKubeconfig;
  plugin = runWith(kubeconfig);
});

afterAll(async () => {
  await crossings.stop();
});

test('preflight plan says what stops a plan, that nobody has looked since, and that it would start', async () => {
  await crossings.within('preflight', async (crossing) => {
    const preflight = (): ReturnType<RunPlugin> =>
      plugin('preflight', 'plan', 'move', '-n', 'plans-preflight');
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }, { name: 'gone' }]);
    expect(await preflight()).toMatchObject({ code: 2 });

    await crossing.resync('Plan');
    const stopped = await preflight();
    expect(stopped.code).toBe(1);
    expect(stopped.stdout).toMatch(/stops +VMNotFound .*gone/);
    expect(stopped.stdout).toContain('no Migration of it starts');

    await crossing.patchPlan({
      spec: { vms: [{ name: 'web', namespace: crossing.side('source').namespace }] },
    });
    const unknown = await preflight();
    expect([unknown.code, unknown.stdout + unknown.stderr]).toEqual([
      2,
      expect.stringContaining('has not been looked at yet'),
    ]);

    await crossing.resync('Plan');
    const ready = await preflight();
    expect([ready.code, ready.stdout]).toEqual([0, expect.stringContaining('a Migration of it would start')]);

    const { members } = crossings.clusters;
    await reportAddresses(members.target.admin, []);
    await crossing.resync('Plan');
    const unheard = await preflight();
    expect([unheard.code, unheard.stdout]).toEqual([1, expect.stringMatching(/holds +NoAddress +target/)]);
    await reportAddresses(members.target.admin, [crossing.side('target').address]);

    await crossing.limitTarget({ 'requests.memory': '600Mi', 'requests.storage': '1Ti' });
    await crossing.resync('Plan');
    const held = await preflight();
    expect(held.code).toBe(1);
    expect(held.stdout).toMatch(/holds +OverQuota .*web: ResourceQuota quota lacks requests\.memory=\d+/);
    expect(held.stdout).toContain('the VMs that are held would not move');
  });
});

test('progress plan follows the Migration of a plan until it ends', async () => {
  await crossings.within('followed', async (crossing) => {
    const asked = ['progress', 'plan', 'move', '-n', 'plans-followed'];
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    expect(await plugin(...asked)).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: the plan move has no Migration in namespace plans-followed\n',
    });
    await crossing.createMigrationAs();
    const { lines, ended } = startPlugin(kubeconfig, ...asked);
    await lines.until('it is shown', () => lines.items.length > 0);
    expect(lines.items[0]).toBe('move-1 Waiting 0%: it has not begun');
    await crossing.untilEnded();
    expect(await ended).toBe(0);
    expect(lines.items.at(-1)).toMatch(/^move-1 Succeeded 100%: 1 of 1 VMs moved/);
  });
});

test('preflight plan names a VM whose CPU no node of the target has', async () => {
  await crossings.within('cpu', async (crossing) => {
    const preflight = async (): ReturnType<RunPlugin> => {
      await crossing.resync('Plan');
      return plugin('preflight', 'plan', 'move', '-n', 'plans-cpu');
    };
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    const source = crossing.side('source');
    const { object: vmi } = await source.admin.get(FULL_VMIS, { namespace: source.namespace, name: 'web' });
    const labels = { 'cpu-vendor.node.kubevirt.io/AMD': 'true' };
    await source.admin.create(FULL_NODES, { metadata: { name: vmi.status?.nodeName ?? '', labels } });
    const held = await preflight();
    expect([held.code, held.stdout]).toEqual([
      1,
      expect.stringMatching(/holds +CPUDiffers .*web: no node there has cpu-vendor\.node\.kubevirt\.io\/AMD/),
    ]);
    await crossing.side('target').admin.create(FULL_NODES, { metadata: { name: 'target-node1', labels } });
    expect(await preflight()).toMatchObject({ code: 0 });
  });
});
