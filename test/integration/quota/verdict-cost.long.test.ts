import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { assess } from '../../../functions/domain/verdict/assessment.ts';
import type { KubernetesEvent, KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import {
  EVENTS,
  MIGRATIONS,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMIS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { readSnapshot } from '../../../functions/cluster/snapshot.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import { newMigration, newVirtualMachineInstance } from '../../cluster/kubevirt/objects/objects.ts';
import { CRDS, untilServed } from '../../cluster/served.ts';
import { aView, RULES } from '../../support/builders/snapshot.ts';
import { aLauncher } from '../../support/builders/kubevirt.ts';
import { exceeded } from '../../support/builders/pod-rejection.ts';

/* What one verdict costs as a namespace grows: so many VMs, each with its pod, its migration and its refusal. */
jest.setTimeout(600_000);

const SIZES = [1, 10, 100, 1_000];
const AT_ONCE = 32;
/** The reads of a namespace with a waiting migration: each kind once, and up to three single VMIs. */
const MAX_REQUESTS = 12;

const SERVICE_ACCOUNTS = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

let controlPlane: ControlPlane;
let admin: Cluster;

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig);
  await installKubeVirt(admin);
  for (const crd of await render('config/crd')) await admin.create<KubernetesObject>(CRDS, crd);
  await untilServed(admin, VMMRQS);
  // Without controllers the created objects are not counted, collected or ended.
  await controlPlane.pauseControllerManager();
});

afterAll(async () => {
  await controlPlane.stop();
});

async function fill(namespace: string, size: number): Promise<void> {
  await admin.create(NAMESPACES, { metadata: { name: namespace } });
  await admin.create(SERVICE_ACCOUNTS, { metadata: { namespace, name: 'default' } });
  const left = Array.from({ length: size }, (_, vm) => vm).values();
  const work = async (): Promise<void> => {
    for (const vm of left) await addVm(namespace, vm);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const hard = { 'requests.cpu': '2', pods: '5000' };
  const metadata = { namespace, name: 'quota' };
  const { object } = await admin.create(RESOURCE_QUOTAS, { metadata, spec: { hard } });
  const status = { hard, used: { 'requests.cpu': '2', pods: String(size) } };
  await admin.replace(RESOURCE_QUOTAS, { ...object, status }, { subresource: 'status' });
  await admin.create(VMMRQS, {
    metadata: { namespace, name: 'more' },
    spec: { additionalMigrationResources: { 'requests.cpu': '2' } },
  });
}

/** A running VMI, with virt-controller's report that a quota refuses its target pod. */
async function addVm(namespace: string, vm: number): Promise<void> {
  const name = `vm${vm}`;
  const { object: vmi } = await admin.create(VMIS, newVirtualMachineInstance({ namespace, name }));
  const launcher = aLauncher(name);
  const [owner] = launcher.metadata.ownerReferences ?? [];
  const ownerReferences = owner === undefined ? [] : [{ ...owner, uid: vmi.metadata.uid }];
  const containers = launcher.spec.containers.map((container) => ({ ...container, image: 'none' }));
  const { labels } = launcher.metadata;
  const pod = {
    metadata: { namespace, name: `launcher-${vm}`, labels, ownerReferences },
    spec: { containers },
  };
  await admin.create(PODS, pod as New<typeof launcher>);
  const { object } = await admin.create(MIGRATIONS, newMigration({ namespace, name: `mig${vm}`, vmi: name }));
  const conditions = [{ type: 'migrationRejectedByResourceQuota', status: 'True' as const }];
  const status = { phase: 'Pending', conditions };
  await admin.replace(MIGRATIONS, { ...object, status }, { subresource: 'status' });
  await admin.create(EVENTS, refusalOf(vmi, vm));
}

const refusalOf = (
  { metadata: { namespace = '', name, uid } }: KubernetesObject,
  vm: number,
): New<KubernetesEvent> => ({
  metadata: { namespace, name: `refused.${vm}` },
  involvedObject: { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', namespace, name, uid },
  reason: 'FailedCreate',
  type: 'Warning',
  message: `Error creating pod: ${exceeded('quota', 'requests.cpu=1005m')}`,
  lastTimestamp: `${new Date().toISOString().slice(0, 19)}Z`,
});

/** A cluster client that records its requests. */
function counted(cluster: Cluster): { readonly cluster: Cluster; readonly requests: string[] } {
  const requests: string[] = [];
  const note = (verb: string, { plural }: Pick<ResourceType, 'plural'>): void => {
    requests.push(`${verb} ${plural}`);
  };
  const get: Cluster['get'] = (type, at) => {
    note('get', type);
    return cluster.get(type, at);
  };
  const list: Cluster['list'] = (type, where) => {
    note('list', type);
    return cluster.list(type, where);
  };
  return { cluster: Object.assign(Object.create(cluster) as Cluster, { get, list }), requests };
}

test('the requests of a verdict do not grow with the namespace', async () => {
  const rows: { size: number; requests: string[]; readMs: number; evaluateMs: number }[] = [];
  for (const size of SIZES) {
    const name = `cost-${size}`;
    await fill(name, size);
    const { cluster, requests } = counted(admin);
    const began = performance.now();
    const snapshot = await readSnapshot(cluster, {
      name,
      rules: RULES,
      view: () => Promise.resolve(aView()),
    });
    if (snapshot === undefined) throw new Error(`${name} is gone`);
    const read = performance.now();
    const { verdicts, migrations } = assess(snapshot, RULES);
    rows.push({ size, requests, readMs: read - began, evaluateMs: performance.now() - read });
    expect(verdicts).toHaveLength(size);
    expect(verdicts.every(({ blocking }) => blocking.length === 1)).toBe(true);
    expect(migrations).toHaveLength(1);
  }
  const lines = rows.map(({ size, requests, readMs, evaluateMs }) => {
    const cells = [size, requests.length, readMs.toFixed(0), evaluateMs.toFixed(0)];
    return cells.map((cell) => String(cell).padStart(12)).join('');
  });
  process.stdout.write(`  migrations    requests    read, ms   decide, ms\n${lines.join('\n')}\n`);
  for (const { requests } of rows) expect(requests.length).toBeLessThanOrEqual(MAX_REQUESTS);
  const [many, max] = rows.slice(-2).map(({ requests }) => requests.toSorted());
  expect(max).toEqual(many);
});
