import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KUBEVIRT, REASON, type Reason } from '../../../functions/domain/names.ts';
import { EVENTS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { POLICIES, POLICY_BINDINGS, policiesInForce } from '../../cluster/policies-in-force.ts';
import { FULL_MIGRATIONS } from '../../cluster/kubevirt/objects/objects.ts';
import type { Condition } from '../../../functions/domain/objects.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../../webhook/tls/resources.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { give, newTenant, headroomFor, type Tenant } from '../../support/tenant/tenant.ts';
import { rawText } from '../../support/raw-text.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
});

const PODS_OF = (namespace: string): object => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
});
const CREATE_PODS = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] };

/** A third-party webhook without a server. */
async function aWebhook({ name }: Tenant): Promise<void> {
  const webhook = {
    name: 'pods.example.com',
    ...PODS_OF(name),
    rules: [CREATE_PODS],
    clientConfig: { url: 'https://127.0.0.1:1/' },
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  await environment.admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, {
    metadata: { name },
    webhooks: [webhook],
  });
  await triesAgain(name);
}

/** A third-party policy. */
async function aPolicy({ name }: Tenant): Promise<void> {
  await environment.admin.create(POLICIES, {
    metadata: { name },
    spec: {
      matchConstraints: { ...PODS_OF(name), resourceRules: [CREATE_PODS] },
      validations: [{ expression: 'false', message: 'no pods on Saturdays' }],
    },
  });
  await environment.admin.create(POLICY_BINDINGS, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  const inForce = await policiesInForce(environment.admin);
  await inForce();
  await triesAgain(name);
}

/** Forges virt-controller's event for an OpenShift ClusterResourceQuota. This is the last case, because it stops the stand-in. */
async function aClusterQuota({ name, history }: Tenant): Promise<void> {
  await environment.cluster.stopKubeVirt();
  const [refused] = history.of(EVENTS).filter(({ reason }) => reason === KUBEVIRT.failedCreate);
  if (refused === undefined) throw new Error(`no message says why mig0 of ${name} is refused`);
  const { involvedObject, type = 'Warning', source = {} } = refused;
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const message =
    'Error creating pod: pods "virt-launcher-vm0-x" is forbidden: exceeded quota: all-of-them, ' +
    'requested: requests.cpu=1005m, used: requests.cpu=8, limited: requests.cpu=8';
  await environment.admin.create(EVENTS, {
    metadata: { namespace: name, name: 'by-hand' },
    ...{ involvedObject, type, source, message },
    reason: KUBEVIRT.failedCreate,
    count: 1,
    // Later than KubeVirt's own event, because timestamps have whole seconds.
    firstTimestamp: now,
    lastTimestamp: new Date(Date.parse(now) + 1_000).toISOString(),
  });
}

const triesAgain = (namespace: string): Promise<unknown> =>
  environment.admin.patch(
    FULL_MIGRATIONS,
    { namespace, name: 'mig0' },
    { merge: { metadata: { annotations: { again: 'yes' } } } },
  );

interface Case {
  readonly refuses: (tenant: Tenant) => Promise<void>;
  readonly reason: Reason;
  readonly words: string;
}

const CASES: Readonly<Record<string, Case>> = {
  'another webhook': {
    refuses: aWebhook,
    reason: REASON.podRefused,
    words: 'failed calling webhook "pods.example.com"',
  },
  'another policy': { refuses: aPolicy, reason: REASON.podRefused, words: 'no pods on Saturdays' },
  'a ClusterResourceQuota': { refuses: aClusterQuota, reason: REASON.clusterQuota, words: 'all-of-them' },
};

test.each(Object.entries(CASES))(
  '%s also refuses the target: reported with its reason, and never locked for',
  async (what, each) => {
    const tenant = await newTenant(environment, {
      name: what.toLowerCase().replaceAll(' ', '-'),
      gives: null,
    });
    const { history, name } = tenant;
    await tenant.migrate();
    await tenant.untilBlocked();
    const isSaid = (): boolean =>
      history.of(EVENTS).some(({ message }) => rawText(message).includes(each.words));
    await history.until('KubeVirt says that the quota refuses it', () =>
      history.of(EVENTS).some(({ message }) => rawText(message).includes('exceeded quota: quota')),
    );
    await each.refuses(tenant);
    await history.until('KubeVirt says what refuses it now', isSaid);

    await give(environment.admin, { namespace: name, name: 'more' }, headroomFor(1));
    const condition = (): Condition | undefined =>
      history.latest(VMMRQS)?.status?.conditions?.find(({ type }) => type === 'Blocking');
    await history.until('the reason is reported', () => condition()?.reason !== undefined);
    expect(condition()).toMatchObject({ reason: each.reason, message: expect.stringContaining(each.words) });
    await environment.cluster.eventing.broker.idle();
    expect(history.locks()).toEqual([]);
    await expectAsBefore(environment.admin, tenant);
  },
);
