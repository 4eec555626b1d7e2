import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ANNOTATION, KUBEVIRT, LABEL } from '../../../functions/domain/names.ts';
import {
  EVENTS,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMIS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { FULL_VMIS, newVirtualMachineInstance } from '../../cluster/kubevirt/objects/objects.ts';
import { apiRequests, type ApiAnswer, type ApiRequest } from '../../support/environment/api-request.ts';
import { breakGlassPatch } from '../../support/tenant/by-hand.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { askUntil } from '../../support/eventually.ts';
import { invariantViolations, wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { bindRole, untilAllowed } from '../../support/environment/roles.ts';
import { countedPods, newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { rawText } from '../../support/raw-text.ts';

const TENANT_ADMIN = { name: 'tenant-admin', groups: ['tenant-admins'] };
const CLUSTER_ADMIN = { name: 'cluster-admin', groups: ['cluster-admins'] };
const MERGE = 'application/merge-patch+json';
/** The message for everything that must wait, mostly from the policies, which the API server evaluates first. */
const MUST_WAIT =
  /must wait: .* (?:raised|locked) for .*live migration.* for a few seconds, .* try again then/;

let environment: TestEnvironment;
/** Deleted while locked: the namespace controller needs 5 s for it, while the other tests run. */
let deleted: Tenant;
let asTenant: (request: ApiRequest) => Promise<ApiAnswer>;
/** A user who may write namespaces, at first without the break-glass role. */
let asClusterAdmin: (request: ApiRequest) => Promise<ApiAnswer>;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { STALL_SECONDS: '30', LOCK_SECONDS: '45' } });
  const { controlPlane } = environment.cluster;
  asTenant = apiRequests(await controlPlane.kubeconfigForUser(TENANT_ADMIN));
  asClusterAdmin = apiRequests(await controlPlane.kubeconfigForUser(CLUSTER_ADMIN));
  await bindRole(environment.admin, {
    role: 'tenant-admin',
    user: TENANT_ADMIN.name,
    rules: [
      {
        apiGroups: [''],
        resources: ['pods', 'pods/resize', 'pods/ephemeralcontainers', 'resourcequotas'],
        verbs: ['*'],
      },
    ],
  });
  await bindRole(environment.admin, {
    role: 'namespace-writer',
    user: CLUSTER_ADMIN.name,
    rules: [
      {
        apiGroups: [''],
        resources: ['namespaces', 'namespaces/status', 'namespaces/finalize'],
        verbs: ['get', 'update', 'patch'],
      },
    ],
  });
  await untilAllowed(environment.admin, TENANT_ADMIN.name, {
    verb: 'create',
    resource: 'pods',
    allowed: true,
  });
  await untilAllowed(environment.admin, CLUSTER_ADMIN.name, {
    verb: 'patch',
    resource: 'namespaces',
    allowed: true,
  });
  ({ tenant: deleted } = await lockedTenant('deleted-while-locked'));
  // Otherwise the controller would wait for half of the pods' grace period.
  await environment.admin.delete(VMIS, { namespace: deleted.name, name: 'vm0' });
  await environment.admin.delete(NAMESPACES, { name: deleted.name });
});

afterAll(async () => {
  await environment.stop();
});

const podOf = (name: string): { metadata: { name: string }; spec: object } => ({
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'main',
        image: 'main',
        resources: { requests: { cpu: '10m', memory: '1Mi' }, limits: { cpu: '10m', memory: '1Mi' } },
      },
    ],
  },
});

const inNamespace = (namespace: string, rest: string): string => `/api/v1/namespaces/${namespace}/${rest}`;

const createPod = (namespace: string, name: string): Promise<ApiAnswer> =>
  asTenant({ method: 'POST', path: inNamespace(namespace, 'pods'), body: podOf(name) });

/** Locked and raised with its target pod admitted; no step lowers it before the test calls the result. */
async function lockedTenant(name: string): Promise<{ tenant: Tenant; resume: () => void }> {
  const tenant = await newTenant(environment, { name });
  expect(await createPod(name, 'before')).toMatchObject({ code: 201 });
  const { items: quotas } = await environment.admin.list(RESOURCE_QUOTAS, { namespace: name });
  expect(quotas).toHaveLength(1);
  const resume = environment.hold(name, 'mtq-lower');
  await tenant.migrate();
  await tenant.history.until('the migration is through', () => tenant.isThrough());
  expect(tenant.history.isLocked()).toBe(true);
  expect(wasRaised(tenant.history)).toBe(true);
  return { tenant, resume };
}

describe('while a namespace is locked (F9)', () => {
  const name = 'locked';
  let tenant: Tenant;
  let resume: () => void;

  beforeAll(async () => {
    ({ tenant, resume } = await lockedTenant(name));
  });

  const RESIZE = {
    spec: { containers: [{ name: 'main', resources: { requests: { cpu: '5m' }, limits: { cpu: '5m' } } }] },
  };
  const QUOTA = { metadata: { name: 'another' }, spec: { hard: { pods: '1' } } };
  const RAISE = { spec: { hard: { pods: '100' } } };

  const AS_TENANT: Readonly<Record<string, ApiRequest>> = {
    'a pod': { method: 'POST', path: inNamespace(name, 'pods'), body: podOf('during') },
    "a pod's resize": {
      method: 'PATCH',
      path: inNamespace(name, 'pods/before/resize'),
      body: RESIZE,
      contentType: 'application/strategic-merge-patch+json',
    },
    "a pod's deadline": {
      method: 'PATCH',
      path: inNamespace(name, 'pods/before'),
      body: { spec: { activeDeadlineSeconds: 60 } },
      contentType: MERGE,
    },
    "a pod's word that it is a migration's": {
      method: 'PATCH',
      path: inNamespace(name, 'pods/before'),
      body: { metadata: { labels: { [KUBEVIRT.migrationJobUID]: 'any' } } },
      contentType: MERGE,
    },
    'a new quota': { method: 'POST', path: inNamespace(name, 'resourcequotas'), body: QUOTA },
    "a quota's replacement": {
      method: 'PUT',
      path: inNamespace(name, 'resourcequotas/quota'),
      body: { metadata: { name: 'quota', namespace: name }, ...RAISE },
    },
    "a quota's label": {
      method: 'PATCH',
      path: inNamespace(name, 'resourcequotas/quota'),
      body: { metadata: { labels: { [LABEL.raised]: null } } },
      contentType: MERGE,
    },
  };

  // Dry runs, because each write would end the raise that the other tests need.
  test.each<[string, ApiRequest]>([
    [
      "an edit of a quota's spec",
      {
        method: 'PATCH',
        path: inNamespace(name, 'resourcequotas/quota?dryRun=All'),
        body: RAISE,
        contentType: MERGE,
      },
    ],
    ["a quota's end", { method: 'DELETE', path: inNamespace(name, 'resourcequotas/quota?dryRun=All') }],
    ["all quotas' end", { method: 'DELETE', path: inNamespace(name, 'resourcequotas?dryRun=All') }],
  ])('%s passes although the namespace is locked (F20)', async (_what, request) => {
    expect(await asTenant(request)).toMatchObject({ code: 200 });
  });

  test.each(Object.entries(AS_TENANT))(
    '%s is refused to the tenant, with the reason and the time to wait (F21, F43)',
    async (_what, request) => {
      const { code, body } = await asTenant(request);
      expect(code).toBe(403);
      expect(body['message']).toMatch(MUST_WAIT);
    },
  );

  test("a pod with the migration's labels is refused to every user but KubeVirt (F43)", async () => {
    const [vmi] = (await environment.admin.list(VMIS, { namespace: name })).items;
    const labels = {
      [KUBEVIRT.launcherLabel]: KUBEVIRT.launcher,
      [KUBEVIRT.createdBy]: vmi?.metadata.uid ?? '',
      [KUBEVIRT.migrationJobUID]: tenant.migration()?.metadata.uid ?? '',
    };
    const pod = podOf('disguised');
    const body = { ...pod, metadata: { ...pod.metadata, labels } };
    const answer = await asTenant({ method: 'POST', path: inNamespace(name, 'pods'), body });
    expect(answer).toMatchObject({ code: 403 });
    expect(answer.body['message']).toMatch(MUST_WAIT);
  });

  test.each<[string, string, () => Record<string, string>]>([
    ["a new VM's pod", 'late', () => ({})],
    [
      // Admission ignores labels in the template of a VirtualMachineInstanceReplicaSet, and its launchers get them all.
      "that of one labelled with the migration's UID",
      'disguised',
      () => ({ [KUBEVIRT.migrationJobUID]: tenant.migration()?.metadata.uid ?? '' }),
    ],
  ])('%s is refused to KubeVirt too, and the VMI says why', async (_what, vm, labels) => {
    const small = { requests: { cpu: '1m', memory: '1Mi' } };
    const options = { namespace: name, name: vm, labels: labels(), memory: '1Mi', resources: small };
    await environment.admin.create(FULL_VMIS, newVirtualMachineInstance(options));
    await tenant.history.until('KubeVirt gets the reason', (history) =>
      history
        .of(EVENTS)
        .some(({ involvedObject, message }) =>
          [involvedObject.name === vm, MUST_WAIT.test(rawText(message))].every(Boolean),
        ),
    );
  });

  const NAMESPACE = `/api/v1/namespaces/${name}`;
  const withoutLabel = { metadata: { labels: { [LABEL.locked]: null } } };
  const withoutLock = { metadata: { annotations: { [ANNOTATION.lock]: null } } };
  const withAttempt = { metadata: { annotations: { [ANNOTATION.lastAttempt]: '{}' } } };

  test.each([
    ['the label', NAMESPACE, withoutLabel],
    ['the lock', NAMESPACE, withoutLock],
    ['both', NAMESPACE, { metadata: { ...withoutLabel.metadata, ...withoutLock.metadata } }],
    ['the record of the last attempt', NAMESPACE, withAttempt],
    ['the label, by the status subresource', `${NAMESPACE}/status`, withoutLabel],
    ['the lock, by the status subresource', `${NAMESPACE}/status`, withoutLock],
  ])('%s may not be changed by a user with the right to write namespaces', async (_what, path, body) => {
    const answer = await asClusterAdmin({ method: 'PATCH', path, body, contentType: MERGE });
    expect(answer).toMatchObject({ code: 403 });
    expect(answer.body['message']).toContain('may only be changed by managed-tenant-quota');
  });

  test('the finalize subresource does not change them either', async () => {
    const { object } = await environment.admin.get(NAMESPACES, { name });
    const { [LABEL.locked]: _label, ...labels } = object.metadata.labels ?? {};
    const body = { ...object, metadata: { ...object.metadata, labels } };
    const answer = await asClusterAdmin({ method: 'PUT', path: `${NAMESPACE}/finalize`, body });
    expect(answer).toMatchObject({ code: 403 });
  });

  test('all other fields of a namespace may change', async () => {
    const body = { metadata: { annotations: { note: 'hello' } } };
    expect(
      await asClusterAdmin({ method: 'PATCH', path: NAMESPACE, body, contentType: MERGE }),
    ).toMatchObject({ code: 200 });
    const back = { metadata: { annotations: { note: null } } };
    expect(
      await asClusterAdmin({ method: 'PATCH', path: NAMESPACE, body: back, contentType: MERGE }),
    ).toMatchObject({ code: 200 });
  });

  test("a kubelet's and the quota controller's status updates pass", async () => {
    const pod = await environment.admin.patch(
      PODS,
      { namespace: name, name: 'before' },
      { merge: { status: { message: 'seen' } }, subresource: 'status' },
    );
    expect(pod.object.status).toMatchObject({ message: 'seen' });
    // The quota controller stops counting the source pod, which ended while the namespace was locked.
    await tenant.history.until(
      'the quota controller counts',
      (history) => history.isLocked() && countedPods(tenant) === '2',
    );
  });

  test('afterwards the tenant may do all of this again, and nothing was admitted meanwhile', async () => {
    resume();
    await tenant.untilUnlocked();
    // The API server decides by its own watches, which may be a moment behind ours.
    await askUntil(
      'a pod of the tenant gets in',
      () => createPod(name, 'after'),
      ({ code }) => code === 201,
    );
    await expectAsBefore(environment.admin, tenant);
    const change = { spec: { hard: { pods: '11' } } };
    const quota = {
      method: 'PATCH',
      path: inNamespace(name, 'resourcequotas/quota'),
      body: change,
      contentType: MERGE,
    } as const;
    expect(await asTenant(quota)).toMatchObject({ code: 200 });
  });
});

test('break-glass removes the lock by hand, and the guard still restores the quota (F13)', async () => {
  const { tenant, resume } = await lockedTenant('break-glass');
  const { history, name, before } = tenant;
  await bindRole(environment.admin, { role: 'managed-tenant-quota-break-glass', user: CLUSTER_ADMIN.name });
  await untilAllowed(environment.admin, CLUSTER_ADMIN.name, {
    verb: 'override',
    group: 'mtq.kubevirt.io',
    resource: 'locks',
    allowed: true,
  });
  const patched = (body: object): Promise<ApiAnswer> =>
    asClusterAdmin({ method: 'PATCH', path: `/api/v1/namespaces/${name}`, body, contentType: MERGE });
  const withoutLock = { labels: { [LABEL.locked]: null }, annotations: { [ANNOTATION.lock]: null } };
  // The break-glass right alone does not allow the write, because a controller with all rights also replaces namespaces.
  expect(await patched({ metadata: withoutLock })).toMatchObject({ code: 403 });
  const { object: namespace } = await environment.admin.get(NAMESPACES, { name });
  expect(await patched(breakGlassPatch(namespace))).toMatchObject({ code: 200 });

  await history.until('the quota is as it was', () => {
    const quota = history.latest(RESOURCE_QUOTAS);
    const { hard } = before.quotas[0]?.spec ?? {};
    return [
      JSON.stringify(quota?.spec.hard) === JSON.stringify(hard),
      JSON.stringify(quota?.status?.hard) === JSON.stringify(hard),
      quota?.metadata.labels?.[LABEL.raised] === undefined,
    ].every(Boolean);
  });
  resume();
  await history.until('the VMMRQ says so', () => {
    const { conditions = [], originalBlockingResourceQuotas } = history.latest(VMMRQS)?.status ?? {};
    const isFalse = (type: string): boolean =>
      conditions.find((one) => one.type === type)?.status === 'False';
    return [isFalse('Locked'), isFalse('Raised'), originalBlockingResourceQuotas?.length === 0].every(
      Boolean,
    );
  });
  expect(history.locks()).toHaveLength(1);
  // Unavoidable: between the manual unlock and the repair no lock protects the namespace.
  expect(
    invariantViolations(history).filter((violation) => !violation.includes('is not locked for it')),
  ).toEqual([]);
});

test('a locked namespace can be deleted, and is gone (F9)', async () => {
  await deleted.history.until(
    'the namespace is gone, and its quota',
    (history) => history.isGone(NAMESPACES) && history.isGone(RESOURCE_QUOTAS),
  );
  expect(deleted.history.locks()).toHaveLength(1);
});
