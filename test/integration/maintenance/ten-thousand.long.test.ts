import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { NODES } from '../../../functions/kubernetes/resources.ts';
import { auditLog, whatOf } from '../../support/environment/audit.ts';
import {
  hasState,
  startMaintenanceScene,
  type MaintenanceScene,
} from '../../support/maintenance/maintenance-scene.ts';

/** Figures of 10,000 VMs on 500 nodes, printed for docs/scale.md. */
const SIZE = { nodes: 500, vmsOfNode: 20 } as const;
const AT_ONCE = 16;
/** virt-handler patches its Node every minute. */
const HEARTBEAT_MS = 60_000;
const IDLE_MS = 120_000;
const DRAINED = 'node0';

let scene: MaintenanceScene;
let beats = 0;
const stopping = new AbortController();
let beating: Promise<void>;

beforeAll(async () => {
  // Not one that other test files get: it would take long to empty it.
  scene = await startMaintenanceScene({ controlPlane: {} });
  const names = Array.from({ length: SIZE.nodes }, (_, index) => `node${String(index)}`).values();
  const fill = async (): Promise<void> => {
    for (const name of names) {
      await scene.node(name);
      for (let vm = 0; vm < SIZE.vmsOfNode; vm += 1) await scene.vm(name, `vm${String(vm)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, fill));
  beating = beat();
}, 1_800_000);

afterAll(async () => {
  stopping.abort();
  await beating;
  await scene.stop();
});

/** Each node in its turn, all within HEARTBEAT_MS. */
async function beat(): Promise<void> {
  for (let node = 0; !stopping.signal.aborted; node = (node + 1) % SIZE.nodes) {
    const annotations = { 'kubevirt.io/heartbeat': new Date().toISOString() };
    const name = `node${String(node)}`;
    await scene.admin.patch(NODES, { name }, { merge: { metadata: { annotations } } });
    beats += 1;
    await pause(HEARTBEAT_MS / SIZE.nodes);
  }
}

/** What one of our accounts has asked for since, by verb and resource. */
async function requestsOf(account: string, since: number): Promise<string[]> {
  const { environment, admin } = scene;
  const all = await auditLog(environment.cluster.controlPlane, admin);
  return all
    .filter(
      ({ user, stageTimestamp }) => user.username === userOf(account) && Date.parse(stageTimestamp) >= since,
    )
    .map(whatOf);
}

const counted = (texts: readonly string[]): string =>
  [...Map.groupBy(texts, (text) => text)]
    .map(([text, { length }]) => `${text} ${String(length)}`)
    .toSorted()
    .join(', ');

const print = (...lines: readonly string[]): void =>
  void process.stdout.write(`\n${lines.map((line) => `  ${line}\n`).join('')}`);

/** MiB. */
const guardMemory = (): string => {
  const { pid } = scene.environment.cluster.guard();
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  const kib = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]);
  return `${String(Math.round(kib('VmRSS') / 1_024))} MiB, at most ${String(Math.round(kib('VmHWM') / 1_024))}`;
};

/** Deliveries of the Broker since, by Trigger. */
const deliveries = (since: number): string[] =>
  scene.environment.hops.items.flatMap(({ at, trigger }) => (at >= since ? [trigger] : []));

test('while nothing is cordoned, `progress` never runs', async () => {
  const [since, before] = [Date.now(), beats];
  await pause(IDLE_MS);
  print(
    `${String(SIZE.nodes * SIZE.vmsOfNode)} VMs on ${String(SIZE.nodes)} nodes, ${String(IDLE_MS / 1_000)} s, ${String(beats - before)} heartbeats`,
    `requests of the guard: ${counted(await requestsOf(SERVICE_ACCOUNT.guard, since))}`,
    `deliveries of the Broker: ${counted(deliveries(since)) || 'none'}; guard ${guardMemory()}`,
  );
  expect(await requestsOf(SERVICE_ACCOUNT.progress, since)).toEqual([]);
  expect(deliveries(since)).toEqual([]);
});

test('a drain costs `progress` two requests a change at most', async () => {
  const since = Date.now();
  const vms = Array.from({ length: SIZE.vmsOfNode }, (_, index) => `vm${String(index)}`);
  await scene.setNode(DRAINED, { unschedulable: true });
  for (const vm of vms) await scene.evacuate(DRAINED, vm);
  await scene.untilDrain(DRAINED, hasState('Running'));
  for (const [done, vm] of vms.entries()) {
    await scene.setMigration(DRAINED, `evacuates-${vm}`, { phase: 'Running' });
    await scene.setMigration(DRAINED, `evacuates-${vm}`, { phase: 'Succeeded' });
    await scene.patchVm(DRAINED, vm, {
      metadata: { labels: { 'kubevirt.io/nodeName': 'elsewhere' } },
      status: { nodeName: 'elsewhere' },
    });
    const progress = `${String(done + 1)}/${String(vms.length)}`;
    await scene.untilDrain(DRAINED, (found) => found?.status?.progress === progress);
  }
  const { metadata } = await scene.untilDrain(DRAINED, hasState('Completed'));
  await scene.received.until(
    'it is completed',
    () => scene.eventsOf(metadata.name).at(-1)?.type === 'completed',
  );
  await scene.untilDrain(DRAINED, (found) => found?.status?.outbox.length === 0);
  const requests = await requestsOf(SERVICE_ACCOUNT.progress, since);
  const changes = deliveries(since).filter((trigger) => trigger === 'mtq-progress').length;
  print(
    `a drain of ${String(vms.length)} VMs: ${String(changes)} runs of progress, ${String(requests.length)} requests: ${counted(requests)}`,
    `events for subscribers: ${counted(scene.eventsOf(metadata.name).map(({ type }) => type))}`,
    `requests of the guard: ${counted(await requestsOf(SERVICE_ACCOUNT.guard, since))}`,
    `guard ${guardMemory()}`,
  );
  // The first run creates the object, too.
  expect(requests.length).toBeLessThanOrEqual(2 * changes + 1);
});
