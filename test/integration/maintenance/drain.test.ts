import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KUBEVIRT } from '../../../functions/domain/names.ts';
import { type MaintenanceProgress } from '../../../functions/domain/progress/progress-object.ts';
import { EVENTS, NODES, PROGRESSES } from '../../../functions/kubernetes/resources.ts';
import { askUntil } from '../../support/eventually.ts';
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

const mark = (node: string): object => ({ status: { evacuationNodeName: node } });

test('a drain: cordoned alone is none; then started, blocked, unblocked, progressed and completed', async () => {
  await scene.node('whole', { unschedulable: true });
  await scene.vm('whole', 'vm0');
  await scene.vm('whole', 'vm1');
  // The marked VM is the first thing that anyone posts about.
  await scene.evacuate('whole', 'vm0');
  await scene.patchVm('whole', 'vm1', mark('whole'));
  const begun = await scene.untilDrain('whole', hasState('Running'));
  expect(begun).toMatchObject({
    metadata: { name: expect.stringMatching(/^drain-[0-9a-f]{8}-1$/) },
    status: { progress: '0/2' },
  });
  const { name } = begun.metadata;

  await scene.setMigration('whole', 'evacuates-vm0', REFUSED);
  await scene.untilDrain('whole', hasState('Blocked'));
  await scene.untilDrain('whole', isDelivered);
  const { items: events } = await scene.admin.list(EVENTS, { namespace: 'default' });
  expect(events.filter(({ reason }) => reason === 'DrainBlocked')).toMatchObject([
    {
      involvedObject: { kind: 'Node', name: 'whole' },
      message: expect.stringContaining(`Follow it: kubectl vmmrq progress ${name}`),
    },
  ]);

  await scene.setMigration('whole', 'evacuates-vm0', { phase: 'Running', conditions: null });
  await scene.untilDrain('whole', hasState('Running'));
  await scene.setMigration('whole', 'evacuates-vm0', { phase: 'Succeeded' });
  await scene.patchVm('whole', 'vm0', {
    metadata: { labels: { [KUBEVIRT.nodeName]: 'elsewhere' } },
    status: { nodeName: 'elsewhere' },
  });
  await scene.untilDrain('whole', (found) => found?.status?.progress === '1/2');
  await scene.patchVm('whole', 'vm1', { status: { phase: 'Succeeded' } });
  await scene.untilDrain('whole', hasState('Completed'));
  expect(await scene.typesUntil(name, 'completed')).toEqual([
    ...['started', 'blocked', 'unblocked', 'progressed', 'completed'],
  ]);
  await scene.untilDrain('whole', isDelivered);
});

test('a drain is canceled when its node takes pods again, and lists what still migrates', async () => {
  await scene.node('canceled', { unschedulable: true });
  await scene.vm('canceled', 'vm0');
  await scene.evacuate('canceled', 'vm0');
  await scene.setMigration('canceled', 'evacuates-vm0', { phase: 'Running' });
  await scene.untilDrain('canceled', hasState('Running'));
  await scene.setNode('canceled', { unschedulable: null } as never);
  const canceled = await scene.untilDrain('canceled', hasState('Canceled'));
  expect(canceled.status?.buckets).toMatchObject([{ name: 'running', count: 1 }]);
  await scene.setMigration('canceled', 'evacuates-vm0', { phase: 'Succeeded' });
  await scene.untilDrain('canceled', (found) => found?.status?.buckets.length === 0);
  expect(await scene.typesUntil(canceled.metadata.name, 'canceled')).toEqual(['started', 'canceled']);
});

test('heartbeats, and a VM that a tenant evicts from a node that takes pods, trigger nothing', async () => {
  await scene.node('beating');
  await scene.node('cordoned', { unschedulable: true });
  await scene.vm('beating', 'vm0');
  await scene.vm('cordoned', 'vm0');
  await scene.evacuate('beating', 'vm0');
  for (let beat = 0; beat < 20; beat += 1) {
    const merge = { metadata: { annotations: { beat: String(beat) } } };
    for (const name of ['beating', 'cordoned']) await scene.admin.patch(NODES, { name }, { merge });
  }
  // The guard has looked at both when it posts about a node that came after them.
  await scene.node('after', { unschedulable: true });
  await scene.vm('after', 'vm0');
  await scene.evacuate('after', 'vm0');
  await scene.untilDrain('after', hasState('Running'));
  expect(scene.posts().filter((subject) => /beating|cordoned/.test(subject))).toEqual([]);
});

test('of final objects ten stay; an older one is deleted with the next drain', async () => {
  const at = (hour: number): string => `2026-11-20T${String(hour).padStart(2, '0')}:00:00Z`;
  const spec = { kind: 'Drain' as const, subject: 'old', node: { name: 'old', uid: 'uid-of-old' } };
  const counts = { total: 1, done: 1, left: 0, blocked: 0 };
  for (let hour = 0; hour < 11; hour += 1) {
    const metadata = { name: `drain-11111111-${String(hour + 1)}` };
    const { object } = await scene.admin.create(PROGRESSES, { metadata, spec });
    const ended = {
      state: 'Completed',
      reason: 'Drained',
      message: 'm',
      progress: '1/1',
      ...counts,
    } as const;
    const times = { startedAt: at(hour), endedAt: at(hour), reported: { done: 1, at: at(hour) } };
    const status = { ...ended, ...times, buckets: [], counted: '', sequence: 1, outbox: [] };
    await scene.admin.replace(PROGRESSES, { ...object, status }, { subresource: 'status' });
  }
  await scene.node('next', { unschedulable: true });
  await scene.vm('next', 'vm0');
  await scene.evacuate('next', 'vm0');
  const finals = async (): Promise<string[]> => {
    const { items } = await scene.admin.list(PROGRESSES, {});
    return items.filter(({ status }) => status?.endedAt !== undefined).map(({ metadata }) => metadata.name);
  };
  const left = await askUntil('ten are left', finals, (names) => names.length === 10);
  expect(left).toContain('drain-11111111-11');
  expect(left).not.toContain('drain-11111111-1');
});

test('the spec of an object is immutable', async () => {
  const [object] = (await scene.admin.list(PROGRESSES, {})).items as [MaintenanceProgress];
  const changed = { ...object, spec: { ...object.spec, subject: 'other' } };
  await expect(scene.admin.replace(PROGRESSES, changed)).rejects.toThrow('is immutable');
});
