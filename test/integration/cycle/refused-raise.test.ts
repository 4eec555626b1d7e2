import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION, EVENT, REASON } from '../../../functions/domain/names.ts';
import type { Condition, Namespace, ResourceQuota } from '../../../functions/domain/objects.ts';
import { EVENTS, NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';
import { POLICIES, POLICY_BINDINGS, policiesInForce } from '../../cluster/policies-in-force.ts';
import { kubeconfigOfViewer, runWith, type RunPlugin } from '../../support/environment/plugin.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { rawText } from '../../support/raw-text.ts';

/** Rancher's webhook since 2.14.6, as a policy: only the quota controller writes the status of a quota with this label. */
const MARK = 'resourcequota.management.cattle.io/default-resource-quota';
const REFUSAL = 'status is immutable';
const KUBERNETES = [
  'system:apiserver',
  'system:kube-controller-manager',
  'system:serviceaccount:kube-system:resourcequota-controller',
];

let environment: TestEnvironment;
let admin: RunPlugin;
let viewer: RunPlugin;

beforeAll(async () => {
  environment = await startTestEnvironment();
  admin = runWith(environment.cluster.controlPlane.adminKubeconfig);
  viewer = runWith(await kubeconfigOfViewer(environment));
  await environment.admin.create(FULL_KUBEVIRTS, newKubeVirt());
});

afterAll(async () => {
  await environment.stop();
});

/** Another party's policy, which refuses these writes; in force when it resolves. */
async function install(name: string, spec: object): Promise<void> {
  await environment.admin.create(POLICIES, { metadata: { name }, spec });
  const bound = { policyName: name, validationActions: ['Deny'] };
  await environment.admin.create(POLICY_BINDINGS, { metadata: { name }, spec: bound });
  environment.atEnd(() => uninstall(name));
  await (
    await policiesInForce(environment.admin)
  )();
}

async function uninstall(name: string): Promise<void> {
  await environment.admin.delete(POLICY_BINDINGS, { name }).catch(() => undefined);
  await environment.admin.delete(POLICIES, { name }).catch(() => undefined);
}

const update = (resource: string): object => ({
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], resources: [resource], operations: ['UPDATE'] }],
});

const mark = (namespace: string, value: 'true' | null): Promise<unknown> =>
  environment.admin.patch<ResourceQuota>(
    RESOURCE_QUOTAS,
    { namespace, name: 'quota' },
    { merge: { metadata: { labels: { [MARK]: value } } } },
  );

const conditionOf = ({ history }: Tenant, wanted: string): Condition | undefined =>
  history.latest(VMMRQS)?.status?.conditions?.find(({ type }) => type === wanted);

const untilRefused = (tenant: Tenant): Promise<void> =>
  tenant.history.until('the VMMRQ says who refuses the raise', () => {
    const blocking = conditionOf(tenant, 'Blocking');
    return blocking?.reason === REASON.refusedByPolicy && rawText(blocking.message).includes(REFUSAL);
  });

interface Said {
  readonly vms: readonly { readonly name: string; readonly outcome: string; readonly reason: string }[];
}

async function expectStuck(plugin: RunPlugin, namespace: string): Promise<void> {
  const { code, stdout, stderr } = await plugin('preflight', 'namespace', namespace, '-o', 'json');
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout).toContain(REFUSAL);
  const { vms } = JSON.parse(stdout) as Said;
  const shown = await plugin('preflight', 'namespace', namespace);
  expect(shown).toMatchObject({ code: 1, stdout: expect.stringMatching(`vm0 .*stuck.*${REFUSAL}`) });
  const answers = new Set(vms.map(({ outcome, reason }) => `${outcome} ${reason}`));
  expect([...answers]).toEqual([`Stuck ${REASON.refusedByPolicy}`]);
}

const resync = (namespace: string, cause: string): Promise<void> =>
  environment.forge({ type: EVENT.resyncRequested, from: 'guard', namespace, cause });

test('a policy refuses the status of a marked quota: known before any attempt, never locked for, over with the label', async () => {
  const others = `!(request.userInfo.username in ${JSON.stringify(KUBERNETES)})`;
  const marked = `object.metadata.?labels[?'${MARK}'].orValue('') == 'true'`;
  await install('like-rancher', {
    matchConstraints: update('resourcequotas/status'),
    matchConditions: [
      { name: 'marked', expression: marked },
      { name: 'others', expression: others },
    ],
    validations: [{ expression: 'false', message: REFUSAL }],
  });
  const tenant = await newTenant(environment, { name: 'marked' });
  const { name, history } = tenant;
  expect(await admin('preflight', 'namespace', name)).toMatchObject({ code: 0, stderr: '' });

  await mark(name, 'true');
  await expectStuck(admin, name);

  await tenant.migrate();
  await untilRefused(tenant);
  await environment.cluster.eventing.broker.idle();
  expect(conditionOf(tenant, 'Conflict')).toMatchObject({ status: 'True', reason: REASON.refusedByPolicy });
  await history.until('an Event on the migration has the refusal', () =>
    history
      .of(EVENTS)
      .some(
        ({ involvedObject, message }) => involvedObject.name === 'mig0' && rawText(message).includes(REFUSAL),
      ),
  );
  // A user without the right to impersonate our accounts reads the record.
  await expectStuck(viewer, name);
  const explained = await viewer('explain', 'mig0', '-n', name);
  expect(explained.code).toBe(1);
  expect(explained.stdout).toContain(REFUSAL);

  // Every look tries again, and no look locks.
  await resync(name, 'again');
  expect(history.locks()).toEqual([]);

  await mark(name, null);
  await resync(name, 'without the label');
  await tenant.untilThrough();
  expect(history.locks()).toHaveLength(1);
  const { object } = await environment.admin.get<Namespace>(NAMESPACES, { name });
  expect(object.metadata.annotations?.[ANNOTATION.lastAttempt]).toBeUndefined();
  await expectAsBefore(environment.admin, tenant);
});

test('a policy that comes after a raise: at most one lock learns it, and the raise goes on when it is gone', async () => {
  const tenant = await newTenant(environment, { name: 'refused-later', vms: 2 });
  const { name, history } = tenant;
  await tenant.migrate();
  await tenant.untilThrough();
  await install('no-raised-status', {
    matchConstraints: {
      ...update('resourcequotas/status'),
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
    },
    // Only the raise: the fence and `lower` pass.
    validations: [{ expression: 'object.status.hard == object.spec.hard', message: REFUSAL }],
  });
  await tenant.migrate(1);
  await untilRefused(tenant);
  await resync(name, 'again');
  expect(history.locks().length).toBeLessThanOrEqual(2);
  await expectStuck(viewer, name);

  await uninstall('no-raised-status');
  await (
    await policiesInForce(environment.admin)
  )();
  await resync(name, 'without the policy');
  await tenant.untilThrough(1);
});

test('a policy refuses the lock: preflight knows it before any attempt', async () => {
  const tenant = await newTenant(environment, { name: 'refused-lock' });
  await install('no-locks', {
    matchConstraints: update('namespaces'),
    matchConditions: [
      { name: 'this', expression: `request.name == '${tenant.name}'` },
      { name: 'ours', expression: "request.userInfo.username.contains(':mtq-')" },
    ],
    validations: [{ expression: 'false', message: REFUSAL }],
  });
  await expectStuck(admin, tenant.name);
});
