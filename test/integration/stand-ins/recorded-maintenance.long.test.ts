import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import { createNodes } from '../../cluster/kubevirt/objects/node-objects.ts';
import {
  FULL_KUBEVIRTS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  type FullKubeVirt,
} from '../../cluster/kubevirt/objects/objects.ts';
import { announce, deploy, reportObserved } from '../../cluster/kubevirt/operator.ts';
import { releaseOf } from '../../cluster/kubevirt/objects/release.ts';
import { NODE_NAMES, startKubeVirt, type KubeVirtStandIn } from '../../cluster/kubevirt/start.ts';
import type { RecordedEvent, Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { byVm, milestonesOf, normaliseMaintenance } from '../../support/kubevirt/by-vm.ts';
import { createNamespace, createQuota, runVmi } from '../../support/kubevirt/harness.ts';
import { readHistory, recordHistory, type Recording, type Version } from '../../support/kubevirt/history.ts';
import { timelinesOf, versionsOf } from '../../support/kubevirt/normalise.ts';

/*
 * The recordings' cluster: two tenants with two VMs each and exactly full quotas. First a drain, then an upgrade. Each VM of
 * the stand-in must behave as one of the recorded four: these differ among themselves in which writes became one version.
 */
const TENANTS = ['tenant-a', 'tenant-b'];
const VMS = ['vm0', 'vm1'];
const FULL = { pods: '2', 'requests.cpu': '2010m', 'requests.memory': '2825657728' };
const RAISED = { pods: '3', 'requests.cpu': '3210m', 'requests.memory': '4398521728' };
const BEFORE = releaseOf('v1.9.0-rig', {
  deploymentId: 'rig',
  launcherImage: 'registry.example/kubevirt/virt-launcher:v1.9.0',
});
const AFTER = releaseOf('v1.9.1-rig', {
  deploymentId: 'rig2',
  launcherImage: 'registry.example/kubevirt/virt-launcher:v1.9.1',
});
const MIGRATION = FULL_MIGRATIONS.kind;
const TOUCH_EVERY_MS = 1_000;

let controlPlane: ControlPlane;
let admin: Cluster;
let kubevirt: KubeVirtStandIn;

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig);
  await installKubeVirt(admin);
  await createNodes(admin, NODE_NAMES);
  await deploy(admin, { workloadUpdateMethods: ['LiveMigrate'] }, BEFORE);
  kubevirt = await start(BEFORE);
  for (const namespace of TENANTS) {
    await createNamespace(admin, namespace);
    for (const name of VMS) await runVmi(admin, { namespace, name, labels: { rig: 'vm' } });
    await createQuota(admin, namespace, FULL);
  }
});

afterAll(async () => {
  await kubevirt.stop();
  await controlPlane.stop();
});

async function start(release: typeof BEFORE): Promise<KubeVirtStandIn> {
  const account = { namespace: 'kubevirt', name: 'kubevirt-controller' };
  return startKubeVirt({ cluster: connect(await controlPlane.kubeconfigFor(account)), release });
}

/** Records both tenants and the CR while `begin` starts the migrations and these go through, one at a time in each namespace. */
async function reproduce(begin: () => Promise<void>): Promise<Version[]> {
  const tenants = await Promise.all(TENANTS.map((namespace) => recordHistory(admin, namespace)));
  const cr = await recordHistory(admin, 'kubevirt', { kinds: [FULL_KUBEVIRTS] });
  await begin();
  for (const recording of tenants) await recording.until(() => refusedIn(recording).length === VMS.length);
  await Promise.all(TENANTS.map((namespace, index) => letThrough(namespace, tenants[index])));
  const recordings = [...tenants, cr];
  for (const recording of recordings) await recording.stop();
  return recordings.flatMap(({ versions }) => [...versions]);
}

const migrationsIn = ({ versions }: Recording): Vmim[] =>
  versions.filter(({ kind }) => kind === MIGRATION).map(({ object }) => object as Vmim);

const namesOf = (migrations: readonly Vmim[]): string[] => [
  ...new Set(migrations.map(({ metadata }) => metadata.name)),
];

/** Migrations that a quota refused, at least ten times: the events are combined by then. */
function refusedIn(recording: Recording): string[] {
  const combined = recording.versions.filter(
    ({ kind, object }) => kind === 'Event' && (object as RecordedEvent).message.startsWith('(combined'),
  );
  const vms = new Set(combined.map(({ object }) => (object as RecordedEvent).involvedObject.name));
  return namesOf(
    migrationsIn(recording).filter(
      ({ spec, status }) => status?.conditions !== undefined && vms.has(spec.vmiName),
    ),
  );
}

const freeIn = (recording: Recording): string[] =>
  namesOf(
    migrationsIn(recording).filter(
      ({ metadata, status }) => status?.phase === 'Succeeded' && metadata.finalizers === undefined,
    ),
  );

/** Migrations whose last Event is written: virt-controller writes Events in the background. */
const reportedIn = ({ versions }: Recording): Set<string> =>
  new Set(
    versions
      .filter(({ kind }) => kind === 'Event')
      .map(({ object }) => object as RecordedEvent)
      .flatMap(({ reason, involvedObject }) =>
        reason === 'SuccessfulMigration' ? [involvedObject.name ?? ''] : [],
      ),
  );

/** Raises the quota until the target pod exists, restores it, and waits for that migration; for each VM. */
async function letThrough(namespace: string, recording: Recording | undefined): Promise<void> {
  if (recording === undefined) return;
  const set = async (hard: Record<string, string>): Promise<void> => {
    await admin.patch(RESOURCE_QUOTAS, { namespace, name: 'quota' }, { merge: { spec: { hard } } });
  };
  const touch = async (): Promise<void> => {
    const merge = { metadata: { annotations: { touched: String(performance.now()) } } };
    await admin.patch(RESOURCE_QUOTAS, { namespace, name: 'quota' }, { merge });
  };
  const podsIn = (): Version[] =>
    recording.versions.filter(({ kind, watch }) => kind === 'Pod' && watch === 'ADDED');
  for (const [index] of VMS.entries()) {
    await set(RAISED);
    const created = recording.until(() => podsIn().length > index);
    // The retry at the raise fails where the API server's own cache of quotas is late; the next would come after up to 41 s, by
    // the back-off of the refusals before (facts/kubevirt.md §1.4). Another change of the quota causes one at once.
    while (!(await Promise.race([created.then(() => true), delay(TOUCH_EVERY_MS, false)]))) await touch();
    await set(FULL);
    await recording.until(
      () =>
        freeIn(recording).length > index &&
        reportedIn(recording).size > index &&
        usedPodsOf(recording) === '2',
    );
  }
}

const usedPodsOf = ({ versions }: Recording): string | undefined =>
  (
    versions.findLast(({ kind }) => kind === RESOURCE_QUOTAS.kind)?.object as
      { status?: { used?: Record<string, string> } } | undefined
  )?.status?.used?.['pods'];

const drain = async (): Promise<void> => {
  for (const namespace of TENANTS) {
    for (const name of VMS) {
      const { object } = await admin.get(FULL_VMIS, { namespace, name });
      const merge = { status: { evacuationNodeName: object.status?.nodeName } };
      await admin.patch(FULL_VMIS, { namespace, name }, { merge });
    }
  }
};

const upgrade = async (): Promise<void> => {
  await announce(admin, AFTER);
  await kubevirt.stop();
  kubevirt = await start(AFTER);
  await reportObserved(admin, AFTER);
};

/** In this order: the upgrade's VMs were drained before. */
const RECORDINGS = [
  { file: 'drain-evacuation', begin: drain },
  { file: 'upgrade-workload-update', begin: upgrade },
];

/** What an event says, and about which kind; how often, and when in the run, differs. */
const eventsOf = (history: readonly Version[]): string[] => [
  ...new Set(
    normaliseMaintenance(history)
      .filter(({ kind, fields }) => kind === 'Event' && fields['reason'] !== 'FailedCreate')
      .map(({ fields: { reason, message, type, ...fields } }) =>
        [fields['involvedObject.kind'], fields['source.component'], type, reason, message].join(' | '),
      ),
  ),
];

const COMPARISONS: Readonly<Record<string, (history: readonly Version[]) => unknown>> = {
  'the transitions, in their order': milestonesOf,
  'every version of the migration': (history: readonly Version[]) =>
    versionsOf(MIGRATION, normaliseMaintenance(history)),
  'the values of each field of the VM in order': (history: readonly Version[]) =>
    timelinesOf(FULL_VMIS.kind, normaliseMaintenance(history)),
  'the target pod as it was created': (history: readonly Version[]) =>
    versionsOf('Pod', normaliseMaintenance(history)).filter(({ watch }) => watch === 'ADDED'),
  'the events but the refusals': eventsOf,
};

const reproductions = new Map<string, readonly Version[]>();

describe.each(RECORDINGS)('$file', ({ file, begin }) => {
  let recorded: Version[];
  let reproduced: Version[];

  beforeAll(async () => {
    recorded = await readHistory(file);
    reproduced = await reproduce(begin);
    reproductions.set(file, reproduced);
  });

  test.each(Object.entries(COMPARISONS))('each VM: %s', (_, of) => {
    const want = [...byVm(recorded).values()].map((history) => of(history));
    const got = [...byVm(reproduced).values()].map((history) => of(history));
    expect(got).toHaveLength(TENANTS.length * VMS.length);
    // The message of a failed toContainEqual shows no difference.
    for (const one of got) expect(want.find((other) => isSame(one, other)) ?? want[0]).toEqual(one);
  });

  test('all migrations exist before the first target pod: there is no cap', () => {
    for (const history of [recorded, reproduced]) {
      const firstPod = orderOf(history.find(({ kind, watch }) => kind === 'Pod' && watch === 'ADDED'));
      const created = history.filter(({ kind, watch }) => kind === MIGRATION && watch === 'ADDED');
      expect(created.filter((one) => orderOf(one) < firstPod)).toHaveLength(TENANTS.length * VMS.length);
    }
  });
});

test('the CR during the upgrade: observed with the old number, then the number, then the migrations', async () => {
  const recorded = await readHistory('upgrade-workload-update');
  const reproduced = reproductions.get('upgrade-workload-update') ?? [];
  const versionsIn = (history: readonly Version[]): Version[] =>
    history.filter(
      ({ kind, object }) =>
        kind === FULL_KUBEVIRTS.kind &&
        (object as FullKubeVirt).status?.targetDeploymentID === AFTER.deploymentId,
    );
  const statusesIn = (history: readonly Version[]): unknown[] =>
    // The end of the upgrade was not recorded.
    versionsIn(history)
      .slice(0, 3)
      .map(({ object }) => (object as FullKubeVirt).status);
  expect(statusesIn(recorded)).toHaveLength(3);
  expect(statusesIn(reproduced)).toEqual(statusesIn(recorded));
  for (const history of [recorded, reproduced]) {
    const migration = history.find(({ kind, watch }) => kind === MIGRATION && watch === 'ADDED');
    expect(orderOf(versionsIn(history)[2])).toBeLessThan(orderOf(migration));
  }
});

const orderOf = (version: Version | undefined): bigint =>
  BigInt(version?.object.metadata.resourceVersion ?? 0);

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
