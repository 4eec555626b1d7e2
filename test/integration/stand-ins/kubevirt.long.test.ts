import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import type { Address } from '../../../functions/kubernetes/cluster.ts';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import {
  FULL_KUBEVIRTS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  newKubeVirt,
  newMigration,
  newVirtualMachineInstance,
  type KubeVirtSettings,
} from '../../cluster/kubevirt/objects/objects.ts';
import type { LauncherPod, RecordedEvent, Vmi, Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { askUntil } from '../../support/eventually.ts';
import { recordHistory, type Recording, type Version } from '../../support/kubevirt/history.ts';
import {
  createNamespace,
  createQuota,
  migrate,
  podsOf,
  runVmi,
  startHarness,
  until,
  untilMigration,
  untilMigrationIsGone,
  type Harness,
} from '../../support/kubevirt/harness.ts';
import { limitLaunchers } from '../../support/tenant/refuse-targets.ts';

/** Slow enough to act while a target pod starts and while a migration runs. */
const TIMINGS = { runMs: 300, migrationMs: 300 };
const ONE_VM = { pods: '10', 'requests.cpu': '1405m' };
const TWO_VMS = { pods: '10', 'requests.cpu': '2605m' };

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({ nodes: ['node1', 'node2'], timings: TIMINGS });
});

afterAll(async () => {
  await harness.stop();
});

const at = (namespace: string, name = 'mig0'): Required<Address> => ({ namespace, name });

const isBlocked = ({ status }: Vmim): boolean =>
  status?.conditions?.some(({ type }) => type === 'migrationRejectedByResourceQuota') === true;

const isIn =
  (phase: string) =>
  ({ status }: Vmim): boolean =>
    status?.phase === phase;

const targetOf = async (namespace: string, migration: Vmim): Promise<LauncherPod | undefined> =>
  (await podsOf(harness.admin, namespace)).find(
    ({ metadata }) =>
      metadata.labels?.['kubevirt.io'] === 'virt-launcher' &&
      metadata.labels['kubevirt.io/migrationJobUID'] === migration.metadata.uid,
  );

const eventsIn = (recording: Recording): RecordedEvent[] =>
  recording.versions.filter(({ kind }) => kind === 'Event').map(({ object }) => object as RecordedEvent);

const isEvent =
  (reason: string, text = '') =>
  ({ kind, object }: Version): boolean =>
    kind === 'Event' &&
    (object as RecordedEvent).reason === reason &&
    (object as RecordedEvent).message.includes(text);

const setQuota = async (namespace: string, hard: Record<string, string>): Promise<void> => {
  await harness.admin.patch(RESOURCE_QUOTAS, at(namespace, 'quota'), { merge: { spec: { hard } } });
};

const untilUsed = (namespace: string, pods: string): Promise<unknown> =>
  until(
    harness.admin,
    { type: RESOURCE_QUOTAS, ...at(namespace, 'quota') },
    (quota) => quota?.status?.used?.['pods'] === pods,
  );

/** A namespace whose quota is full with one VM, and that VM's blocked migration. */
async function blocked(namespace: string): Promise<{ recording: Recording; migration: Vmim }> {
  await createNamespace(harness.admin, namespace);
  const recording = await recordHistory(harness.admin, namespace);
  await createQuota(harness.admin, namespace, ONE_VM);
  await runVmi(harness.admin, { namespace, name: 'vm0' });
  await migrate(harness.admin, { namespace, name: 'mig0', vmi: 'vm0' });
  return { recording, migration: await untilMigration(harness.admin, at(namespace), isBlocked) };
}

describe('a blocked migration', () => {
  test('that is cancelled with its target pod there: pod deleted, Failed, gone; the source stays', async () => {
    const namespace = 'cancelled';
    const { recording, migration } = await blocked(namespace);
    await setQuota(namespace, TWO_VMS);
    await untilMigration(harness.admin, at(namespace), isIn('Scheduling'));
    await harness.admin.delete(FULL_MIGRATIONS, at(namespace));

    await recording.until(isEvent('FailedMigration', 'Migration failed due to being canceled'));
    await untilMigrationIsGone(harness.admin, at(namespace));
    await recording.until(({ kind, watch }) => kind === 'Pod' && watch === 'DELETED');
    await untilUsed(namespace, '1');
    const [left, ...others] = await podsOf(harness.admin, namespace);
    expect(others).toEqual([]);
    expect(left?.metadata.labels?.['kubevirt.io/migrationJobUID']).toBeUndefined();
    const last = recording.versions.findLast(({ object }) => object.metadata.uid === migration.metadata.uid);
    expect((last?.object as Vmim).status?.conditions?.map(({ type }) => type)).toContain(
      'migrationAbortRequested',
    );
    await recording.stop();
  });

  test('that is refused by anything but a quota has the event and no condition', async () => {
    const namespace = 'limit-range';
    await createNamespace(harness.admin, namespace);
    const recording = await recordHistory(harness.admin, namespace);
    await runVmi(harness.admin, { namespace, name: 'vm0' });
    await limitLaunchers(harness.admin, namespace, { min: { cpu: '99' } });
    await migrate(harness.admin, { namespace, name: 'mig0', vmi: 'vm0' });
    await recording.until(isEvent('FailedCreate', 'Error creating pod: pods "virt-launcher-vm0-'));
    await recording.until(isEvent('FailedCreate', 'minimum cpu usage per Container is 99'));
    // By now there were several refusals; the first would have set the condition.
    await recording.until(
      () => eventsIn(recording).filter(({ reason }) => reason === 'FailedCreate').length > 3,
    );
    const migration = await untilMigration(harness.admin, at(namespace), isIn('Pending'));
    expect(migration.status?.conditions).toBeUndefined();
    await recording.stop();
  });
});

describe('a running migration', () => {
  test('that is cancelled is aborted by the nodes; the guest stays where it was', async () => {
    const namespace = 'aborted';
    await createNamespace(harness.admin, namespace);
    const before = await runVmi(harness.admin, { namespace, name: 'vm0' });
    await migrate(harness.admin, { namespace, name: 'mig0', vmi: 'vm0' });
    await untilMigration(harness.admin, at(namespace), isIn('Running'));
    await harness.admin.delete(FULL_MIGRATIONS, at(namespace));
    await untilMigrationIsGone(harness.admin, at(namespace));
    // The nodes may say so a moment after the migration is gone.
    const vmi = await until(
      harness.admin,
      { type: FULL_VMIS, ...at(namespace, 'vm0') },
      (one) => one?.status?.migrationState?.abortStatus !== undefined,
    );
    expect(vmi.status?.migrationState).toMatchObject({
      abortRequested: true,
      abortStatus: 'Succeeded',
      failed: true,
    });
    expect(vmi.status?.nodeName).toBe(before.status?.nodeName);
  });

  test('excludes another of the same VMI, and KubeVirt keeps only five finished ones', async () => {
    const namespace = 'several';
    const { recording } = await blocked(namespace);
    for (let index = 1; index <= 7; index++) {
      await migrate(harness.admin, { namespace, name: `mig${index}`, vmi: 'vm0' });
    }
    await recording.until(
      isEvent(
        'FailedMigration',
        'VMI is not eligible for migration because another migration job is in progress.',
      ),
    );
    const deleted = (): Version[] => recording.versions.filter(({ watch }) => watch === 'DELETED');
    await recording.until(() => deleted().length === 2);
    const { items } = await harness.admin.list(FULL_MIGRATIONS, { namespace });
    const names = items.map(({ metadata }) => metadata.name);
    // The five newest finished migrations, and the running one.
    expect(names).toHaveLength(5 + 1);
    expect(names).toContain('mig0');
    await recording.stop();
  });
});

test('a VMI whose first launcher does not fit waits, and starts when there is headroom', async () => {
  const namespace = 'no-headroom';
  await createNamespace(harness.admin, namespace);
  await createQuota(harness.admin, namespace, { pods: '0' });
  await harness.admin.create(FULL_VMIS, newVirtualMachineInstance({ namespace, name: 'vm0' }));
  const isPending = (vmi: Vmi | undefined): boolean => vmi?.status?.phase === 'Pending';
  const vmi = await until(harness.admin, { type: FULL_VMIS, ...at(namespace, 'vm0') }, isPending);
  expect(vmi.status?.conditions?.[0]).toMatchObject({
    type: 'Synchronized',
    status: 'False',
    reason: 'FailedCreate',
  });
  await setQuota(namespace, { pods: '1' });
  await until(
    harness.admin,
    { type: FULL_VMIS, ...at(namespace, 'vm0') },
    (one) => one?.status?.phase === 'Running',
  );
});

test('a VMI that is deleted takes its pods and its migrations with it', async () => {
  const namespace = 'deleted';
  const { recording } = await blocked(namespace);
  await harness.admin.delete(FULL_VMIS, at(namespace, 'vm0'));
  await untilMigrationIsGone(harness.admin, at(namespace));
  await untilUsed(namespace, '0');
  await until(harness.admin, { type: FULL_VMIS, ...at(namespace, 'vm0') }, (vmi) => vmi === undefined);
  await recording.stop();
});

describe('parallel limits', () => {
  const limit = async (options: KubeVirtSettings): Promise<void> => {
    await harness.admin.create(FULL_KUBEVIRTS, newKubeVirt(options));
  };
  const unlimit = (): Promise<void> => harness.admin.delete(FULL_KUBEVIRTS, at('kubevirt', 'kubevirt'));

  /** While `first` runs, `second` is Pending without condition, event or pod; afterwards it runs. */
  async function expectOneAfterTheOther(namespace: string, first: string, second: string): Promise<void> {
    const recording = await recordHistory(harness.admin, namespace);
    await migrate(harness.admin, { namespace, name: first, vmi: first });
    await untilMigration(harness.admin, at(namespace, first), isIn('Scheduling'));
    await migrate(harness.admin, { namespace, name: second, vmi: second, priority: 'system-critical' });
    await untilMigration(harness.admin, at(namespace, second), isIn('Scheduling'));
    const ofSecond = recording.versions
      .filter(
        ({ object }) => object.metadata.name === second && object.kind === 'VirtualMachineInstanceMigration',
      )
      .map(({ object }) => object as Vmim);
    expect(ofSecond.filter(isIn('Pending')).flatMap(({ status }) => status?.conditions ?? [])).toEqual([]);
    const { object } = await harness.admin.get(FULL_MIGRATIONS, at(namespace, first));
    expect(object.status?.phase).toBe('Succeeded');
    expect(eventsIn(recording).filter(({ reason }) => reason === 'FailedCreate')).toEqual([]);
    await untilMigration(harness.admin, at(namespace, second), isIn('Succeeded'));
    await recording.stop();
  }

  const runThree = async (namespace: string): Promise<Vmi[]> => {
    await createNamespace(harness.admin, namespace);
    return Promise.all(['vm0', 'vm1', 'vm2'].map((name) => runVmi(harness.admin, { namespace, name })));
  };

  test('of the cluster', async () => {
    await limit({ parallelMigrationsPerCluster: 1 });
    await runThree('per-cluster');
    await expectOneAfterTheOther('per-cluster', 'vm0', 'vm1');
    await unlimit();
  });

  test('of a node: only for migrations away from it', async () => {
    await limit({ parallelOutboundMigrationsPerNode: 1 });
    const vmis = await runThree('per-node');
    const nodes = vmis.map(({ status }) => status?.nodeName);
    // Three on two nodes: one of them has two.
    const shared = nodes.find((node, index) => nodes.indexOf(node) !== index);
    const [first = '', second = ''] = vmis
      .filter(({ status }) => status?.nodeName === shared)
      .map(({ metadata }) => metadata.name);
    await expectOneAfterTheOther('per-node', first, second);
    await unlimit();
  });
});

test('hotplugged volumes: Pending until the attachment pod runs, and its refusal sets no condition', async () => {
  const namespace = 'hotplug';
  await createNamespace(harness.admin, namespace);
  const recording = await recordHistory(harness.admin, namespace);
  // Two launchers and the source's attachment pod.
  await createQuota(harness.admin, namespace, { pods: '3' });
  await harness.admin.create(
    FULL_VMIS,
    newVirtualMachineInstance({ namespace, name: 'vm0', hotplug: ['disk1'] }),
  );
  await untilUsed(namespace, '2');
  const { object: migration } = await harness.admin.create(
    FULL_MIGRATIONS,
    newMigration({ namespace, name: 'mig0', vmi: 'vm0' }),
  );
  await recording.until(isEvent('FailedCreate', 'Error creating attachment pod: pods "hp-volume-'));
  await recording.until(
    isEvent('FailedCreate', 'exceeded quota: quota, requested: pods=1, used: pods=3, limited: pods=3'),
  );
  const waiting = await untilMigration(harness.admin, at(namespace), isIn('Pending'));
  expect(waiting.status?.conditions).toBeUndefined();
  const target = await targetOf(namespace, migration);
  expect(target?.status?.phase).toBe('Running');

  await setQuota(namespace, { pods: '4' });
  await untilMigration(harness.admin, at(namespace), isIn('Succeeded'));
  const created = recording.versions.filter(({ kind, watch }) => kind === 'Pod' && watch === 'ADDED');
  const attachment = created
    .map(({ object }) => object as LauncherPod)
    .find(({ metadata }) => metadata.ownerReferences?.[0]?.uid === target?.metadata.uid);
  expect(attachment).toMatchObject({
    metadata: {
      generateName: 'hp-volume-',
      labels: { 'kubevirt.io': 'hotplug-disk', 'kubevirt.io/migrationJobUID': migration.metadata.uid },
      annotations: {
        'kubevirt.io/migrationJobName': 'mig0',
        'kubevirt.io/owner-vmi-name': 'vm0',
      },
      ownerReferences: [{ kind: 'Pod', controller: true, name: target?.metadata.name }],
    },
    spec: {
      containers: [
        { resources: { requests: { cpu: '10m', memory: '2M' }, limits: { cpu: '100m', memory: '80M' } } },
      ],
    },
  });
  // The source's attachment pod goes; the source pod stays, completed.
  await untilUsed(namespace, '2');
  await recording.stop();
});

test('virt-controller creates the pods, and sends no request that RBAC refuses', async () => {
  const lines = (await readFile(harness.controlPlane.auditLog, 'utf8'))
    .split('\n')
    .filter((line) => line !== '');
  const requests = lines
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ user }) => user.username === 'system:serviceaccount:kubevirt:kubevirt-controller');
  const refused = requests.filter(
    ({ annotations }) => annotations?.['authorization.k8s.io/decision'] !== 'allow',
  );
  expect(refused).toEqual([]);
  expect(requests.some(({ verb, objectRef }) => verb === 'create' && objectRef?.resource === 'pods')).toBe(
    true,
  );
});

// After the test of the audit log, because a starting API server has no roles yet and refuses everything.
test('virt-controller resumes its watches after an API server restart', async () => {
  const namespace = 'outage';
  await harness.controlPlane.stopApiServer();
  await harness.controlPlane.startApiServer();
  await createNamespace(harness.admin, namespace);
  await createQuota(harness.admin, namespace, TWO_VMS);
  await untilOwnersAreKnown(namespace);
  await runVmi(harness.admin, { namespace, name: 'vm0' });
  await migrate(harness.admin, { namespace, name: 'mig0', vmi: 'vm0' });
  await untilMigration(harness.admin, at(namespace), isIn('Succeeded'));
});

/** For up to 30 s a starting API server refuses owners whose kind is of a CRD: its admission has not read the CRDs yet. */
async function untilOwnersAreKnown(namespace: string): Promise<void> {
  const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', name: 'vm', uid: 'uid' };
  const pod = {
    metadata: { namespace, name: 'pod', ownerReferences: [{ ...owner, blockOwnerDeletion: true }] },
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] },
  };
  const create = (): Promise<string> =>
    harness.admin.create(PODS, pod, { dryRun: true }).then(() => 'created', describeError);
  await askUntil('a pod with a VMI as its owner is admitted', create, (answer) => answer === 'created');
}

/** The fields that this test reads. */
interface AuditEvent {
  verb: string;
  user: { username: string };
  objectRef?: { resource: string };
  annotations?: Record<string, string>;
}
