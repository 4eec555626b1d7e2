import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { userOf } from '../../../functions/domain/names.ts';
import type {
  KubernetesObject,
  Migration,
  Pod,
  ResourceList,
  ResourceQuota,
} from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { ApiError, describeError } from '../../../functions/kubernetes/errors.ts';
import { MIGRATIONS, NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { bindRole, untilAllowed } from '../../support/environment/roles.ts';
import { ApiServerSourceAdapter } from '../../cluster/eventing/adapter.ts';
import { parseApiServerSource } from '../../cluster/eventing/manifests.ts';
import { normalised, pairs, recordedRequest, type Headers } from '../../cluster/eventing/recorded.ts';
import { CRDS } from '../../cluster/served.ts';
import { recordingSink, type Recorded, type RecordingSink } from '../../cluster/eventing/recordingsink.ts';

/**
 * Repeats the changes of one recorded migration (test/recorded/adapter-*.json) on a real API server, by the same field
 * managers, and compares the stand-in's requests with those of the real adapter.
 */
const ACCOUNTS: ResourceType = {
  ...{ apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts' },
  namespaced: true,
};

const as = (fieldManager: string): Cluster => connect(controlPlane.adminKubeconfig, fieldManager);

const TENANT = 'tenant-a';
const SOURCE = { namespace: 'quota-system', name: 'mtq-source' };
const LOOK_EVERY_MS = 20;
/** How long the test waits for a missing request. */
const TIMEOUT_MS = 10_000;

let controlPlane: ControlPlane;
let admin: Cluster;
let sink: RecordingSink;
let adapter: ApiServerSourceAdapter;

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig);
  await prepare();
  sink = await recordingSink();
  adapter = new ApiServerSourceAdapter({
    source: parseApiServerSource({
      apiVersion: 'sources.knative.dev/v1',
      kind: 'ApiServerSource',
      metadata: { name: 'mtq', namespace: SOURCE.namespace },
      spec: {
        mode: 'Resource',
        serviceAccountName: SOURCE.name,
        namespaceSelector: {},
        resources: [
          { apiVersion: 'v1', kind: 'Pod' },
          { apiVersion: 'v1', kind: 'ResourceQuota' },
          { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstanceMigration' },
        ],
        sink: { uri: sink.url },
      },
    }),
    cluster: connect(await controlPlane.kubeconfigFor(SOURCE)),
    server: controlPlane.url,
    sinkUrl: sink.url,
  });
  await adapter.start();
});

afterAll(async () => {
  await adapter.stop();
  await sink.close();
  await controlPlane.stop();
});

describe('the same changes on a real API server give the same requests', () => {
  test('a quota and its pods', async () => {
    const { spec } = body<ResourceQuota>('adapter-resourcequota-add');
    const at = { namespace: TENANT, name: 'quota' };
    await as('kubectl').create(RESOURCE_QUOTAS, { metadata: at, spec });
    await enforced(spec.hard);
    // A recount of the pod between the charge and the raise would be a different history from the recorded one.
    await controlPlane.pauseControllerManager();
    await makePod('adapter-pod-add-source');
    const { object } = await admin.get(RESOURCE_QUOTAS, at);
    const raised = { ...object, spec: body<ResourceQuota>('adapter-resourcequota-update-spec-raised').spec };
    await as('mtq-controller-rig').replace(RESOURCE_QUOTAS, raised);
    controlPlane.resumeControllerManager();
    await enforced(raised.spec.hard);
    await makePod('adapter-pod-add-target');

    await expectRequest('adapter-resourcequota-add');
    await expectRequest('adapter-pod-add-source');
    await expectRequest('adapter-resourcequota-update-status');
    await expectRequest('adapter-resourcequota-update-spec-raised');
    await expectRequest('adapter-pod-add-target');
  });

  test('a migration', async () => {
    const { labels = {}, finalizers = [], name } = body<Migration>('adapter-vmim-add').metadata;
    const { spec } = body<Migration>('adapter-vmim-add');
    const metadata = { name, namespace: TENANT, labels, finalizers };
    await as('kubectl').create(MIGRATIONS, { metadata, spec });
    await change('annotations', body<Migration>('adapter-vmim-update-pending').metadata.annotations);
    await setStatus('adapter-vmim-update-pending');
    await setStatus('adapter-vmim-update-blocked');
    await setStatus('adapter-vmim-update-scheduling');
    await setStatus('adapter-vmim-update-succeeded');
    await setStatus('adapter-vmim-delete');
    await change('finalizers', []);
    await admin.delete(MIGRATIONS, { namespace: TENANT, name });

    await expectRequest('adapter-vmim-add');
    await expectRequest('adapter-vmim-update-pending');
    await expectRequest('adapter-vmim-update-blocked');
    await expectRequest('adapter-vmim-update-scheduling');
    await expectRequest('adapter-vmim-update-succeeded');
    await expectRequest('adapter-vmim-delete');
  });
});

const body = <T>(name: string): T => recordedRequest(name).body as T;

/** Expects the recorded request among the actual ones, except for values that change with every run. */
async function expectRequest(name: string): Promise<void> {
  const recorded = recordedRequest(name);
  const want = { headers: normalised(recorded.headers), body: comparable(recorded.body) };
  const subject = valueOf(recorded.headers, 'Ce-Subject');
  const candidates = (): Compared[] =>
    sink.requests.filter(({ headers }) => headers['ce-subject'] === subject).map((sent) => compared(sent));
  const isThere = (): boolean => candidates().some((got) => JSON.stringify(got) === JSON.stringify(want));
  const until = Date.now() + TIMEOUT_MS;
  await eventually(() => Promise.resolve(isThere() || Date.now() > until));
  if (!isThere()) expect(nearest(candidates(), want)).toEqual(want);
}

interface Compared {
  readonly headers: Headers;
  readonly body: unknown;
}

const compared = ({ rawHeaders, body: text }: Recorded): Compared => ({
  headers: normalised(pairs(rawHeaders)),
  body: comparable(JSON.parse(text)),
});

const valueOf = (headers: Headers, wanted: string): string | undefined =>
  headers.find(([name]) => name === wanted)?.[1];

/** The most similar request, for the failure message. */
function nearest(candidates: readonly Compared[], want: Compared): Compared | undefined {
  const wanted = JSON.stringify(want);
  const similarity = (got: Compared): number => {
    const text = JSON.stringify(got);
    let common = 0;
    while (common < text.length && text[common] === wanted[common]) common += 1;
    return common;
  };
  return candidates.toSorted((a, b) => similarity(b) - similarity(a))[0];
}

/** Values that the API server generates in every run; nothing else in a body may differ. */
const OF_THE_RUN: Readonly<Record<string, string>> = {
  uid: 'random',
  resourceVersion: "etcd's counter",
  creationTimestamp: 'now',
  time: 'now, in managedFields',
};

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (OF_THE_RUN[key] !== undefined && typeof inner === 'string') return [key, `(${key})`];
      return [key, key === 'managedFields' ? inAnyOrder(comparable(inner)) : comparable(inner)];
    }),
  );
}

/** The API server sorts them by time in whole seconds, and within a second by manager. */
const inAnyOrder = (entries: unknown): unknown =>
  Array.isArray(entries) ? entries.map((entry) => JSON.stringify(entry)).toSorted() : entries;

/** Fields that admission adds to a pod's spec and the API server to its metadata; clients do not send them. */
const ADDED_TO_SPEC = ['preemptionPolicy', 'priority', 'serviceAccount', 'serviceAccountName', 'tolerations'];
const ADDED_TO_METADATA = ['uid', 'resourceVersion', 'creationTimestamp', 'generation', 'managedFields'];

async function makePod(name: string): Promise<void> {
  const { metadata, spec } = body<Pod>(name);
  const sent = {
    metadata: without(metadata, ADDED_TO_METADATA),
    spec: without(spec, ADDED_TO_SPEC),
  };
  await as('virt-controller').create(PODS, sent);
}

const without = <T extends object>(object: T, keys: readonly string[]): T =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key))) as T;

const mig0 = async (): Promise<Migration> =>
  (await admin.get(MIGRATIONS, { namespace: TENANT, name: 'mig0' })).object;

async function change(key: 'annotations' | 'finalizers', value: unknown): Promise<void> {
  const migration = await mig0();
  const metadata = { ...migration.metadata, [key]: value };
  await as('virt-controller').replace(MIGRATIONS, { ...migration, metadata });
}

async function setStatus(name: string): Promise<void> {
  const { status = {} } = body<Migration>(name);
  await as('virt-controller').replace(MIGRATIONS, { ...(await mig0()), status }, { subresource: 'status' });
}

/**
 * Resolves when the quota has this status.hard, also in quota admission's cache, which gets it later. Quota admission does not
 * charge keys that it has not seen.
 */
async function enforced(hard: ResourceList = {}): Promise<void> {
  await eventually(async () => {
    const { object } = await admin.get(RESOURCE_QUOTAS, { namespace: TENANT, name: 'quota' });
    return JSON.stringify(object.status?.hard) === JSON.stringify(hard);
  });
  const requests = { cpu: '1000', memory: '1' };
  const pod = {
    metadata: { namespace: TENANT, name: 'too-large' },
    spec: { containers: [{ name: 'c', image: 'example.com/probe', resources: { requests } }] },
  };
  await eventually(async () => {
    const refusal = await admin.create(PODS, pod, { dryRun: true }).then(() => '', describeError);
    return refusal.includes(`limited: requests.cpu=${hard['requests.cpu'] ?? ''}`);
  });
}

async function prepare(): Promise<void> {
  for (const name of [TENANT, SOURCE.namespace]) await admin.create(NAMESPACES, { metadata: { name } });
  // Without the CRD of their VMIs, because the garbage collector would then miss the pods' owner and delete them.
  const crd = '../../cluster/kubevirt/crds/virtualmachineinstancemigrations.yaml';
  const file = new URL(crd, import.meta.url);
  await admin.create(CRDS, parse(readFileSync(file, 'utf8')) as KubernetesObject);
  await admin.create(ACCOUNTS, { metadata: SOURCE });
  const user = userOf(SOURCE.name, SOURCE.namespace);
  const resources = ['pods', 'resourcequotas', 'virtualmachineinstancemigrations'];
  const rules = [{ apiGroups: ['', 'kubevirt.io'], resources, verbs: ['get', 'list', 'watch'] }];
  await bindRole(admin, { role: 'source', user, rules });
  await untilAllowed(admin, user, { verb: 'list', resource: 'pods', allowed: true });
  await eventually(() => answers(admin.list(MIGRATIONS, {})));
  await eventually(() => answers(admin.get(ACCOUNTS, { namespace: TENANT, name: 'default' })));
}

/** 404 and 429: the API server does not serve a CRD yet, or an account does not exist yet. */
async function answers(read: Promise<unknown>): Promise<boolean> {
  try {
    await read;
    return true;
  } catch (error) {
    if (error instanceof ApiError && [404, 429].includes(error.code)) return false;
    throw error;
  }
}

async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
}
