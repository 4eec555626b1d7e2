import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION, EVENT, EVENT_REASON, REASON, SOURCE_EVENT } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { knownVerdicts } from '../../../functions/domain/progress/known-verdict.ts';
import {
  CLAIMS,
  EVENTS,
  NAMESPACES,
  RESOURCE_QUOTAS,
  VMIS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../../webhook/tls/resources.ts';
import { newMigration, FULL_MIGRATIONS } from '../../cluster/kubevirt/objects/objects.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { expectQuiescent } from '../../support/invariants/quiescent.ts';
import { auditLog, isDryRun, type Audited } from '../../support/environment/audit.ts';
import { writeByHand } from '../../support/tenant/by-hand.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import {
  startTestEnvironment,
  type TestEnvironment,
  type Line,
} from '../../support/environment/test-environment.ts';
import { startStubWebhook } from '../../support/faults/stub-webhook.ts';
import { fullFor, newTenant, headroomFor, type Tenant } from '../../support/tenant/tenant.ts';
import { rawText } from '../../support/raw-text.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
});

/** The verdict about mig0 in feasibility's log. */
const untilVerdict = (tenant: Tenant, verdict: string, reason: string): Promise<void> =>
  environment.lines.until(`${tenant.name}: ${verdict}, ${reason}`, () =>
    environment.lines.items.some(
      (line) => line.namespace === tenant.name && line.verdict === verdict && line.reason === reason,
    ),
  );

const isOf = (line: Line, namespace: string, reason: string): boolean =>
  line.namespace === namespace && line.reason === reason;

const untilReported = (tenant: Tenant, about: string, text: string): Promise<void> =>
  tenant.history.until(`an Event about ${about} says: ${text}`, (history) =>
    history
      .of(EVENTS)
      .some(({ involvedObject, reason, message }) =>
        [
          involvedObject.name === about,
          reason === EVENT_REASON.quotaNotEnough,
          rawText(message).includes(text),
        ].every(Boolean),
      ),
  );

async function expectLeftAlone(tenant: Tenant): Promise<void> {
  await environment.cluster.eventing.broker.idle();
  expect(tenant.history.locks()).toEqual([]);
  await expectAsBefore(environment.admin, tenant);
}

test('no VMMRQ: an Event on the migration and the VMI says what to create (F45)', async () => {
  const tenant = await newTenant(environment, { name: 'no-vmmrq', gives: null });
  await tenant.migrate();
  await untilVerdict(tenant, 'NoFit', 'NoVirtualMachineMigrationResourceQuota');
  for (const about of ['mig0', 'vm0']) {
    await untilReported(
      tenant,
      about,
      "Ask the cluster's admin for a VirtualMachineMigrationResourceQuota in this namespace",
    );
  }
  await expectLeftAlone(tenant);
});

test('a VMMRQ that gives only resources that the quotas do not count: reports the shortfall', async () => {
  const gives = { 'limits.cpu': '8', 'requests.ephemeral-storage': '10Gi' };
  const tenant = await newTenant(environment, { name: 'keys-the-quotas-lack', gives });
  await tenant.migrate();
  await untilVerdict(tenant, 'NoFit', 'NotEnough');
  for (const about of ['mig0', 'vm0']) await untilReported(tenant, about, 'requests.cpu=605m');
  await tenant.history.until('the VMMRQ says so', (history) =>
    (history.latest(VMMRQS)?.status?.conditions ?? []).some(
      ({ type, status }) => type === 'NotEnough' && status === 'True',
    ),
  );
  await expectLeftAlone(tenant);
});

test('a quota refuses the VM’s state volume before the pod: reports the key, and does not lock', async () => {
  const quotas = { quota: fullFor(1), volumes: { persistentvolumeclaims: '1' } };
  const tenant = await newTenant(environment, { name: 'keeps-state', quotas });
  const { name: namespace } = tenant;
  const labels = { 'persistent-state-for': 'vm0' };
  await environment.admin.create(CLAIMS, {
    metadata: { namespace, name: 'persistent-state-for-vm0', labels },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } },
  });
  const domain = { devices: { tpm: { persistent: true } } };
  await environment.admin.patch(VMIS, { namespace, name: 'vm0' }, { merge: { spec: { domain } } });
  await tenant.migrate();
  await untilVerdict(tenant, 'Unsupported', 'VolumeQuotaExceeded');
  const line = environment.lines.items.find((line) => isOf(line, namespace, 'VolumeQuotaExceeded'));
  expect(line?.message).toContain('volumes lacks persistentvolumeclaims=1');
  // `lock` reads the cluster itself and does not trust the event.
  await environment.forge({ type: EVENT.migrationFeasible, from: 'forger', namespace, cause: 'x' });
  expect(tenant.history.locks()).toEqual([]);
});

test.each([
  ['namespace', NAMESPACES],
  ['quota', RESOURCE_QUOTAS],
])('an opted-out %s: reports Unsupported, and does not lock', async (what, type) => {
  const name = `skipped-${what}`;
  const tenant = await newTenant(environment, { name });
  const resume = environment.hold(name, 'mtq-feasibility');
  await tenant.migrate();
  await tenant.untilBlocked();
  const at = what === 'quota' ? { namespace: name, name: 'quota' } : { name };
  const annotations = { [ANNOTATION.skip]: 'true' };
  await environment.admin.patch<KubernetesObject>(type, at, { merge: { metadata: { annotations } } });
  resume();
  await untilVerdict(tenant, 'Unsupported', 'Skipped');
  await environment.cluster.eventing.broker.idle();
  expect(tenant.history.locks()).toEqual([]);
  expect(wasRaised(tenant.history)).toBe(false);
});

/** A third party refuses our requests of this kind in a namespace; resolves with how to end that. */
async function refuseOurs(name: string, resources: readonly string[]): Promise<() => Promise<unknown>> {
  const stubWebhook = await startStubWebhook();
  environment.atEnd(() => stubWebhook.stop());
  stubWebhook.respondWith({ allowed: false, status: { code: 403, message: REFUSAL } });
  const webhook = {
    name: 'platform.example.com',
    clientConfig: stubWebhook.clientConfig,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources, operations: ['CREATE', 'UPDATE'] }],
    matchConditions: [{ name: 'ours', expression: "request.userInfo.username.contains(':mtq-')" }],
  };
  await environment.admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, {
    metadata: { name: 'platform' },
    webhooks: [webhook],
  });
  return () => environment.admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: 'platform' });
}
const REFUSAL = 'these belong to the platform team';

const untilRefusalReported = ({ history }: Tenant, on: string): Promise<void> =>
  history.until(`an Event on ${on} has the refusal`, () =>
    history
      .of(EVENTS)
      .some(
        ({ involvedObject, message }) => involvedObject.name === on && rawText(message).includes(REFUSAL),
      ),
  );

/** A dry run finds it out, before any lock. */
test.each<[what: string, resources: readonly string[]]>([
  ['amounts', ['resourcequotas/status']],
  ['quotas', ['resourcequotas', 'resourcequotas/status']],
])(
  'a third-party policy refuses our writes to %s: reports it, and does not lock (F23)',
  async (what, resources) => {
    const name = `refused-${what}`;
    const tenant = await newTenant(environment, { name });
    const end = await refuseOurs(name, resources);
    await tenant.migrate();
    await untilRefusalReported(tenant, 'mig0');
    await environment.cluster.eventing.broker.idle();
    await end();
    expect(tenant.history.locks()).toEqual([]);
    expect(wasRaised(tenant.history)).toBe(false);
  },
);

/** No attempt can be recorded on the namespace, so `lock` reports on the migrations. */
test('a third-party policy refuses our writes to the namespace: each attempt reports it, and nothing is raised', async () => {
  const name = 'refused-namespace';
  const tenant = await newTenant(environment, { name, vms: 2, gives: headroomFor(2) });
  const end = await refuseOurs(name, ['namespaces']);
  await tenant.migrate();
  await untilRefusalReported(tenant, 'mig0');
  await tenant.migrate(1);
  await untilRefusalReported(tenant, 'mig1');
  expect(tenant.history.locks()).toEqual([]);
  const verdicts = [...knownVerdicts(tenant.history.of(EVENTS)).values()].map(({ reason }) => reason);
  expect(verdicts).toContain(REASON.refusedByPolicy);
  await end();
});

test('the incumbent has locked the namespace: reports it, and raises nothing', async () => {
  const tenant = await newTenant(environment, { name: 'incumbent' });
  const { name } = tenant;
  const theirs = `lock.${name}.com`;
  await environment.admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, { metadata: { name: theirs } });
  await tenant.migrate();
  // `lock` reports it; or `raise` does and ends the lock, if the guard's cluster view did not answer `lock` in time.
  await environment.lines.until('the log has the line', () =>
    environment.lines.items.some((line) => isOf(line, name, 'IncumbentPresent')),
  );
  await tenant.history.until('it is not locked', () => !tenant.history.isLocked());
  expect(wasRaised(tenant.history)).toBe(false);
  await environment.admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: theirs });
});

test('a terminating namespace: reports Unsupported, and does not lock', async () => {
  const tenant = await newTenant(environment, { name: 'being-deleted' });
  // The namespace keeps its content while the controllers are paused.
  const resume = environment.hold(tenant.name, 'mtq-feasibility');
  await tenant.migrate();
  await tenant.untilBlocked();
  await environment.cluster.controlPlane.pauseControllerManager();
  try {
    await environment.admin.delete(NAMESPACES, { name: tenant.name });
    resume();
    await untilVerdict(tenant, 'Unsupported', 'NamespaceTerminating');
    await environment.forge({
      type: EVENT.migrationFeasible,
      from: 'forger',
      namespace: tenant.name,
      cause: 'x',
    });
    expect(tenant.history.locks()).toEqual([]);
    expect(wasRaised(tenant.history)).toBe(false);
  } finally {
    environment.cluster.controlPlane.resumeControllerManager();
  }
});

test('events about missing objects: answers them, and writes nothing (F8)', async () => {
  const since = (await auditLog(environment.cluster.controlPlane, environment.admin)).length;
  const kinds = [
    ['kubevirt.io/v1', 'VirtualMachineInstanceMigration'],
    ['mtq.kubevirt.io/v1alpha1', 'VirtualMachineMigrationResourceQuota'],
    ['v1', 'ResourceQuota'],
  ] as const;
  const namespaces = ['no-such-namespace', 'default'];
  for (const [apiVersion, kind] of kinds) {
    for (const type of Object.values(SOURCE_EVENT)) {
      for (const namespace of namespaces) {
        await environment.forgeSource({ type, apiVersion, kind, namespace, name: 'nobody' });
      }
    }
  }
  const failed = environment.hops.items.filter(
    ({ outcome, namespace }) => namespaces.includes(namespace) && outcome !== 'ack',
  );
  expect(failed).toEqual([]);
  const requests = (await auditLog(environment.cluster.controlPlane, environment.admin)).slice(since);
  const isWrite = ({ verb }: Audited): boolean => !['get', 'list', 'watch'].includes(verb);
  const ours = requests.filter(
    ({ user, objectRef }) =>
      user.username.startsWith('system:serviceaccount:mtq-system:') &&
      namespaces.includes(objectRef?.namespace ?? objectRef?.name ?? ''),
  );
  expect(ours.length).toBeGreaterThan(0);
  expect(ours.filter((request) => isWrite(request) && !isDryRun(request))).toEqual([]);
});

test('a lock that becomes unreadable while a quota is raised: lowers the quota, then unlocks', async () => {
  const tenant = await newTenant(environment, { name: 'broken-while-raised' });
  const { history, name } = tenant;
  const resume = environment.hold(name, 'mtq-lower');
  await tenant.migrate();
  // Wait for the target pod first: a pod admitted later would come in under an unreadable lock.
  await history.until(
    'it is raised and the target pod is there',
    () => wasRaised(history) && tenant.isThrough(),
  );
  await writeByHand(environment.admin, name, { annotations: { [ANNOTATION.lock]: '{' } });
  resume();
  await tenant.untilUnlocked();
  await expectQuiescent(environment.admin, tenant);
});

/** This is the last test, because it stops the KubeVirt stand-in, which would end such a migration at once. */
test('a migration whose VMI is gone: reports NotBlocked, and does not lock (F35)', async () => {
  const tenant = await newTenant(environment, { name: 'no-vmi' });
  const { name, history } = tenant;
  await environment.cluster.stopKubeVirt();
  await environment.admin.patch(
    VMIS,
    { namespace: name, name: 'vm0' },
    { merge: { metadata: { finalizers: [] } } },
  );
  await environment.admin.delete(VMIS, { namespace: name, name: 'vm0' });
  await history.until('the VMI is gone', () => history.isGone(VMIS));
  const { object } = await environment.admin.create(
    FULL_MIGRATIONS,
    newMigration({ namespace: name, name: 'mig0', vmi: 'vm0' }),
  );
  const refused = { type: 'migrationRejectedByResourceQuota', status: 'True' as const };
  const status = { phase: 'Pending', conditions: [refused] };
  await environment.admin.replace(FULL_MIGRATIONS, { ...object, status }, { subresource: 'status' });
  await untilVerdict(tenant, 'NotBlocked', 'VirtualMachineInstanceGone');
  await environment.forge({ type: EVENT.migrationFeasible, from: 'forger', namespace: name, cause: 'x' });
  await expectLeftAlone(tenant);
});
