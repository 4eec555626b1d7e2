import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Address, Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { evict } from '../../cluster/kubevirt/virt-api/evict.ts';
import { cordon, createNodes, FULL_NODES } from '../../cluster/kubevirt/objects/node-objects.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  newMigration,
  type VmiOptions,
} from '../../cluster/kubevirt/objects/objects.ts';
import type { LauncherPod, RecordedEvent, Vmi, Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { startVirtApi, type VirtApi } from '../../cluster/kubevirt/virt-api/virt-api.ts';
import { recordHistory } from '../../support/kubevirt/history.ts';
import {
  createNamespace,
  createQuota,
  podsOf,
  runVmi,
  startHarness,
  until,
  untilMigration,
  untilMigrationIsGone,
  type Harness,
} from '../../support/kubevirt/harness.ts';
import { rawText } from '../../support/raw-text.ts';

const NAMES = ['node1', 'node2', 'node3'];
const TIMINGS = { migrationMs: 300 };
/** Instead of 20 seconds. */
const BACKOFF_MS = 2_000;

let harness: Harness;
let virtApi: VirtApi;
let admin: Cluster;

beforeAll(async () => {
  harness = await startHarness({ nodes: NAMES, timings: TIMINGS, backoffMs: BACKOFF_MS });
  ({ admin } = harness);
  await createNodes(admin, NAMES);
  const account = { namespace: 'kubevirt', name: 'kubevirt-apiserver' };
  const cluster = connect(await harness.controlPlane.kubeconfigFor(account));
  virtApi = await startVirtApi({ admin, cluster });
});

afterAll(async () => {
  await virtApi.stop();
  await harness.stop();
});

const DENIED = 'admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: ';
const HOTPLUG_DENIED =
  'admission webhook "hotplug-pod-eviction-interceptor.kubevirt.io" denied the request: ';

/** [HTTP status, message] of the refusal. */
async function refused(request: Promise<unknown>): Promise<[number, string]> {
  const error = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error(`it was not refused: ${String(error)}`);
  return [error.code, rawText(error.status.message)];
}

const vmiAt = (namespace: string, name = 'vm0') => ({ type: FULL_VMIS, namespace, name });

/** A namespace of its own with one running VM, and that VM's launcher. */
async function runOne(
  namespace: string,
  options: Partial<VmiOptions> = {},
): Promise<{ vmi: Vmi; launcher: LauncherPod; node: string }> {
  await createNamespace(admin, namespace);
  const vmi = await runVmi(admin, { namespace, name: 'vm0', ...options });
  const launcher = (await podsOf(admin, namespace)).find(
    ({ metadata }) => metadata.labels?.['kubevirt.io'] === 'virt-launcher',
  );
  if (launcher === undefined) throw new Error('the VM has no launcher');
  return { vmi, launcher, node: vmi.status?.nodeName ?? '' };
}

const migrationsIn = async (namespace: string): Promise<Vmim[]> =>
  (await admin.list(FULL_MIGRATIONS, { namespace })).items;

const isMarked = (vmi: Vmi | undefined): boolean => vmi?.status?.evacuationNodeName !== undefined;
const isEvicted = (vmi: Vmi | undefined): boolean =>
  vmi?.status?.conditions?.some(({ type, status }) => type === 'EvictionRequested' && status === 'True') ===
  true;

/** Keeps migrations waiting: their target pods do not fit. */
const fill = (namespace: string): Promise<void> => createQuota(admin, namespace, { pods: '1' });
const empty = async (namespace: string): Promise<void> => {
  await admin.patch(
    RESOURCE_QUOTAS,
    { namespace, name: 'quota' },
    { merge: { spec: { hard: { pods: '9' } } } },
  );
};

describe('an eviction of a launcher', () => {
  test('is refused, and marks the VM, which is migrated to another node; then the launcher may go', async () => {
    const namespace = 'evicted';
    await createNamespace(admin, namespace);
    const recording = await recordHistory(admin, namespace);
    const vmi = await runVmi(admin, { namespace, name: 'vm0' });
    const node = vmi.status?.nodeName ?? '';
    const [launcher] = await podsOf(admin, namespace);
    if (launcher === undefined) throw new Error('the VM has no launcher');
    await fill(namespace);
    expect(await refused(evict(admin, launcher))).toEqual([
      429,
      `${DENIED}Eviction triggered evacuation of VMI "evicted/vm0"`,
    ]);
    await until(admin, vmiAt(namespace), isEvicted);
    expect(await refused(evict(admin, launcher))).toEqual([
      429,
      `${DENIED}Evacuation in progress: Eviction triggered evacuation of VMI "evicted/vm0"`,
    ]);
    const [migration] = await migrationsIn(namespace);
    expect(migration).toMatchObject({
      metadata: {
        generateName: 'kubevirt-evacuation-',
        annotations: { 'kubevirt.io/evacuationMigration': node },
        labels: { 'kubevirt.io/vmi-name': 'vm0' },
        finalizers: ['kubevirt.io/migrationJobFinalize'],
      },
      spec: { vmiName: 'vm0', priority: 'system-critical' },
    });
    await recording.until(
      ({ object }) =>
        object.metadata.annotations?.['descheduler.alpha.kubernetes.io/eviction-in-progress'] === 'true',
    );
    await empty(namespace);
    const name = migration?.metadata.name ?? '';
    await untilMigration(admin, { namespace, name }, ({ status }) => status?.phase === 'Succeeded');
    const moved = await until(admin, vmiAt(namespace), (one) => !isMarked(one) && !isEvicted(one));
    expect(moved.status?.nodeName).not.toBe(node);

    await until(
      admin,
      { type: LAUNCHER_PODS, ...address(launcher) },
      (pod) => pod?.status?.phase === 'Succeeded',
    );
    await evict(admin, launcher);
    await until(admin, { type: LAUNCHER_PODS, ...address(launcher) }, (pod) => pod === undefined);
    await recording.until(({ object }) => (object as RecordedEvent).reason === 'SuccessfulMigration');
    await recording.stop();
    const created = recording.versions
      .map(({ object }) => object as RecordedEvent)
      .filter(({ source }) => source?.component === 'evacuation-controller');
    expect(created).toMatchObject([
      {
        involvedObject: { kind: 'VirtualMachineInstance', name: 'vm0' },
        type: 'Normal',
        reason: 'SuccessfulCreate',
        message: `Created Migration ${name}`,
      },
    ]);
  });

  test('of its target is refused, and marks nothing', async () => {
    const namespace = 'target';
    const { vmi } = await runOne(namespace);
    const { object: migration } = await admin.create(
      FULL_MIGRATIONS,
      newMigration({ namespace, name: 'mig0', vmi: 'vm0' }),
    );
    const isTarget = ({ metadata }: LauncherPod): boolean =>
      metadata.labels?.['kubevirt.io/migrationJobUID'] === migration.metadata.uid;
    await untilMigration(admin, { namespace, name: 'mig0' }, ({ status }) => status?.phase === 'Scheduled');
    const target = (await podsOf(admin, namespace)).find(isTarget);
    if (target === undefined) throw new Error('the migration has no target');
    // While the guest has not arrived, its node is the source's.
    const [code, message] = await refused(evict(admin, target));
    const { object } = await admin.get(FULL_VMIS, { namespace, name: 'vm0' });
    if (object.status?.nodeName === vmi.status?.nodeName) {
      expect([code, message]).toEqual([429, `${DENIED}Eviction request for target Pod`]);
      expect(isMarked(object)).toBe(false);
    }
  });

  test.each([
    {
      strategy: 'LiveMigrate',
      want: 'VMI vm0 is configured with an eviction strategy but is not live-migratable',
    },
    { strategy: 'External', want: 'Eviction triggered evacuation of VMI "fixed-external/vm0"' },
  ])('of a VM that cannot migrate, with $strategy, is refused', async ({ strategy, want }) => {
    const namespace = `fixed-${strategy.toLowerCase()}`;
    const { launcher } = await runOne(namespace, { evictionStrategy: strategy });
    const conditions = [{ type: 'LiveMigratable', status: 'False', reason: 'HostDeviceNotLiveMigratable' }];
    await admin.patch(FULL_VMIS, { namespace, name: 'vm0' }, { merge: { status: { conditions } } });
    expect(await refused(evict(admin, launcher))).toEqual([429, `${DENIED}${want}`]);
    expect(await migrationsIn(namespace)).toEqual([]);
  });

  test.each([['LiveMigrateIfPossible'], [null]])(
    'of a VM that cannot migrate, with %s, passes',
    async (evictionStrategy) => {
      const namespace = `leaves-${String(evictionStrategy).toLowerCase()}`;
      const { launcher } = await runOne(namespace, { evictionStrategy });
      const conditions = [{ type: 'LiveMigratable', status: 'False' }];
      await admin.patch(FULL_VMIS, { namespace, name: 'vm0' }, { merge: { status: { conditions } } });
      await evict(admin, launcher);
      await until(admin, vmiAt(namespace), (vmi) => vmi?.status?.phase === 'Failed');
    },
  );

  test('that is a dry run is refused, and marks nothing', async () => {
    const namespace = 'dry-run';
    const { launcher } = await runOne(namespace);
    expect(await refused(evict(admin, launcher, { dryRun: true }))).toEqual([
      429,
      `${DENIED}Eviction triggered evacuation of VMI "dry-run/vm0"`,
    ]);
    expect(isMarked((await admin.get(FULL_VMIS, { namespace, name: 'vm0' })).object)).toBe(false);
  });
});

test('an eviction of an attachment pod of a running VM is refused', async () => {
  const namespace = 'attached';
  await runOne(namespace, { hotplug: ['disk1'] });
  await until(
    admin,
    vmiAt(namespace),
    (vmi) => vmi?.status?.volumeStatus?.some(({ hotplugVolume }) => hotplugVolume !== undefined) === true,
  );
  const attachment = (await podsOf(admin, namespace)).find(
    ({ metadata }) => metadata.labels?.['kubevirt.io'] === 'hotplug-disk',
  );
  if (attachment === undefined) throw new Error('the VM has no attachment pod');
  const { name } = attachment.metadata;
  expect(await refused(evict(admin, attachment))).toEqual([
    429,
    `${HOTPLUG_DENIED}cannot evict hotplug pod: ${name} associated with running vmi: vm0 in namespace attached`,
  ]);
});

describe('the evacuation of a node', () => {
  test('by the drain taint migrates each VM that may, all at once, and none twice', async () => {
    const namespace = 'tainted';
    await createNamespace(admin, namespace);
    for (const name of ['node2', 'node3']) await cordon(admin, name);
    const vms = ['vm0', 'vm1', 'vm2', 'vm3', 'vm4', 'vm5', 'vm6'];
    await Promise.all(vms.map((name) => runVmi(admin, { namespace, name })));
    await runVmi(admin, { namespace, name: 'fixed', evictionStrategy: null });
    for (const name of ['node2', 'node3']) await cordon(admin, name, false);
    await createQuota(admin, namespace, { pods: '8' });
    const recording = await recordHistory(admin, namespace);
    const taints = [{ key: 'kubevirt.io/drain', effect: 'NoSchedule' }];
    await admin.patch(FULL_NODES, { name: 'node1' }, { merge: { spec: { taints } } });
    for (const vm of vms) {
      await recording.until(
        ({ kind, object }) =>
          kind === FULL_MIGRATIONS.kind &&
          (object as Vmim).spec.vmiName === vm &&
          (object as Vmim).status?.conditions !== undefined,
      );
    }
    const migrations = await migrationsIn(namespace);
    expect(migrations.map(({ spec }) => spec.vmiName).sort()).toEqual(vms);
    await empty(namespace);
    for (const { metadata } of migrations) {
      await untilMigration(
        admin,
        { namespace, name: metadata.name },
        ({ status }) => status?.phase === 'Succeeded',
      );
    }
    expect(await migrationsIn(namespace)).toHaveLength(vms.length);
    const { items } = await admin.list(FULL_VMIS, { namespace });
    const left = items.filter(({ status }) => status?.nodeName === 'node1');
    expect(left.map(({ metadata }) => metadata.name)).toEqual(['fixed']);
    await admin.patch(FULL_NODES, { name: 'node1' }, { merge: { spec: { taints: null } } });
    await recording.stop();
  });

  test('goes on when the node is uncordoned: what waits still migrates', async () => {
    const namespace = 'uncordoned';
    const { launcher, node } = await runOne(namespace);
    await fill(namespace);
    await cordon(admin, node);
    await refused(evict(admin, launcher));
    await until(admin, vmiAt(namespace), isEvicted);
    await cordon(admin, node, false);
    await empty(namespace);
    const moved = await until(admin, vmiAt(namespace), (vmi) => !isMarked(vmi));
    expect(moved.status?.nodeName).not.toBe(node);
  });

  test('that a descheduler asked for has the lowest priority', async () => {
    const namespace = 'descheduled';
    const { launcher } = await runOne(namespace);
    const annotations = { 'kubevirt.io/eviction-source': 'descheduler' };
    await admin.patch(FULL_VMIS, { namespace, name: 'vm0' }, { merge: { metadata: { annotations } } });
    await refused(evict(admin, launcher));
    await until(admin, vmiAt(namespace), (vmi) => vmi?.status?.migrationState?.completed === true);
    expect(await migrationsIn(namespace)).toMatchObject([{ spec: { priority: 'system-maintenance' } }]);
  });

  test('waits after a migration that failed, and says so', async () => {
    const namespace = 'backed-off';
    await createNamespace(admin, namespace);
    const recording = await recordHistory(admin, namespace);
    const { metadata } = await runVmi(admin, { namespace, name: 'vm0' });
    const [launcher] = await podsOf(admin, namespace);
    if (launcher === undefined) throw new Error('the VM has no launcher');
    await fill(namespace);
    await refused(evict(admin, launcher));
    await until(admin, vmiAt(namespace), isEvicted);
    const [first] = await migrationsIn(namespace);
    // Failed, as by a target pod that was removed, and not deleted: it stays, and counts.
    const failed = {
      phase: 'Failed',
      phaseTransitionTimestamps: [{ phase: 'Failed', phaseTransitionTimestamp: now() }],
    };
    await admin.patch(
      FULL_MIGRATIONS,
      { namespace, name: first?.metadata.name ?? '' },
      { merge: { status: failed }, subresource: 'status' },
    );
    await recording.until(({ object }) => (object as RecordedEvent).reason === 'MigrationBackoff');
    const event = recording.versions
      .map(({ object }) => object as RecordedEvent)
      .find(({ reason }) => reason === 'MigrationBackoff');
    expect(event).toMatchObject({
      involvedObject: { kind: 'VirtualMachineInstance', uid: metadata.uid },
      type: 'Warning',
      message: 'backoff migrating vmi backed-off/vm0',
    });
    await empty(namespace);
    await until(admin, vmiAt(namespace), (vmi) => !isMarked(vmi));
    await recording.stop();
  });
});

describe('spec.priority', () => {
  const withPriority = (name: string) =>
    newMigration({ namespace: 'priorities', name, vmi: 'vm0', priority: 'system-critical' });

  beforeAll(async () => {
    await runOne('priorities');
  });

  test('of anybody but KubeVirt is refused', async () => {
    expect(await refused(admin.create(FULL_MIGRATIONS, withPriority('mine')))).toEqual([
      400,
      'admission webhook "migration-validator.kubevirt.io" denied the request: ' +
        'Migration priority queue, only virt-controller is allowed to set priority field',
    ]);
  });

  test('cannot be set later either', async () => {
    const at: Required<Address> = { namespace: 'priorities', name: 'mig0' };
    await admin.create(FULL_MIGRATIONS, newMigration({ ...at, vmi: 'vm0' }));
    const merge = { spec: { priority: 'system-critical' } };
    expect(await refused(admin.patch(FULL_MIGRATIONS, at, { merge }))).toEqual([
      422,
      'admission webhook "migration-validator.kubevirt.io" denied the request: ' +
        "update of Migration object's spec is restricted",
    ]);
    await admin.delete(FULL_MIGRATIONS, at);
    await untilMigrationIsGone(admin, at);
  });
});

const address = ({ metadata: { name, namespace = '' } }: LauncherPod): Required<Address> => ({
  name,
  namespace,
});
const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z');
