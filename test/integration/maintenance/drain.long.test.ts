import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KUBEVIRT } from '../../../functions/domain/names.ts';
import { MAINTENANCE_EVENT } from '../../../functions/domain/progress/names.ts';
import { NODES, PROGRESSES } from '../../../functions/kubernetes/resources.ts';
import {
  hasState,
  isDelivered,
  REFUSED,
  startMaintenanceScene,
  type MaintenanceScene,
} from '../../support/maintenance/maintenance-scene.ts';

let scene: MaintenanceScene;

beforeAll(async () => {
  scene = await startMaintenanceScene();
});

afterAll(async () => {
  await scene.stop();
});

test('a drain fails when its node is gone; a node with the drain taint is drained too', async () => {
  await scene.node('gone', { taints: [{ key: KUBEVIRT.drainTaint, effect: 'NoSchedule' }] });
  await scene.vm('gone', 'vm0');
  await scene.evacuate('gone', 'vm0');
  await scene.untilDrain('gone', hasState('Running'));
  await scene.setMigration('gone', 'evacuates-vm0', REFUSED);
  await scene.untilDrain('gone', hasState('Blocked'));
  await scene.admin.delete(NODES, { name: 'gone' });
  const failed = await scene.untilDrain('gone', hasState('Failed'));
  expect(failed.status).toMatchObject({
    reason: 'NodeGone',
    message: expect.stringContaining('1 of 1 VM were left on it, such as gone/vm0 ('),
    buckets: [{ name: 'blocked', count: 1, vms: [{ namespace: 'gone', name: 'vm0' }] }],
  });
  expect(await scene.typesUntil(failed.metadata.name, 'failed')).toEqual(['started', 'blocked', 'failed']);
  // virt-controller fails the VMI, and then its migration.
  await scene.patchVm('gone', 'vm0', { status: { phase: 'Failed' } });
  await scene.untilDrain('gone', (found) => found?.status?.buckets.length === 0);
});

/** The VM's evacuation ends, as virt-controller and virt-handler write it. */
async function leave(node: string, vm: string): Promise<void> {
  const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  await scene.patchVm(node, vm, {
    metadata: { labels: { [KUBEVIRT.nodeName]: 'elsewhere' } },
    status: { nodeName: 'elsewhere', evacuationNodeName: null },
  });
  await scene.setMigration(node, `evacuates-${vm}`, {
    phase: 'Succeeded',
    phaseTransitionTimestamps: [{ phase: 'Succeeded', phaseTransitionTimestamp: at }],
    migrationState: { sourceNode: node },
  });
}

/** These VMs of the node are evacuated, and some have left. */
async function drainUnseen(node: string, vms: readonly string[], gone: readonly string[]): Promise<void> {
  await scene.node(node, { unschedulable: true });
  for (const vm of vms) {
    await scene.vm(node, vm, { evacuationNodeName: node });
    await scene.evacuate(node, vm);
  }
  for (const vm of gone) await leave(node, vm);
}

test('VMs that leave before the first look are counted, also where none is left by then', async () => {
  const { cluster, admin } = scene.environment;
  const vms = ['vm0', 'vm1', 'vm2', 'vm3', 'vm4', 'vm5'];
  await cluster.killGuard();
  await drainUnseen('partly', vms, vms.slice(1));
  await drainUnseen('wholly', vms, vms);
  await cluster.startGuard();
  const partly = await scene.untilDrain('partly', hasState('Running'));
  expect(partly.status?.progress).toBe('5/6');
  const wholly = await scene.untilDrain('wholly', hasState('Completed'));
  expect(wholly.status?.progress).toBe('6/6');
  await leave('partly', 'vm0');
  const ended = await scene.untilDrain('partly', hasState('Completed'));
  expect(ended.status?.progress).toBe('6/6');
  // The guard has looked again when it posts about a node that came after them: they open no other drain.
  await scene.node('after', { unschedulable: true });
  await scene.vm('after', 'vm0', { evacuationNodeName: 'after' });
  await scene.untilDrain('after', hasState('Running'));
  const { items } = await admin.list(PROGRESSES, {});
  expect(items.map(({ spec }) => spec.node?.name ?? '').filter((node) => /ly$/.test(node))).toHaveLength(2);
});

test('a node that reboots: its VMs are gone with it; one that registers again is another node', async () => {
  await scene.node('reboots', { unschedulable: true });
  await scene.vm('reboots', 'vm0');
  await scene.vm('reboots', 'vm1');
  await scene.evacuate('reboots', 'vm0');
  await scene.setMigration('reboots', 'evacuates-vm0', REFUSED);
  const { metadata: first } = await scene.untilDrain('reboots', hasState('Blocked'));
  // virt-controller finds the node dead, and fails its VMIs.
  for (const vm of ['vm0', 'vm1']) await scene.patchVm('reboots', vm, { status: { phase: 'Failed' } });
  await scene.setMigration('reboots', 'evacuates-vm0', { phase: 'Failed' });
  await scene.untilDrain('reboots', hasState('Completed'));
  // The VMIs fail one after the other, and a look in between counts the first one.
  const types = await scene.typesUntil(first.name, 'completed');
  expect(types.filter((type) => !['unblocked', 'progressed'].includes(type))).toEqual([
    'started',
    'blocked',
    'completed',
  ]);

  await scene.vm('reboots', 'vm2', { evacuationNodeName: 'reboots' });
  const { metadata: second } = await scene.untilDrain('reboots', hasState('Running'));
  await scene.admin.delete(NODES, { name: 'reboots' });
  await scene.node('reboots', { unschedulable: true });
  // Its VM is still marked, and the node of that name is cordoned: a drain of another node.
  const { metadata: third, spec } = await scene.untilDrain(
    'reboots',
    (found) => hasState('Running')(found) && found?.metadata.uid !== second.uid,
  );
  expect(await scene.typesUntil(second.name, 'failed')).toEqual(['started', 'failed']);
  expect([first, second, third].map(({ name }) => name.slice(-2))).toEqual(['-1', '-2', '-3']);
  expect(spec.node?.uid).toBe((await scene.admin.get(NODES, { name: 'reboots' })).object.metadata.uid);
});

test('two nodes at once: a VM that moves from one to the other is left on that one', async () => {
  for (const node of ['left', 'right']) {
    await scene.node(node, { unschedulable: true });
    await scene.vm(node, 'vm0');
    await scene.evacuate(node, 'vm0');
  }
  await scene.untilDrain('left', hasState('Running'));
  await scene.untilDrain('right', hasState('Running'));
  await scene.setMigration('left', 'evacuates-vm0', { phase: 'Succeeded' });
  await scene.patchVm('left', 'vm0', {
    metadata: { labels: { [KUBEVIRT.nodeName]: 'right' } },
    status: { nodeName: 'right' },
  });
  const left = await scene.untilDrain('left', hasState('Completed'));
  await scene.untilDrain('right', (found) => found?.status?.progress === '0/2');
  await scene.patchVm('right', 'vm0', { status: { phase: 'Succeeded' } });
  await scene.untilDrain('right', (found) => found?.status?.progress === '1/2');
  await scene.patchVm('left', 'vm0', { status: { phase: 'Succeeded' } });
  const right = await scene.untilDrain('right', hasState('Completed'));
  expect([left, right].map(({ status }) => status?.progress)).toEqual(['1/1', '2/2']);
  // A look before the guard has listed which VMs migrate to the node says that it progressed.
  const types = await scene.typesUntil(left.metadata.name, 'completed');
  expect([
    ['started', 'completed'],
    ['started', 'progressed', 'completed'],
  ]).toContainEqual(types);
  expect(await scene.typesUntil(right.metadata.name, 'completed')).toEqual([
    'started',
    'progressed',
    'completed',
  ]);
});

test('a drain is not completed while a VM migrates to its node', async () => {
  const target = { metadata: { labels: { [KUBEVIRT.migrationTarget]: 'arrived-at' } } };
  await scene.node('arrived-at', { unschedulable: true });
  await scene.vm('arrived-at', 'vm0', { evacuationNodeName: 'arrived-at' });
  await scene.vm('elsewhere', 'vm1');
  await scene.evacuate('elsewhere', 'vm1');
  await scene.setMigration('elsewhere', 'evacuates-vm1', { phase: 'Running' });
  await scene.patchVm('elsewhere', 'vm1', target);
  const { metadata } = await scene.untilDrain('arrived-at', hasState('Running'));
  await scene.patchVm('arrived-at', 'vm0', { status: { phase: 'Succeeded' } });
  const awaiting = await scene.untilDrain(
    'arrived-at',
    (found) => found?.status?.message === 'VMs that have left the node: 1 of 1; migrating to it: 1',
  );
  expect(awaiting.status?.state).toBe('Running');
  await scene.patchVm('elsewhere', 'vm1', {
    metadata: { labels: { [KUBEVIRT.nodeName]: 'arrived-at', [KUBEVIRT.migrationTarget]: null } },
    status: { nodeName: 'arrived-at' },
  });
  await scene.setMigration('elsewhere', 'evacuates-vm1', { phase: 'Succeeded' });
  await scene.untilDrain('arrived-at', (found) => found?.status?.progress === '1/2');
  await scene.patchVm('elsewhere', 'vm1', { status: { phase: 'Succeeded' } });
  await scene.untilDrain('arrived-at', hasState('Completed'));
  expect(await scene.typesUntil(metadata.name, 'completed')).toEqual([
    ...['started', 'progressed', 'completed'],
  ]);
});

test('a drain of VMs that cannot be migrated leaves no mark; the drain taint on the cordoned node shows it', async () => {
  await scene.node('fixed', { unschedulable: true });
  const conditions = [{ type: 'LiveMigratable', status: 'False', reason: 'HostDeviceNotLiveMigratable' }];
  await scene.vm('fixed', 'vm0', { conditions });
  await scene.setNode('fixed', {
    taints: [{ key: KUBEVIRT.drainTaint, effect: 'NoSchedule' }],
  });
  const { metadata, status } = await scene.untilDrain('fixed', hasState('Blocked'));
  expect(status).toMatchObject({
    reason: 'NotMigratable',
    buckets: [{ name: 'notMigratable', vms: [{ name: 'vm0', reason: 'HostDeviceNotLiveMigratable' }] }],
  });
  expect(await scene.typesUntil(metadata.name, 'blocked')).toEqual(['started', 'blocked']);
});

test('what a stopped `progress` left in an outbox is posted with its id', async () => {
  const node = { name: 'left', uid: 'uid-of-left' };
  const metadata = { name: 'drain-00000000-1' };
  const { object } = await scene.admin.create(PROGRESSES, {
    metadata,
    spec: { kind: 'Drain', subject: node.name, node },
  });
  const at = '2026-11-21T05:00:00Z';
  const { uid, name } = object.metadata;
  const counts = { total: 1, done: 1, left: 0, blocked: 0 };
  const data = {
    name,
    uid,
    kind: 'Drain' as const,
    subject: 'left',
    reason: 'Drained',
    message: 'm',
    ...counts,
  };
  const outbox = [
    {
      id: `${uid}-1`,
      type: MAINTENANCE_EVENT.drainCompleted,
      sequence: 1,
      time: at,
      data: { ...data, buckets: {} },
    },
  ];
  const status = { state: 'Completed', reason: 'Drained', message: 'm', progress: '1/1', ...counts } as const;
  const times = { startedAt: at, endedAt: at, reported: { done: 1, at } };
  const left = { ...object, status: { ...status, ...times, buckets: [], counted: '', sequence: 1, outbox } };
  await scene.admin.replace(PROGRESSES, left, { subresource: 'status' });
  expect(await scene.typesUntil(name, 'completed')).toEqual(['completed']);
  expect(scene.eventsOf(name)[0]?.id).toBe(`${uid}-1`);
  await scene.untilDrain('left', isDelivered);
});
