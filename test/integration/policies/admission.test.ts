import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ANNOTATION,
  isReserved,
  LABEL,
  SERVICE_ACCOUNT,
  SYSTEM_NAMESPACE,
  WEBHOOK,
  POD_IDENTITY_LABELS,
} from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { isAlreadyExists } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import { DEFAULT_USERS, type ControlPlane, type User } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { guessPlural } from '../../cluster/eventing/source.ts';
import {
  annotate,
  annotateByFinalize,
  annotateByStatus,
  breakGlass,
  applyQuota,
  changeClaim,
  changePod,
  changeQuota,
  CLAIM,
  createClaim,
  createConfigMap,
  createNamespace,
  createPod,
  createQuota,
  deleteNamespace,
  deletion,
  giveDeadline,
  label,
  labelQuota,
  labelStatus,
  OF_ITS_POD,
  relabelPod,
  POD_SPEC,
  replaceNamespace,
  replaceQuota,
} from '../../support/policies/admission-requests.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../../webhook/tls/resources.ts';
import { apiRequests, type ApiAnswer, type ApiRequest } from '../../support/environment/api-request.ts';
import { startStubWebhook, type StubWebhook } from '../../support/faults/stub-webhook.ts';

/**
 * The requests that the API server sends to the guard. No guard runs here, so failurePolicy Fail turns each of them into a
 * refusal with the webhook's name. Every request is a dry run, so the tests are independent.
 */
const TIMEOUT_MS = 20_000;

const LOCKED = 'tenant-locked';
const FREE = 'tenant-free';
/** Without a lock, with the record of an attempt. */
const ATTEMPTED = 'tenant-attempted';
const RESERVED = [
  'kube-tenant',
  'openshift-tenant',
  'knative-tenant',
  'kubevirt',
  'default',
  SYSTEM_NAMESPACE,
];
/** Tenants' names that are as close as possible to reserved names. */
const NEARLY = ['kubevirt-tenant', 'tenant-kube-x', 'default-x'];

const TOKEN = '11111111-2222-4333-8444-555555555555';
const LOCKED_METADATA = {
  labels: { [LABEL.locked]: 'true' },
  annotations: {
    ...{ [ANNOTATION.lock]: '{}', [ANNOTATION.token]: TOKEN },
    ...{ [ANNOTATION.migrations]: 'a/b', [ANNOTATION.lastAttempt]: '{}' },
  },
};

/** Users with the rights for every request here. None is in system:masters, which skips authorization. */
const EDITOR: User = { name: 'editor', groups: ['editors'] };
const REPAIRER: User = { name: 'repairer', groups: ['repairers'] };

let controlPlane: ControlPlane;
let admin: Cluster;
const as: Record<string, (request: ApiRequest) => Promise<ApiAnswer>> = {};

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig);
  await admin.create(NAMESPACES, { metadata: { name: SYSTEM_NAMESPACE } });
  await createAll([...(await render('config/rbac')), ...GRANTS]);
  for (const name of [LOCKED, ...NEARLY, ...RESERVED]) await makeNamespace(name, LOCKED_METADATA);
  await makeNamespace(FREE, {});
  await makeNamespace(ATTEMPTED, { annotations: { [ANNOTATION.lastAttempt]: '{}' } });
  await makeUsers();

  const manifests = await render('config/webhook');
  await createAll(manifests.filter(({ kind }) => kind === 'ValidatingWebhookConfiguration'));
  // The API server uses the webhooks only a moment after it has accepted them.
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  const inUse = async (): Promise<boolean> => {
    const answers = [
      await ask('editor', createPod(LOCKED)),
      await ask('editor', annotate(FREE, ANNOTATION.lock)),
    ];
    return !answers.includes('passes');
  };
  while (!(await inUse())) await sleep(50, undefined, { signal: deadline });
});

afterAll(async () => {
  await controlPlane.stop();
});

type Asked = 'passes' | (typeof WEBHOOK)['locked' | 'keys'];

describe(WEBHOOK.locked, () => {
  test.each<[string, ApiRequest]>([
    ['a pod', createPod(LOCKED)],
    ['a pod that grows', changePod(LOCKED, '/resize')],
    ['a pod that gets a deadline', giveDeadline(LOCKED)],
    ...POD_IDENTITY_LABELS.map((key): [string, ApiRequest] => [
      `a pod’s other ${key}`,
      relabelPod(LOCKED, key),
    ]),
    ['a device that is claimed', createClaim(LOCKED)],
    ['a claim that is its pod’s no more', changeClaim(LOCKED, OF_ITS_POD)],
    ['a new quota', createQuota(LOCKED)],
    ['our label on a quota', labelQuota(LOCKED)],
    ['our label on a quota, by its status', labelQuota(LOCKED, '/status')],
  ])('while a namespace is locked, the guard is asked about %s', async (_what, request) => {
    expect(await ask('editor', request)).toBe(WEBHOOK.locked);
    expect(await ask('cluster-admin', request)).toBe(WEBHOOK.locked);
  });

  test.each<[string, ApiRequest]>([
    ['a changed pod', changePod(LOCKED, '')],
    ['a changed claim', changeClaim(LOCKED, { labels: { changed: 'true' } })],
    ['a deleted pod', deletion(LOCKED, 'pods')],
    ['a changed quota', changeQuota(LOCKED)],
    ['a replaced quota', replaceQuota(LOCKED)],
    ['a deleted quota', deletion(LOCKED, 'resourcequotas')],
    ['the status of a quota', changeQuota(LOCKED, '/status')],
    ['other kinds', createConfigMap(LOCKED)],
  ])('not about %s', async (_what, request) => {
    expect(await ask('editor', request)).toBe('passes');
  });

  test('not about a namespace that is not locked', async () => {
    expect(await ask('editor', createPod(FREE))).toBe('passes');
    expect(await ask('editor', labelQuota(FREE))).toBe('passes');
    expect(await ask('editor', createClaim(FREE))).toBe('passes');
    expect(await ask('editor', giveDeadline(FREE))).toBe('passes');
    for (const key of POD_IDENTITY_LABELS) expect(await ask('editor', relabelPod(FREE, key))).toBe('passes');
  });

  test.each(RESERVED)('not about %s, even with our label', async (namespace) => {
    expect(isReserved({ namespace, kubevirtNamespace: 'kubevirt' })).toBe(true);
    expect(await ask('editor', createPod(namespace))).toBe('passes');
  });

  test.each(NEARLY)('about %s, which is a tenant’s', async (namespace) => {
    expect(isReserved({ namespace, kubevirtNamespace: 'kubevirt' })).toBe(false);
    expect(await ask('editor', createPod(namespace))).toBe(WEBHOOK.locked);
  });

  test('an unreachable guard never blocks our own quota updates', async () => {
    for (const account of ['lower', 'guard']) {
      expect([account, await ask(account, labelStatus(LOCKED))]).toEqual([account, 'passes']);
    }
  });

  test('about our own create, because the guard’s refusal is the proof', async () => {
    expect(await ask('raise', createQuota(LOCKED))).toBe(WEBHOOK.locked);
  });

  test('the source has no write rights at all', async () => {
    const { code } = await send('source', replaceQuota(LOCKED));
    expect(code).toBe(403);
  });
});

describe(WEBHOOK.keys, () => {
  const OF_LOCK = [ANNOTATION.lock, ANNOTATION.token, ANNOTATION.migrations];
  const OURS = [...OF_LOCK, ANNOTATION.lastAttempt];

  test.each<[string, ApiRequest]>([
    ...OURS.flatMap((key): [string, ApiRequest][] => [
      [`${key} put on`, annotate(FREE, key)],
      [`${key} changed`, annotate(LOCKED, key)],
      [`${key} taken off`, annotate(LOCKED, key, null)],
      [`${key} put on by way of /status`, annotateByStatus(FREE, key)],
      [`${key} put on by way of /finalize`, annotateByFinalize(FREE, key)],
    ]),
    ...OF_LOCK.map((key): [string, ApiRequest] => [
      `a namespace made with ${key}`,
      createNamespace({ annotations: { [key]: 'x' } }),
    ]),
    [`${LABEL.locked} put on`, label(FREE, 'true')],
    [`${LABEL.locked} changed`, label(LOCKED, 'false')],
    [`${LABEL.locked} taken off`, label(LOCKED, null)],
    [`a namespace made with ${LABEL.locked}`, createNamespace({ labels: { [LABEL.locked]: 'true' } })],
  ])('the guard is asked about %s', async (_what, request) => {
    expect(await ask('editor', request)).toBe(WEBHOOK.keys);
  });

  test.each<[string, ApiRequest]>([
    ['another annotation, on a namespace without any', annotate(FREE, 'example.com/note')],
    ['another annotation, on a locked namespace', annotate(LOCKED, 'example.com/note')],
    ['the opt-out', annotate(LOCKED, ANNOTATION.skip, 'true')],
    ['the status of a locked namespace', annotateByStatus(LOCKED, 'example.com/note')],
    ['a namespace without metadata of its own', createNamespace({})],
    ['a last attempt taken off where there is no lock', annotate(ATTEMPTED, ANNOTATION.lastAttempt, null)],
    ['the deletion of a locked namespace', deleteNamespace(LOCKED)],
  ])('not about %s', async (_what, request) => {
    expect(await ask('editor', request)).toBe('passes');
  });

  test('not about our own writes', async () => {
    for (const account of ['lock', 'raise', 'unlock', 'guard']) {
      expect([account, await ask(account, replaceNamespace(FREE))]).toEqual([account, 'passes']);
    }
  });

  test('not about a break-glass user, for as long as the binding exists', async () => {
    expect(await ask('repairer', breakGlass(LOCKED, TOKEN))).toBe(WEBHOOK.keys);
    const glass = binding('managed-tenant-quota-break-glass', REPAIRER.name);
    await createAll([glass]);
    await expectEventually('repairer', breakGlass(LOCKED, TOKEN), 'passes');
    // The break-glass right alone does not allow the write.
    for (const user of ['repairer', 'cluster-admin']) {
      expect(await ask(user, label(LOCKED, null))).toBe(WEBHOOK.keys);
      expect(await ask(user, breakGlass(LOCKED, 'unreadable'))).toBe(WEBHOOK.keys);
    }

    await admin.delete(typeOf(glass), {
      name: bindingName('managed-tenant-quota-break-glass', REPAIRER.name),
    });
    await expectEventually('repairer', breakGlass(LOCKED, TOKEN), WEBHOOK.keys);
  });
});

describe('the request of the API server is a review', () => {
  let stubWebhook: StubWebhook;
  let asked = 0;

  beforeAll(async () => {
    stubWebhook = await startStubWebhook();
    stubWebhook.respondWith(() => {
      asked += 1;
      return { allowed: true };
    });
    const name = WEBHOOK.configuration;
    const { object } = await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name });
    const { clientConfig } = stubWebhook;
    const webhooks = object.webhooks?.map((webhook) => ({ ...webhook, clientConfig })) ?? [];
    await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...object, webhooks });
    await expectEventually('editor', createPod(LOCKED), 'passes');
  });

  afterAll(async () => {
    await stubWebhook.stop();
  });

  const LABELLED = { labels: { [LABEL.locked]: 'true' } };

  test.each<[string, ApiRequest]>([
    ['a pod', createPod(LOCKED)],
    ['a pod that grows', changePod(LOCKED, '/resize')],
    ['a new quota', createQuota(LOCKED)],
    ['a quota that is applied, and new', applyQuota(LOCKED, 'applied')],
    ['a changed quota', labelQuota(LOCKED)],
    ['a changed quota, by its status', labelQuota(LOCKED, '/status')],
    ['a new namespace', createNamespace(LABELLED)],
    ['a changed namespace', label(FREE, 'true')],
    ['a namespace by way of /status', annotateByStatus(FREE, ANNOTATION.lock)],
    ['a namespace by way of /finalize', annotateByFinalize(FREE, ANNOTATION.lock)],
  ])('%s', async (_what, request) => {
    const before = asked;
    expect(await ask('editor', request)).toBe('passes');
    expect(asked).toBeGreaterThan(before);
  });
});

async function send(user: string, request: ApiRequest): Promise<ApiAnswer> {
  const sender = as[user];
  if (sender === undefined) throw new Error(`${user} is none of this test's users`);
  return sender(request);
}

/** The webhook that the API server tried to call. Throws when it refused the request for another reason. */
async function ask(user: string, request: ApiRequest): Promise<Asked> {
  const { code, body } = await send(user, request);
  if (code < 300) return 'passes';
  const message = String(body['message']);
  const asked = [WEBHOOK.locked, WEBHOOK.keys].find((name) =>
    message.includes(`failed calling webhook "${name}"`),
  );
  if (asked === undefined) throw new Error(`${user}: ${request.method ?? 'GET'} ${request.path}: ${message}`);
  return asked;
}

/** RBAC takes effect a moment after its objects change. */
async function expectEventually(user: string, request: ApiRequest, wanted: Asked): Promise<void> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  while ((await ask(user, request)) !== wanted) await sleep(25, undefined, { signal: deadline });
}

// The cluster for the requests.

const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection'];
const RBAC = 'rbac.authorization.k8s.io';

const bindingName = (role: string, user: string): string => `${role}-${user}`;

const binding = (role: string, user: string): object => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: bindingName(role, user) },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: RBAC, kind: 'User', name: user }],
});

const EVERYTHING_BUT_OVERRIDE = 'everything-but-override';
const GRANTS = [
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name: EVERYTHING_BUT_OVERRIDE },
    rules: [
      {
        apiGroups: [''],
        resources: ['namespaces', 'namespaces/status', 'namespaces/finalize'],
        verbs: WRITES,
      },
      { apiGroups: [''], resources: ['pods', 'pods/resize', 'configmaps'], verbs: WRITES },
      { apiGroups: [''], resources: ['resourcequotas', 'resourcequotas/status'], verbs: WRITES },
      { apiGroups: ['resource.k8s.io'], resources: ['resourceclaims'], verbs: WRITES },
    ],
  },
  binding(EVERYTHING_BUT_OVERRIDE, EDITOR.name),
  binding(EVERYTHING_BUT_OVERRIDE, REPAIRER.name),
  binding('cluster-admin', 'cluster-admin'),
];

function typeOf({ apiVersion = '', kind = '' }: Pick<KubernetesObject, 'apiVersion' | 'kind'>): ResourceType {
  const namespaced = ['ServiceAccount', 'Role', 'RoleBinding', 'ResourceClaim'].includes(kind);
  return { apiVersion, kind, plural: guessPlural(kind), namespaced };
}

async function createAll(objects: readonly object[]): Promise<void> {
  for (const object of objects as KubernetesObject[]) await admin.create(typeOf(object), object);
}

/** Sets up a namespace with our label and keys, a pod and a quota; some namespaces exist already. */
async function makeNamespace(
  name: string,
  metadata: { labels?: object; annotations?: object },
): Promise<void> {
  await admin.create(NAMESPACES, { metadata: { name } }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  await admin.patch(NAMESPACES, { name }, { merge: { metadata } });
  await serviceAccountOf(name);
  const at = { namespace: name };
  await admin.create(PODS, { metadata: { name: 'pod', ...at }, spec: POD_SPEC });
  await admin.create(typeOf(CLAIM), { ...CLAIM, metadata: { ...CLAIM.metadata, ...at } });
  // The quota counts no pods, so that it refuses none itself.
  await admin.create(RESOURCE_QUOTAS, {
    metadata: { name: 'quota', ...at },
    spec: { hard: { services: '9' } },
  });
}

/** The API server admits pods only once the controller has created the default service account. */
async function serviceAccountOf(namespace: string): Promise<void> {
  const type = typeOf({ apiVersion: 'v1', kind: 'ServiceAccount' });
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  const isThere = async (): Promise<boolean> => {
    const { items } = await admin.list(type, { namespace });
    return items.some(({ metadata }) => metadata.name === 'default');
  };
  while (!(await isThere())) await sleep(25, undefined, { signal: deadline });
}

async function makeUsers(): Promise<void> {
  for (const user of [EDITOR, REPAIRER, ...DEFAULT_USERS]) {
    as[user.name] = apiRequests(await controlPlane.kubeconfigForUser(user));
  }
  for (const [process, name] of Object.entries(SERVICE_ACCOUNT)) {
    as[process] = apiRequests(await controlPlane.kubeconfigFor({ namespace: SYSTEM_NAMESPACE, name }));
  }
}
