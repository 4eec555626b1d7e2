import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { KUBEVIRT, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import { owesEvents, type MaintenanceProgress } from '../../../functions/domain/progress/progress-object.ts';
import { PROGRESSES } from '../../../functions/kubernetes/resources.ts';
import { atOnce } from '../../support/at-once.ts';
import {
  startFaultyProxy,
  type Fault,
  type FaultyProxy,
  type Write,
} from '../../support/faults/faulty-proxy.ts';
import { startMaintenanceScene, type MaintenanceScene } from '../../support/maintenance/maintenance-scene.ts';
import { by, type Hits } from '../../support/faults/our-writes.ts';

/** More parallel drains would only wait for the two cores. */
const AT_ONCE = 4;

let scene: MaintenanceScene;
let proxy: FaultyProxy;

beforeAll(async () => {
  const { progress } = SERVICE_ACCOUNT;
  proxy = await startFaultyProxy(() =>
    scene.environment.cluster.eventing.activator.kill('progress', 'SIGKILL'),
  );
  scene = await startMaintenanceScene({
    reroute: (account, kubeconfig) =>
      account === progress ? proxy.reroute(account, kubeconfig) : kubeconfig,
  });
});

afterAll(async () => {
  await scene.stop();
  await proxy.stop();
});

const progressOf = ({ body }: Write): Partial<MaintenanceProgress> => body ?? {};
/** A PUT of a status with, or without, events to post. */
const puts =
  (state: string, owes: boolean): Hits =>
  (write) =>
    by(SERVICE_ACCOUNT.progress, 'PUT', PROGRESSES.plural)(write) &&
    progressOf(write).status?.state === state &&
    owesEvents(progressOf(write) as MaintenanceProgress) === owes;

/** Every write of a drain's life, in its order. Between a status and the one without its events, `progress` posts them. */
const WRITES: Record<string, Hits> = {
  'the object': by(SERVICE_ACCOUNT.progress, 'POST', PROGRESSES.plural),
  'its first status': puts('Running', true),
  'that status without its events': puts('Running', false),
  'the status that is blocked': puts('Blocked', true),
  'the Event on the Node': by(SERVICE_ACCOUNT.progress, 'POST', 'events'),
  'the blocked status without its events': puts('Blocked', false),
  'the last status': puts('Completed', true),
  'the last status without its events': puts('Completed', false),
};

interface Case extends Pick<Fault, 'hits' | 'when'> {
  readonly name: string;
}

const CASES = (['before', 'after'] as const).flatMap((when) =>
  Object.entries(WRITES).map(([write, hits]): Case => ({ name: `${when} ${write}`, when, hits })),
);

/** Of a drain of this node. */
const isAbout =
  (node: string): Hits =>
  ({ body }) => {
    const { spec, involvedObject } = (body ?? {}) as Partial<MaintenanceProgress> & {
      involvedObject?: { name?: string };
    };
    return [spec?.subject, involvedObject?.name].includes(node);
  };

const is = (state: string) => (found: MaintenanceProgress | undefined) =>
  found?.status?.state === state && !owesEvents(found);
const REFUSED = {
  phase: 'Pending',
  conditions: [{ type: KUBEVIRT.rejectedByQuota, status: 'True', lastProbeTime: '2026-11-21T05:00:00Z' }],
};

/** A drain from its begin to its end, during which `progress` is killed once. Resolves with the name of its object. */
async function drain({ hits, when }: Case, node: string): Promise<string> {
  const about = isAbout(node);
  const injected = proxy.inject({
    hits: (write) => about(write) && hits(write),
    when,
    proxyFault: 'kill',
  });
  await scene.node(node, { unschedulable: true });
  await scene.vm(node, 'vm0');
  await scene.evacuate(node, 'vm0');
  await scene.untilDrain(node, is('Running'));
  await scene.setMigration(node, 'evacuates-vm0', REFUSED);
  await scene.untilDrain(node, is('Blocked'));
  await scene.patchVm(node, 'vm0', { status: { phase: 'Succeeded' } });
  const { metadata } = await scene.untilDrain(node, is('Completed'));
  await injected;
  return metadata.name;
}

/** The second with a look after the VM has left and before the guard has listed which migrate to the node: it is not completed then. */
const LIVES = [
  ['1 started 1', '2 blocked 2', '3 completed 3'],
  ['1 started 1', '2 blocked 2', '3 unblocked 3', '4 progressed 4', '5 completed 5'],
];

describe('`progress` is killed', () => {
  let runs: Map<string, Promise<string>>;

  beforeAll(() => {
    runs = atOnce(
      AT_ONCE,
      new Map(CASES.map((each, index) => [each.name, () => drain(each, `node${String(index)}`)])),
    );
  });

  test.each(CASES)('$name: every event is posted, with one id and without a gap', async ({ name }) => {
    const object = (await runs.get(name)) ?? '';
    // The status is written before its events are posted.
    await scene.typesUntil(object, 'completed');
    const received = scene.received.items.filter((event) => event.name === object);
    const distinct = new Set(received.map(({ id, type, sequence }) => `${id} ${type} ${String(sequence)}`));
    expect(LIVES).toContainEqual([...distinct].map((text) => text.replace(/^\S+-(\d+) /, '$1 ')));
  });

  test('and leaves one object for each node', async () => {
    await Promise.all(runs.values());
    const { items } = await scene.admin.list(PROGRESSES, {});
    expect(items).toHaveLength(CASES.length);
  });
});
