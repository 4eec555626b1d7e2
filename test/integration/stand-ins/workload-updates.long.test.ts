import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import { createNodes, FULL_NODES } from '../../cluster/kubevirt/objects/node-objects.ts';
import {
  FULL_KUBEVIRTS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  newMigration,
  type FullKubeVirt,
  type KubeVirtSettings,
} from '../../cluster/kubevirt/objects/objects.ts';
import { announce, deploy, reportObserved } from '../../cluster/kubevirt/operator.ts';
import { RELEASE, releaseOf, type Release } from '../../cluster/kubevirt/objects/release.ts';
import { NODE_NAMES, startKubeVirt, type KubeVirtStandIn } from '../../cluster/kubevirt/start.ts';
import type { RecordedEvent, Vmi, Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { askUntil } from '../../support/eventually.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { recordHistory, type Recording, type Version } from '../../support/kubevirt/history.ts';
import { createNamespace, createQuota, podsOf, runVmi, until } from '../../support/kubevirt/harness.ts';

/** Instead of five seconds. */
const THROTTLE_MS = 300;
const KUBEVIRT = { type: FULL_KUBEVIRTS, namespace: 'kubevirt', name: 'kubevirt' };
const OUTDATED = 'kubevirt.io/outdatedLauncherImage';

let controlPlane: ControlPlane;
let admin: Cluster;
let kubevirt: KubeVirtStandIn;
let namespaces = 0;
let recordings: Recording[] = [];

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig);
  await installKubeVirt(admin);
  await createNodes(admin, NODE_NAMES);
});

afterAll(async () => {
  await controlPlane.stop();
});

beforeEach(async () => {
  kubevirt = await start(RELEASE);
});

/** The next test has its own KubeVirt, and no VMs of this one. */
afterEach(async () => {
  for (const recording of recordings.splice(0)) await recording.stop();
  const { items } = await admin.list(FULL_VMIS, {});
  for (const { metadata } of items) {
    const at = { namespace: metadata.namespace ?? '', name: metadata.name };
    await admin.delete(FULL_VMIS, at);
    await until(admin, { type: FULL_VMIS, ...at }, (vmi) => vmi === undefined);
  }
  await kubevirt.stop();
  await admin.delete(FULL_KUBEVIRTS, KUBEVIRT);
});

async function start(release: Release): Promise<KubeVirtStandIn> {
  const cluster = connect(
    await controlPlane.kubeconfigFor({ namespace: 'kubevirt', name: 'kubevirt-controller' }),
  );
  const timings = { migrationMs: 200 };
  return startKubeVirt({ cluster, release, timings, updateThrottleMs: THROTTLE_MS, heartbeatMs: 500 });
}

/** As virt-operator does it. */
async function upgrade(release: Release): Promise<void> {
  await announce(admin, release);
  await kubevirt.stop();
  kubevirt = await start(release);
  await reportObserved(admin, release);
}

/** A deployed KubeVirt, and a namespace with running VMs vm0, vm1, … */
async function running(
  vms: number,
  settings: KubeVirtSettings = { workloadUpdateMethods: ['LiveMigrate'] },
): Promise<{ namespace: string; recording: Recording }> {
  await deploy(admin, settings, RELEASE);
  namespaces += 1;
  const namespace = `updated-${namespaces}`;
  await createNamespace(admin, namespace);
  const recording = await recordHistory(admin, namespace);
  recordings = [...recordings, recording];
  await Promise.all(Array.from({ length: vms }, (_, vm) => runVmi(admin, { namespace, name: `vm${vm}` })));
  return { namespace, recording };
}

const untilCounted = (outdated: number): Promise<FullKubeVirt> =>
  until(admin, KUBEVIRT, (one) => one?.status?.outdatedVirtualMachineInstanceWorkloads === outdated);

const untilVmi = (namespace: string, holds: (vmi: Vmi) => boolean, name = 'vm0'): Promise<Vmi> =>
  until(admin, { type: FULL_VMIS, namespace, name }, (vmi) => vmi !== undefined && holds(vmi));

const isOutdated = ({ metadata }: Vmi): boolean => metadata.labels?.[OUTDATED] === '';

const migrationsIn = async (namespace: string): Promise<Vmim[]> =>
  (await admin.list(FULL_MIGRATIONS, { namespace })).items;

/** Reasons and messages of the workload updater's events, without the random part of names. */
const eventsOf = (versions: readonly Version[]): string[] =>
  versions
    .map(({ object }) => object as RecordedEvent)
    .filter(({ source }) => source?.component === 'workload-update-controller')
    .map(
      ({ reason, message }) => `${reason}: ${message.replaceAll(/(kubevirt-workload-update-)\w+/g, '$1*')}`,
    );

const isMigration =
  (holds: (migration: Vmim) => boolean) =>
  ({ kind, object }: Version): boolean =>
    kind === FULL_MIGRATIONS.kind && holds(object as Vmim);

const isRefused = ({ status }: Vmim): boolean => status?.conditions !== undefined;

const isEvent =
  (reason: string) =>
  ({ object }: Version): boolean =>
    (object as RecordedEvent).reason === reason;

const memoryOf = (pod: {
  spec: { containers: { resources?: { requests?: Record<string, string> } }[] };
}): string => pod.spec.containers[0]?.resources?.requests?.['memory'] ?? '';

describe('an upgrade', () => {
  const next = releaseOf('v1.9.1', { moreOverhead: '20Mi' });

  test('marks every outdated VM, counts them, moves each to a new launcher; a rollback moves each back', async () => {
    const { namespace, recording } = await running(2);
    const before = await podsOf(admin, namespace);
    await upgrade(next);
    await untilCounted(2);
    for (const vm of ['vm0', 'vm1']) {
      await recording.until(isMigration(({ spec }) => spec.vmiName === vm));
      await untilVmi(
        namespace,
        (vmi) => vmi.status?.launcherContainerImageVersion === next.launcherImage,
        vm,
      );
      await untilVmi(namespace, (vmi) => !isOutdated(vmi), vm);
    }
    const { status } = await untilCounted(0);
    expect(status).toMatchObject({ phase: 'Deployed', observedDeploymentID: next.deploymentId });
    expect(await migrationsIn(namespace)).toMatchObject(
      [0, 1].map(() => ({
        metadata: {
          generateName: 'kubevirt-workload-update-',
          annotations: { 'kubevirt.io/workloadUpdateMigration': '' },
        },
        spec: { priority: 'system-critical' },
        status: { phase: 'Succeeded' },
      })),
    );
    expect(eventsOf(recording.versions)).toEqual(
      [0, 1].map(
        () => 'SuccessfulCreate: Created Migration kubevirt-workload-update-* for automated workload update',
      ),
    );
    expect(before.map(memoryOf)).toEqual(['1314Mi', '1314Mi']);
    const after = (await podsOf(admin, namespace)).filter(
      ({ status: { phase } = {} }) => phase === 'Running',
    );
    expect(after.map(memoryOf)).toEqual(['1334Mi', '1334Mi']);
    // The source launchers were marked before their VMs.
    const marked = recording.versions.filter(({ object }) => object.metadata.labels?.[OUTDATED] === '');
    expect(marked[0]?.kind).toBe('Pod');

    await upgrade(RELEASE);
    for (const vm of ['vm0', 'vm1']) {
      await untilVmi(
        namespace,
        ({ status }) => status?.launcherContainerImageVersion === RELEASE.launcherImage,
        vm,
      );
    }
  });

  test('gives every VM a migration as long as a quota refuses their pods: the limit counts what runs', async () => {
    const { namespace, recording } = await running(7, {
      workloadUpdateMethods: ['LiveMigrate'],
      parallelMigrationsPerCluster: 3,
    });
    await createQuota(admin, namespace, { pods: '7' });
    await upgrade(next);
    await recording.until(() => {
      const refused = recording.versions
        .filter(isMigration(isRefused))
        .map(({ object }) => object.metadata.name);
      return new Set(refused).size === 7;
    });
    expect(await migrationsIn(namespace)).toHaveLength(7);
  });

  test('without LiveMigrate only counts', async () => {
    const { namespace } = await running(1, {});
    await upgrade(next);
    await untilCounted(1);
    await untilVmi(namespace, isOutdated);
    expect(await migrationsIn(namespace)).toEqual([]);
  });

  test('evicts what cannot migrate, where that is allowed', async () => {
    const { namespace, recording } = await running(1, { workloadUpdateMethods: ['LiveMigrate', 'Evict'] });
    const conditions = [{ type: 'LiveMigratable', status: 'False' }];
    await admin.patch(FULL_VMIS, { namespace, name: 'vm0' }, { merge: { status: { conditions } } });
    await upgrade(next);
    await untilVmi(namespace, ({ status }) => status?.phase === 'Failed');
    await recording.until(isEvent('SuccessfulEvict'));
    expect(await migrationsIn(namespace)).toEqual([]);
  });

  test('that is rolled back aborts what still waits', async () => {
    const { namespace, recording } = await running(1);
    await createQuota(admin, namespace, { pods: '1' });
    await upgrade(next);
    await recording.until(isMigration(isRefused));
    await upgrade(RELEASE);
    await recording.until(isEvent('SuccessfulChangeAbortion'));
    await untilVmi(namespace, (vmi) => !isOutdated(vmi));
    await untilCounted(0);
    await recording.until(({ kind, watch }) => kind === FULL_MIGRATIONS.kind && watch === 'DELETED');
    expect(eventsOf(recording.versions).at(-1)).toBe('SuccessfulChangeAbortion: Aborted change for vmi: vm0');
    const [launcher] = await podsOf(admin, namespace);
    await until(
      admin,
      { type: LAUNCHER_PODS, namespace, name: launcher?.metadata.name ?? '' },
      (pod) => pod?.metadata.labels?.[OUTDATED] === undefined,
    );
  });

  test('to a KubeVirt before 1.7 sets no priority', async () => {
    const { namespace, recording } = await running(1);
    await upgrade(releaseOf('v1.6.2'));
    await recording.until(({ kind }) => kind === FULL_MIGRATIONS.kind);
    const [migration] = await migrationsIn(namespace);
    expect(migration?.spec).toEqual({ vmiName: 'vm0' });
  });
});

test('the API of a KubeVirt before 1.7 drops spec.priority', async () => {
  const { namespace, recording } = await running(0);
  // A changed CRD has another watch cache, which knows no version from before the change.
  await recording.stop();
  const create = async (name: string): Promise<Vmim['spec']> => {
    const migration = newMigration({
      namespace,
      name,
      vmi: 'vm0',
      priority: 'system-critical',
      receives: 'one',
    });
    return (await admin.create(FULL_MIGRATIONS, migration, { dryRun: true })).object.spec;
  };
  const spec = { vmiName: 'vm0', receive: { migrationID: 'one' } };
  expect(await create('new')).toEqual({ ...spec, priority: 'system-critical' });
  await installKubeVirt(admin, releaseOf('v1.6.2'));
  await askUntil(
    'priority is dropped',
    () => create('old'),
    ({ priority }) => priority === undefined,
  );
  expect(await create('old')).toEqual(spec);
  await installKubeVirt(admin);
});

describe('a change that needs a migration', () => {
  const setCondition = async (namespace: string, type: string, status: 'True' | 'False'): Promise<void> => {
    const { status: { conditions = [] } = {} } = (await admin.get(FULL_VMIS, { namespace, name: 'vm0' }))
      .object;
    const others = conditions.filter((one) => one.type !== type);
    const merge = { status: { conditions: [...others, { type, status }] } };
    await admin.patch(FULL_VMIS, { namespace, name: 'vm0' }, { merge });
  };

  test.each([
    { type: 'MigrationRequired', label: undefined },
    { type: 'VolumesChange', label: 'vm0' },
  ])('$type: a migration of a person, aborted when the reason is gone', async ({ type, label }) => {
    const { namespace, recording } = await running(1);
    await createQuota(admin, namespace, { pods: '1' });
    await setCondition(namespace, type, 'True');
    await recording.until(isMigration(isRefused));
    const [migration] = await migrationsIn(namespace);
    expect(migration?.spec.priority).toBe('user-triggered');
    expect(migration?.metadata.labels?.['kubevirt.io/volume-update-migration']).toBe(label);
    await untilCounted(1);
    await setCondition(namespace, type, 'False');
    // That alone does not wake the updater: a change of any migration does.
    const at = { namespace, name: migration?.metadata.name ?? '' };
    await admin.patch(FULL_MIGRATIONS, at, {
      merge: { metadata: { annotations: { 'example.com/seen': '' } } },
    });
    await recording.until(isEvent('SuccessfulChangeAbortion'));
    await untilCounted(0);
  });
});

test('virt-handler shows that it is alive on every Node', async () => {
  await running(0);
  const beats = new Set<string>();
  for (const name of NODE_NAMES) {
    const node = await until(
      admin,
      { type: FULL_NODES, name },
      (one) => one?.metadata.annotations?.['kubevirt.io/heartbeat'] !== undefined,
    );
    beats.add(node.metadata.annotations?.['kubevirt.io/heartbeat'] ?? '');
    expect(node.metadata.labels?.['kubevirt.io/schedulable']).toBe('true');
  }
  await until(
    admin,
    { type: FULL_NODES, name: 'node1' },
    (one) => !beats.has(one?.metadata.annotations?.['kubevirt.io/heartbeat'] ?? ''),
  );
});
