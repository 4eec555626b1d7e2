import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { LIVE_FINALIZER, LIVE_LABEL, REFERENCE_EVENT } from '../../../functions/domain/live/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { LIVE_WATCHER, PLAN_MIGRATIONS, PLANS } from '../../../functions/kubernetes/live-resources.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { scaleUpWatcher } from '../../../functions/live/migration/scale-up-watcher.ts';
import { systemClock } from '../../../functions/runtime/clock.ts';
import { scaleDownWatcher } from '../../../webhook/live/scale-down-watcher.ts';
import { LiveWatcher } from '../../../functions/live/watcher/live-watcher.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import {
  FULL_MIGRATIONS,
  newMigration,
  newVirtualMachine,
  VMS,
} from '../../cluster/kubevirt/objects/objects.ts';
import { startClusters, type SeveralClusters } from '../../cluster/several-clusters.ts';
import { aPlan, aPlanMigration, begunWith } from '../../support/builders/live.ts';
import { seconds } from '../../support/builders/object.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { Recorded } from '../../support/eventually.ts';
import { installForkliftKinds } from '../../support/live/crossing.ts';

let clusters: SeveralClusters<'hub' | 'other'>;
let hub: Cluster;
let other: Cluster;
let id: string;

beforeAll(async () => {
  clusters = await startClusters(['hub', 'other'], freshControlPlane);
  hub = clusters.members.hub.admin;
  ({ admin: other, id } = clusters.members.other);
  await installForkliftKinds(hub);
  for (const name of ['tenant', 'mtq-system']) await hub.create(NAMESPACES, { metadata: { name } });
  await installKubeVirt(other);
  await other.create(NAMESPACES, { metadata: { name: 'vms' } });
});

afterAll(async () => {
  await clusters.stop();
});

type Sent = Record<string, unknown>;
let events: Recorded<Sent>;
let stopping: AbortController;
let running: Promise<void>;

beforeEach(() => {
  stopping = new AbortController();
  events = new Recorded<Sent>(({ type, kind, name, phase }) => JSON.stringify([type, kind, name, phase]));
});

afterEach(async () => {
  stopping.abort();
  await running;
});

/** The first event with these attributes, once it is there. */
async function sent(attributes: Sent): Promise<Sent> {
  const fits = (event: Sent): boolean =>
    Object.entries(attributes).every(([name, value]) => event[name] === value);
  await events.until(JSON.stringify(attributes), () => events.items.some(fits));
  return events.items.find(fits) ?? {};
}

const written = <T extends KubernetesObject>({ metadata, ...object }: T): T =>
  ({ ...object, metadata: { name: metadata.name, namespace: metadata.namespace } }) as T;

/** Resolves with the uid of the run of the plan, under way with its VM `web`, which goes from the other cluster to the hub. */
async function startRun(): Promise<string> {
  await hub.create(PLANS, written(aPlan()));
  const { object } = await hub.create(PLAN_MIGRATIONS, {
    ...written(aPlanMigration()),
    metadata: {
      ...{ name: 'migration', namespace: 'tenant', finalizers: [LIVE_FINALIZER] },
      annotations: begunWith()(aPlanMigration()).metadata.annotations ?? {},
    },
  });
  const vm = { namespace: 'vms', name: 'web', phase: 'CreateTargetMigration', pipeline: [] };
  const status = { started: seconds(0), vms: [{ ...vm, started: seconds(0) }] };
  await hub.replace(PLAN_MIGRATIONS, { ...object, status }, { subresource: 'status' });
  return object.metadata.uid;
}

async function endRun(): Promise<void> {
  const at = { namespace: 'tenant', name: 'migration' };
  await hub.patch(PLAN_MIGRATIONS, at, {
    merge: { status: { completed: seconds(9) } },
    subresource: 'status',
  });
  await hub.patch(PLAN_MIGRATIONS, at, { merge: { metadata: { finalizers: [] } } });
}

test('what changes in another cluster is posted while a run is under way, and nothing after it', async () => {
  const watcher = new LiveWatcher({
    cluster: hub,
    clock: systemClock,
    log: () => undefined,
    post: (event) => {
      events.add(event.toJSON());
      return Promise.resolve();
    },
    connect: ({ name }) => Promise.resolve(name === 'source' ? { cluster: other, id } : undefined),
  });
  running = watcher.run(stopping.signal);
  await other.create(VMS, newVirtualMachine({ namespace: 'vms', name: 'web', claims: [] }));
  const runUid = await startRun();
  const found = await sent({ kind: 'VirtualMachine' });
  expect(found).toMatchObject({
    type: REFERENCE_EVENT.add,
    source: '/mtq/live-watcher',
    ...{ kind: 'VirtualMachine', namespace: 'vms', name: 'web', mtqcluster: id },
    data: expect.objectContaining({ runs: [{ namespace: 'tenant', name: 'migration', uid: runUid }] }),
  });
  expect(JSON.stringify(found)).not.toContain('template');
  // Its VMI may have gone before the watch began.
  await sent({ kind: 'VirtualMachineInstance', name: 'web', type: REFERENCE_EVENT.delete });

  // Ours by its label, and one that is not.
  const ours = newMigration({ namespace: 'vms', name: 'live-run', vmi: 'web' });
  const labels = { ...ours.metadata.labels, [LIVE_LABEL.migration]: runUid };
  await other.create(FULL_MIGRATIONS, newMigration({ namespace: 'vms', name: 'foreign', vmi: 'web' }));
  await other.create(FULL_MIGRATIONS, { ...ours, metadata: { ...ours.metadata, labels } });
  await sent({ name: 'live-run', type: REFERENCE_EVENT.add });
  const at = { namespace: 'vms', name: 'live-run' };
  await other.patch(FULL_MIGRATIONS, at, { merge: { metadata: { annotations: { noise: '1' } } } });
  const phase = 'TargetReady';
  const { object } = await other.patch(FULL_MIGRATIONS, at, {
    merge: { status: { phase } },
    subresource: 'status',
  });
  const { resourceVersion: resourceversion } = object.metadata;
  await sent({ name: 'live-run', type: REFERENCE_EVENT.update, phase, resourceversion });
  // The annotation was no event.
  const ofRun = events.items.filter(({ name }) => name === 'live-run');
  expect(ofRun.map(({ type }) => type)).toEqual([REFERENCE_EVENT.add, REFERENCE_EVENT.update]);
  await other.patch(FULL_MIGRATIONS, at, { merge: { metadata: { finalizers: [] } } });
  await other.delete(FULL_MIGRATIONS, at);
  await sent({ name: 'live-run', type: REFERENCE_EVENT.delete });
  expect(events.items.filter(({ name }) => name === 'foreign')).toEqual([]);

  // The guard leaves the watcher up while the run is under way.
  await hub.create(LIVE_WATCHER.type, deploymentOf(1) as never);
  expect(await scaleDownWatcher(hub)).toBe('held');
  await endRun();
  expect(await scaleDownWatcher(hub)).toBe('scaled down');
  const { object: deployment } = await hub.get(LIVE_WATCHER.type, LIVE_WATCHER.at);
  expect(deployment.spec.replicas).toBe(0);

  // `live` scales it up while a run is under way, once.
  const live = { hub: clusters.members.hub.admin, log: () => undefined };
  const migrationAt = { namespace: 'tenant', name: 'migration' };
  const { object: over } = await hub.get(PLAN_MIGRATIONS, migrationAt);
  expect(await scaleUpWatcher(over, live)).toBe(false);
  await hub.patch(PLAN_MIGRATIONS, migrationAt, {
    merge: { status: { completed: null } },
    subresource: 'status',
  });
  expect([await scaleUpWatcher(over, live), await scaleUpWatcher(over, live)]).toEqual([true, false]);
});

const deploymentOf = (replicas: number): object => {
  const labels = { app: LIVE_WATCHER.at.name };
  const containers = [{ name: 'watcher', image: 'example.com/image' }];
  return {
    metadata: LIVE_WATCHER.at,
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  };
};
