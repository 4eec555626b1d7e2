import { LIVE_ANNOTATION } from '../../../functions/domain/live/names.ts';
import { ANNOTATION, LABEL, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import {
  MIGRATIONS,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMIS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import { CRDS, untilServed } from '../../cluster/served.ts';
import { newVirtualMachine, VMS } from '../../cluster/kubevirt/objects/objects.ts';
import type { ApiRequest } from '../environment/api-request.ts';
import { CLAIM, POD_SPEC } from './admission-requests.ts';
import { CLAIMS, startPolicyWorld, type PolicyWorld } from './policy-world.ts';

const TENANT = 'tenant';
/** The namespace with many labels itself. */
const LABELLED = 'labelled';
/** A locked namespace with raised quotas. raised-pods runs once for each; one more costs about a third of the write. */
const RAISED = 'raised';
const RAISED_QUOTAS = 2;
const QUOTAS = `/api/v1/namespaces/${TENANT}/resourcequotas`;
const VMS_PATH = `/apis/kubevirt.io/v1/namespaces/${TENANT}/virtualmachines`;
const VMIS_PATH = `/apis/kubevirt.io/v1/namespaces/${TENANT}/virtualmachineinstances`;
const VMMRQS_PATH = `/apis/${VMMRQS.apiVersion}/namespaces/${TENANT}/${VMMRQS.plural}`;
const VMIMS = `/apis/kubevirt.io/v1/namespaces/${TENANT}/virtualmachineinstancemigrations`;
const RUNS = 5;

/** CPU of the API server for one write, seconds. */
export interface WriteCost {
  readonly write: string;
  readonly without: number;
  readonly withPolicies: number;
}

interface Write {
  readonly user: string;
  readonly request: ApiRequest;
}

/** `count` keys, as short as they can be. */
const shortKeys = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [index.toString(36), '']));

/**
 * Measures what the policies add to writes of objects with `keys` labels, or amounts: the same requests, as dry runs,
 * before the policies are installed and after. Each figure is the smallest of five, because other work of the API server
 * only adds to it, and begins after a garbage collection: one more or less is half of a figure.
 */
export async function measureWriteCosts(keys: number): Promise<WriteCost[]> {
  const world = await startPolicyWorld();
  try {
    const writes = await writesOf(world, keys);
    const before = await costsOf(world, writes);
    for (const policies of ['config/policies', 'config/live-member'])
      await world.installPolicies(await render(policies));
    const after = await costsOf(world, writes);
    return Object.keys(writes).map((write, index) => ({
      write,
      without: before[index] ?? NaN,
      withPolicies: after[index] ?? NaN,
    }));
  } finally {
    await world.stop();
  }
}

async function writesOf(world: PolicyWorld, keys: number): Promise<Record<string, Write>> {
  const { admin } = world;
  for (const account of [SERVICE_ACCOUNT.raise, SERVICE_ACCOUNT.lower, SERVICE_ACCOUNT.unlock])
    await world.mayEverything(account);
  for (const crd of await render('config/crd')) await admin.create<KubernetesObject>(CRDS, crd);
  await untilServed(admin, VMMRQS);
  const labels = shortKeys(keys);
  // A quota stores its amounts three times.
  const amounts = Object.keys(shortKeys(Math.floor(keys / 4)));
  const hard = Object.fromEntries(amounts.map((key) => [`count/k${key}.x`, '0']));
  await world.tenant(TENANT, { labels: { [LABEL.locked]: 'true' } }, []);
  await world.tenant(RAISED, { labels: { [LABEL.locked]: 'true' } }, []);
  await world.tenant(LABELLED, { labels }, []);
  // The quota controller would make an API request for each of the amounts.
  await world.pauseControllers();
  for (const quota of [
    { metadata: { name: 'labels', namespace: TENANT, labels }, spec: { hard: { services: '1' } } },
    { metadata: { name: 'amounts', namespace: TENANT }, spec: { hard } },
  ]) {
    await admin.create(RESOURCE_QUOTAS, quota);
    const status = { hard: quota.spec.hard, used: quota.spec.hard };
    const at = { namespace: TENANT, name: quota.metadata.name };
    await admin.patch(RESOURCE_QUOTAS, at, { merge: { status }, subresource: 'status' });
  }
  await admin.create(MIGRATIONS, {
    metadata: { name: 'mig0', namespace: TENANT, labels },
    spec: { vmiName: 'vm0' },
  });
  await createOthers(world, labels);
  await createRaised(world);
  const read = async (name: string): Promise<KubernetesObject> =>
    (await admin.get(RESOURCE_QUOTAS, { namespace: TENANT, name })).object;
  const withLabels = await read('labels');
  const { object: namespace } = await admin.get(NAMESPACES, { name: LABELLED });
  const { object: migration } = await admin.get(MIGRATIONS, { namespace: TENANT, name: 'mig0' });
  const { object: vmi } = await admin.get(VMIS, { namespace: TENANT, name: 'vm0' });
  const { object: vm } = await admin.get(VMS, { namespace: TENANT, name: 'vm0' });
  const { object: moved } = await admin.get(VMS, { namespace: TENANT, name: 'moved' });
  const { object: claim } = await admin.get(CLAIMS, { namespace: TENANT, name: 'claim0' });
  const { object: running } = await admin.get(PODS, { namespace: TENANT, name: 'pod0' });
  const put = (user: string, path: string, object: KubernetesObject, changed: object = {}): Write => ({
    user,
    request: { method: 'PUT', path, body: { ...object, metadata: { ...object.metadata, ...changed } } },
  });
  const fence = { annotations: { [ANNOTATION.lastRelease]: 't undone' } };
  const raised = {
    labels: { ...labels, [LABEL.raised]: 'true' },
    annotations: { [ANNOTATION.grant]: '{}', [ANNOTATION.migrations]: 'a/b' },
  };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'pod', labels },
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] },
  };
  const vmmrq = {
    apiVersion: VMMRQS.apiVersion,
    kind: VMMRQS.kind,
    metadata: { name: 'migrations', namespace: TENANT, labels },
    spec: { additionalMigrationResources: { 'requests.memory': '1Gi' } },
  };
  return {
    'lower fences a quota with many labels': put(
      SERVICE_ACCOUNT.lower,
      `${QUOTAS}/labels/status`,
      withLabels,
      fence,
    ),
    'raise marks a quota with many labels': put(
      SERVICE_ACCOUNT.raise,
      `${QUOTAS}/labels/status`,
      withLabels,
      raised,
    ),
    'lower fences a quota with many amounts': put(
      SERVICE_ACCOUNT.lower,
      `${QUOTAS}/amounts/status`,
      await read('amounts'),
      fence,
    ),
    'unlock writes a namespace with many labels': put(
      SERVICE_ACCOUNT.unlock,
      `/api/v1/namespaces/${LABELLED}`,
      namespace,
      { annotations: { [ANNOTATION.lastAttempt]: '{}' } },
    ),
    'lower nudges a migration with many labels': put(SERVICE_ACCOUNT.lower, `${VMIMS}/mig0`, migration, {
      annotations: { [ANNOTATION.nudged]: 'now' },
    }),
    'a tenant edits a quota with many amounts': put('editor', `${QUOTAS}/amounts`, await read('amounts')),
    'a tenant edits a migration with many labels': put('editor', `${VMIMS}/mig0`, migration),
    'a user edits a namespace with many labels': put('editor', `/api/v1/namespaces/${LABELLED}`, namespace),
    'a tenant edits a VMI with many labels': put('editor', `${VMIS_PATH}/vm0`, vmi),
    'a tenant edits a VM with many labels': put('editor', `${VMS_PATH}/vm0`, vm),
    'a tenant edits a VM that has moved, with many labels': put('editor', `${VMS_PATH}/moved`, moved),
    'a tenant edits a claim with many labels': put(
      'editor',
      `/apis/resource.k8s.io/v1/namespaces/${TENANT}/resourceclaims/claim0`,
      claim,
    ),
    'a tenant resizes a pod with many labels': put(
      'editor',
      `/api/v1/namespaces/${TENANT}/pods/pod0/resize`,
      running,
    ),
    'a tenant creates an Event with many labels and annotations': {
      user: 'editor',
      request: { method: 'POST', path: `/api/v1/namespaces/${TENANT}/events`, body: eventWith(labels) },
    },
    'an admin creates a VMMRQ with many labels': {
      user: 'editor',
      request: { method: 'POST', path: VMMRQS_PATH, body: vmmrq },
    },
    'a tenant creates a pod with many labels': {
      user: 'editor',
      request: { method: 'POST', path: `/api/v1/namespaces/${TENANT}/pods`, body: pod },
    },
    'a tenant creates a pod with many labels, where two quotas are raised': {
      user: 'editor',
      request: { method: 'POST', path: `/api/v1/namespaces/${RAISED}/pods`, body: pod },
    },
  };
}

/** Creates the raised quotas. */
async function createRaised({ admin }: PolicyWorld): Promise<void> {
  for (let index = 0; index < RAISED_QUOTAS; index += 1) {
    const at = { namespace: RAISED, name: `quota${index}` };
    const record = {
      labels: { [LABEL.raised]: 'true' },
      annotations: { [ANNOTATION.grant]: '{}', [ANNOTATION.migrations]: 'a/b' },
    };
    await admin.create(RESOURCE_QUOTAS, { metadata: { ...at, ...record }, spec: { hard: { pods: '9' } } });
    const status = { hard: { pods: '10' }, used: { pods: '0' } };
    await admin.patch(RESOURCE_QUOTAS, at, { merge: { status }, subresource: 'status' });
  }
}

/** Creates two VMs, a VMI, a pod and a claim with the labels, before any policy is there. */
async function createOthers({ admin }: PolicyWorld, labels: Record<string, string>): Promise<void> {
  const vm = newVirtualMachine({ namespace: TENANT, name: 'vm0', claims: [], runStrategy: 'Halted' });
  await admin.create(VMS, { ...vm, metadata: { ...vm.metadata, labels } });
  const annotations = { [LIVE_ANNOTATION.movedTo]: 'prod' };
  await admin.create(VMS, { ...vm, metadata: { ...vm.metadata, name: 'moved', labels, annotations } });
  await admin.create(VMIS, { metadata: { name: 'vm0', namespace: TENANT, labels }, spec: {} });
  await admin.create(PODS, { metadata: { name: 'pod0', namespace: TENANT, labels }, spec: POD_SPEC });
  await admin.create(CLAIMS, { ...CLAIM, metadata: { name: 'claim0', namespace: TENANT, labels } });
}

/** Half of the keys as labels, half as annotations. */
const eventWith = (keys: Record<string, string>): object => {
  const all = Object.entries(keys);
  const [labels, annotations] = [all.slice(0, all.length / 2), all.slice(all.length / 2)].map((part) =>
    Object.fromEntries(part),
  );
  return {
    ...{
      apiVersion: 'v1',
      kind: 'Event',
      involvedObject: { namespace: TENANT },
      reason: 'Any',
      type: 'Normal',
    },
    metadata: { name: 'event', namespace: TENANT, labels, annotations },
  };
};

async function costsOf(world: PolicyWorld, writes: Record<string, Write>): Promise<number[]> {
  const costs: number[] = [];
  for (const { user, request } of Object.values(writes)) {
    const dry = { ...request, path: `${request.path}?dryRun=All` };
    const each: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      await world.collectGarbage();
      const before = await cpuOf(world);
      const verdict = await world.ask(user, dry);
      // A request that authorization or validation refuses never reaches a policy.
      if (verdict.by === 'rbac' || verdict.by === 'other') throw new Error(`${user}: ${verdict.text}`);
      each.push((await cpuOf(world)) - before);
    }
    costs.push(Math.min(...each));
  }
  return costs;
}

/** CPU seconds of the API server's process. */
const cpuOf = async (world: PolicyWorld): Promise<number> =>
  Number(/^process_cpu_seconds_total (\S+)/m.exec(await world.metrics())?.[1]);

/** A line for each write: CPU seconds without and with the policies, and their ratio. */
export const table = (costs: readonly WriteCost[]): string =>
  costs
    .map(({ write, without, withPolicies }) => {
      const figures = [without, withPolicies, withPolicies / without].map((figure) => figure.toFixed(2));
      return `${figures.join(' ')}  ${write}`;
    })
    .join('\n');
