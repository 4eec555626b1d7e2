import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Plan } from '../../../functions/domain/live/forklift.ts';
import { requesterOf } from '../../../functions/domain/live/requester.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import {
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  STORAGE_MAPS,
} from '../../../functions/kubernetes/live-resources.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { toResponse } from '../../../webhook/admission/admission.ts';
import { reviewForklift } from '../../../webhook/live/forklift-review.ts';
import { ensureCaBundle, fingerprintsOf, LIVE_WEBHOOKS } from '../../../webhook/tls/ca-bundle.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, SERVICE_ACCOUNTS } from '../../../webhook/tls/resources.ts';
import { objectsOf } from '../../cluster/controlplane/kustomize.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { renderInstallation } from '../../cluster/overlay.ts';
import { newAuthority } from '../../cluster/serving-certificate.ts';
import { startWebhookServer, type WebhookServer } from '../../cluster/webhook-server.ts';
import { apiRequests, type ApiAnswer, type ApiRequest } from '../../support/environment/api-request.ts';
import { aHost, aNetworkMap, aPlan, aProvider, aStorageMap } from '../../support/builders/live.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { askUntil } from '../../support/eventually.ts';
import { installForkliftKinds } from '../../support/live/crossing.ts';
import {
  bindRole,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  untilAllowed,
  type PolicyRule,
} from '../../support/environment/roles.ts';

const FORKLIFT = 'forklift.konveyor.io';
const NAMESPACE = 'tenant';
const GUARD = { namespace: 'mtq-system', name: 'mtq-guard' };
/** Each may write Migrations, plans, maps and Providers, and has only these rights besides. */
const RUNNER = { name: 'tenant-admin', groups: ['tenant-admins'] };
const WRITER = { name: 'tenant', groups: ['tenants'] };

let controlPlane: ControlPlane;
let admin: Cluster;
let webhook: WebhookServer;
let guard: Cluster;
let asAdmin: (request: ApiRequest) => Promise<ApiAnswer>;
let asRunner: typeof asAdmin;
let asWriter: typeof asAdmin;

/** The review runs here, with the rights of the guard's own account in the component. */
beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig, 'admin');
  asAdmin = apiRequests(controlPlane.adminKubeconfig);
  asRunner = apiRequests(await controlPlane.kubeconfigForUser(RUNNER));
  asWriter = apiRequests(await controlPlane.kubeconfigForUser(WRITER));
  await installForkliftKinds(admin);
  for (const name of [NAMESPACE, GUARD.namespace]) await admin.create(NAMESPACES, { metadata: { name } });
  await admin.create(SERVICE_ACCOUNTS, { metadata: GUARD });
  guard = connect(await controlPlane.kubeconfigFor(GUARD));
  webhook = await startWebhookServer(async (request) => {
    const { uid: _, ...answer } = toResponse(
      request.uid,
      await reviewForklift(request, { cluster: guard, allowLoopback: false }),
    );
    return answer;
  });
  await install();
  await createPlans();
  for (const { name } of [RUNNER, WRITER])
    await give(name, 'writes', [
      { apiGroups: [FORKLIFT], resources: ['migrations'], verbs: ['create', 'update', 'patch'] },
      {
        apiGroups: [FORKLIFT],
        resources: ['storagemaps', 'networkmaps', 'plans', 'providers'],
        verbs: ['create', 'update', 'patch'],
      },
    ]);
  const isAsked = ({ code }: ApiAnswer): boolean => code === 403;
  await askUntil('the API server asks the webhook', () => post(asAdmin, PROVIDERS, LOOPBACK), isAsked);
});

afterAll(async () => {
  await webhook.stop();
  await controlPlane.stop();
});

async function install(): Promise<void> {
  const objects = objectsOf(await renderInstallation({ overlay: 'default', components: ['live-migration'] }));
  const isOfGuard = ({ metadata }: KubernetesObject): boolean =>
    metadata.name === 'managed-tenant-quota-guard-live';
  for (const object of objects) {
    if (isOfGuard(object) && object.kind === 'ClusterRole')
      await admin.create(CLUSTER_ROLES, object as never);
    if (isOfGuard(object) && object.kind === 'ClusterRoleBinding')
      await admin.create(CLUSTER_ROLE_BINDINGS, object as never);
    if (object.kind !== 'MutatingWebhookConfiguration') continue;
    const { webhooks } = object as KubernetesObject & { webhooks: object[] };
    const { clientConfig } = webhook;
    await admin.create(MUTATING_WEBHOOK_CONFIGURATIONS, {
      ...object,
      webhooks: webhooks.map((one) => ({ ...one, clientConfig })),
    } as never);
  }
  const user = `system:serviceaccount:${GUARD.namespace}:${GUARD.name}`;
  await untilAllowed(admin, user, { verb: 'get', group: FORKLIFT, resource: 'plans', allowed: true });
}

/** From another cluster to this one, and back. */
async function createPlans(): Promise<void> {
  const created = async <T extends KubernetesObject>(
    type: ResourceType<T>,
    { metadata, ...object }: T,
  ): Promise<void> => {
    await admin.create(type, { ...object, metadata: { namespace: NAMESPACE, name: metadata.name } } as never);
  };
  await created(PROVIDERS, aProvider('source'));
  await created(PROVIDERS, aHost('destination'));
  const { provider } = aPlan().spec;
  const back = { source: provider.destination, destination: provider.source };
  const named = (name: string, spec: Partial<Plan['spec']>): Plan =>
    aPlan((plan) => ({ ...plan, metadata: { ...plan.metadata, name }, spec: { ...plan.spec, ...spec } }));
  await created(PLANS, named('plan', {}));
  await created(PLANS, named('back', { provider: back }));
  await created(PLANS, named('by-id', { provider: back, vms: [{ id: 'u' }] }));
  await created(PLANS, named('elsewhere', { provider: { ...provider, source: { name: 'gone' } } }));
}

/** Resolves when it is in effect. */
async function give(user: string, role: string, rules: readonly PolicyRule[]): Promise<void> {
  await bindRole(admin, { role: `${user}-${role}`, user, rules });
  for (const { apiGroups: [group = ''] = [], resources: [resource = ''] = [], verbs } of rules)
    for (const verb of verbs) await untilAllowed(admin, user, { verb, group, resource, allowed: true });
}

const pathOf = ({ apiVersion, plural }: ResourceType): string =>
  `/apis/${apiVersion}/namespaces/${NAMESPACE}/${plural}`;

interface Posted {
  readonly name?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec: unknown;
}

function post(
  by: typeof asAdmin,
  type: ResourceType,
  { name, annotations, spec }: Posted,
): Promise<ApiAnswer> {
  const dryRun = name === undefined ? '?dryRun=All' : '';
  const metadata = { name: name ?? 'attempt', ...(annotations && { annotations }) };
  const body = { apiVersion: type.apiVersion, kind: type.kind, metadata, spec };
  return by({ method: 'POST', path: `${pathOf(type)}${dryRun}`, body });
}

const LOOPBACK = { spec: { ...aProvider().spec, url: 'https://127.0.0.1:6443' } };
const migrationOf = (name: string): Posted => ({ spec: { plan: { namespace: NAMESPACE, name } } });
const messageOf = ({ body }: ApiAnswer): string => String(body['message']);
const requesterIn = ({ body }: ApiAnswer): unknown => requesterOf(body as unknown as KubernetesObject);

describe('who creates a Migration', () => {
  const refused = async (plan: string): Promise<string> => {
    const answer = await post(asRunner, PLAN_MIGRATIONS, migrationOf(plan));
    expect(answer.code).toBe(403);
    return messageOf(answer);
  };

  test('must be allowed to do what the run does', async () => {
    expect(await refused('plan')).toContain(
      'the run would do more than tenant-admin may do: get plans.forklift.konveyor.io/plan in namespace tenant. Ask',
    );
    expect(await refused('gone')).toContain('get plans.forklift.konveyor.io/gone');
    await give(RUNNER.name, 'reads', [{ apiGroups: [FORKLIFT], resources: ['plans'], verbs: ['get'] }]);
    expect(await refused('gone')).toContain('Plan tenant/gone was not found: create it first');
    expect(await refused('plan')).toContain(
      'use providers.forklift.konveyor.io/source in namespace tenant, use providers.forklift.konveyor.io/destination in namespace',
    );
    await give(RUNNER.name, 'uses', [{ apiGroups: [FORKLIFT], resources: ['providers'], verbs: ['use'] }]);
    expect(await refused('elsewhere')).toContain('Provider tenant/gone was not found');
    expect(await refused('plan')).toContain('create virtualmachines.kubevirt.io in namespace target');
    expect(await refused('back')).toContain('delete virtualmachines.kubevirt.io/web in namespace vms');
    await give(RUNNER.name, 'makes', [
      { apiGroups: ['kubevirt.io'], resources: ['virtualmachines'], verbs: ['create'] },
      { apiGroups: ['cdi.kubevirt.io'], resources: ['datavolumes'], verbs: ['create'] },
      { apiGroups: [''], resources: ['secrets', 'configmaps', 'persistentvolumeclaims'], verbs: ['create'] },
    ]);
    const answer = await post(asRunner, PLAN_MIGRATIONS, migrationOf('plan'));
    expect(answer).toMatchObject({ code: 201 });
    expect(requesterIn(answer)).toMatchObject({
      user: 'tenant-admin',
      groups: ['tenant-admins', 'system:authenticated'],
    });
  });

  test('must name the VMs that leave this cluster', async () => {
    expect(await refused('by-id')).toContain('has VMs of this cluster without name or namespace: add both');
  });

  test('is written on it, whatever its writer says, and stays', async () => {
    const forged = { 'live.mtq.kubevirt.io/requester': '{"user":"tenant-admin","groups":[]}' };
    const created = await post(asAdmin, PLAN_MIGRATIONS, {
      ...migrationOf('plan'),
      ...{ name: 'forged', annotations: forged },
    });
    const requester = requesterIn(created);
    expect(requester).toMatchObject({ groups: expect.arrayContaining(['system:masters']) });
    const put = await asRunner({
      method: 'PATCH',
      path: `${pathOf(PLAN_MIGRATIONS)}/forged`,
      contentType: 'application/merge-patch+json',
      body: { metadata: { annotations: forged, labels: { changed: 'true' } } },
    });
    expect(put).toMatchObject({ code: 200, body: { metadata: { labels: { changed: 'true' } } } });
    expect(requesterIn(put)).toEqual(requester);
  });
});

describe('a Provider', () => {
  test.each<[string, object, string]>([
    ['of this machine', LOOPBACK.spec, 'no loopback or link-local address'],
    ['of a link', { ...LOOPBACK.spec, url: 'https://169.254.169.254' }, 'no loopback or link-local address'],
    [
      'with a Secret of another namespace',
      { ...aProvider().spec, secret: { namespace: 'kube-system', name: 'token' } },
      'spec.secret must be in the namespace of the Provider',
    ],
  ])('%s is refused', async (_what, ...[spec, message]) => {
    const answer = await post(asAdmin, PROVIDERS, { spec });
    expect([answer.code, messageOf(answer)]).toEqual([403, expect.stringContaining(message)]);
  });

  test('with a Secret that its writer may not read is refused', async () => {
    const answer = await post(asWriter, PROVIDERS, { spec: aProvider().spec });
    expect([answer.code, messageOf(answer)]).toEqual([
      403,
      expect.stringContaining('more than tenant may do: get secrets/source in namespace tenant'),
    ]);
    await give(WRITER.name, 'reads', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]);
    expect(await post(asWriter, PROVIDERS, { spec: aProvider().spec })).toMatchObject({ code: 201 });
  });

  test('of this cluster needs no Secret', async () => {
    expect(await post(asWriter, PROVIDERS, { spec: aHost().spec })).toMatchObject({ code: 201 });
  });
});

describe.each<[string, ResourceType, object, object]>([
  ['a plan', PLANS, aPlan().spec, { description: 'another' }],
  ['a storage map', STORAGE_MAPS, aStorageMap().spec, { map: [] }],
  ['a network map', NETWORK_MAPS, aNetworkMap().spec, { map: [] }],
  ['a Provider', PROVIDERS, aHost().spec, { settings: { transferDeadline: '2h' } }],
])('the requester of %s', (what, type, spec, different) => {
  const name = what.replaceAll(' ', '-').toLowerCase();
  const forged = { 'live.mtq.kubevirt.io/requester': '{"user":"root","groups":["system:masters"]}' };
  const patch = (by: typeof asAdmin, body: object): Promise<ApiAnswer> =>
    by({
      ...{ method: 'PATCH', path: `${pathOf(type)}/${name}` },
      contentType: 'application/merge-patch+json',
      body,
    });
  const userOf = (answer: ApiAnswer): unknown => {
    expect([200, 201]).toContain(answer.code);
    return requesterOf(answer.body as unknown as KubernetesObject)?.user;
  };

  test('is who wrote its spec last, whatever a writer says', async () => {
    expect(userOf(await post(asRunner, type, { name, annotations: forged, spec }))).toBe(RUNNER.name);
    expect(userOf(await patch(asWriter, { metadata: { annotations: forged } }))).toBe(RUNNER.name);
    expect(userOf(await patch(asWriter, { metadata: { annotations: null } }))).toBe(RUNNER.name);
    expect(userOf(await patch(asWriter, { metadata: { labels: { changed: 'true' } } }))).toBe(RUNNER.name);
    expect(userOf(await patch(asWriter, { metadata: { annotations: forged }, spec: different }))).toBe(
      WRITER.name,
    );
  });
});

test('the guard keeps its authority at the webhook', async () => {
  const ca = newAuthority();
  const { before, after } = await ensureCaBundle({ cluster: guard, ca, now: new Date() }, LIVE_WEBHOOKS);
  expect([...after].toSorted()).toEqual([...before, ...fingerprintsOf(ca)].toSorted());
});

test('without the guard none can be created, and those that are there can be changed', async () => {
  await webhook.stop();
  const refused = await post(asAdmin, PLAN_MIGRATIONS, migrationOf('plan'));
  expect([refused.code, messageOf(refused)]).toEqual([
    500,
    expect.stringContaining('failed calling webhook'),
  ]);
  const changed = await asAdmin({
    method: 'PATCH',
    path: `${pathOf(PLAN_MIGRATIONS)}/forged`,
    contentType: 'application/merge-patch+json',
    body: { metadata: { finalizers: ['live.mtq.kubevirt.io/run'] }, spec: { cancel: [{ id: 'u' }] } },
  });
  expect(changed.code).toBe(200);
  for (const [type, name] of [
    [PLANS, 'plan'],
    [PROVIDERS, 'source'],
  ] as const) {
    const path = `${pathOf(type)}/${name}`;
    const body = { metadata: { finalizers: ['live.mtq.kubevirt.io/run'] } };
    const held = await asAdmin({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
    expect(held.code).toBe(200);
  }
});
