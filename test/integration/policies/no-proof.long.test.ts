import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { POLICY, PROOF_QUOTA, PROOF_MESSAGE, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import { POLICIES, POLICY_BINDINGS, policiesInForce } from '../../cluster/policies-in-force.ts';
import { typeOf } from '../../cluster/install.ts';
import { CERTIFICATES_SECRET } from '../../../webhook/tls/certificates.ts';
import { SECRETS, VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../../webhook/tls/resources.ts';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { askUntil } from '../../support/eventually.ts';
import { heldBy } from '../../support/tenant/history.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { startStubWebhook, type StubWebhook } from '../../support/faults/stub-webhook.ts';
import { expectNoRaise, nameOf, type Answer } from '../../support/invariants/no-raise.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

/** Admission mode policy: the policy's refusal is the proof. */
let environment: TestEnvironment;
let stubWebhook: StubWebhook;

beforeAll(async () => {
  [environment, stubWebhook] = await Promise.all([
    startTestEnvironment({ admissionMode: 'policy' }),
    startStubWebhook(),
  ]);
});

afterAll(async () => {
  await stubWebhook.stop();
  await environment.stop();
});

const inForce = async (): Promise<void> => (await policiesInForce(environment.admin))();

async function remove(type: typeof POLICIES): Promise<void> {
  await environment.admin.delete(type, { name: POLICY.locked });
  await inForce();
}

/** The policy as installed. */
async function restore(): Promise<void> {
  for (const object of environment.cluster.objects.filter(
    ({ metadata }) => metadata.name === POLICY.locked,
  )) {
    const type = typeOf(object);
    await environment.admin.delete(type, { name: POLICY.locked }).catch(() => undefined);
    await environment.admin.create(type, object);
  }
  await inForce();
}

const THEIRS = 'quotas.example.com';
const NEW_QUOTAS = {
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: ['resourcequotas'],
  operations: ['CREATE'],
};

/** Another policy that refuses every new quota, in these words. */
async function refuseQuotas(message: string): Promise<void> {
  await environment.admin.create(POLICIES, {
    metadata: { name: THEIRS },
    spec: {
      matchConstraints: { resourceRules: [NEW_QUOTAS] },
      validations: [{ expression: 'false', message, reason: 'Forbidden' }],
    },
  });
  const spec = { policyName: THEIRS, validationActions: ['Deny'] };
  await environment.admin.create(POLICY_BINDINGS, { metadata: { name: THEIRS }, spec });
}

async function allowQuotas(): Promise<void> {
  await environment.admin.delete(POLICY_BINDINGS, { name: THEIRS });
  await environment.admin.delete(POLICIES, { name: THEIRS });
}

const IMITATION = 'a webhook that says what our policy would';

/** The exact words and cause of our refusal, with the lock's token. */
async function imitate(): Promise<void> {
  const { admin } = environment;
  await remove(POLICY_BINDINGS);
  stubWebhook.respondWith(async () => {
    const { object } = await admin.get(NAMESPACES, { name: nameOf(IMITATION) });
    const refusal =
      `ValidatingAdmissionPolicy '${POLICY.locked}' with binding '${POLICY.locked}' denied request: ` +
      `${PROOF_MESSAGE}${heldBy(object)?.token}`;
    const message = `resourcequotas "${PROOF_QUOTA}" is forbidden: ${refusal}`;
    const details = { name: PROOF_QUOTA, kind: 'resourcequotas', causes: [{ message: refusal }] };
    return { allowed: false, status: { code: 403, reason: 'Forbidden', message, details } };
  });
  const webhook = {
    name: THEIRS,
    clientConfig: stubWebhook.clientConfig,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    rules: [NEW_QUOTAS],
  };
  await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, { metadata: { name: THEIRS }, webhooks: [webhook] });
  const probe = { metadata: { name: 'probe', namespace: nameOf(IMITATION) }, spec: {} };
  await askUntil(
    'the webhook refuses quotas',
    () => admin.create(RESOURCE_QUOTAS, probe, { dryRun: true }).then(() => 'created', describeError),
    (answer) => answer.includes(PROOF_MESSAGE),
  );
}

const ANSWERS: Readonly<Record<string, Answer>> = {
  'no refusal, the policy being gone': {
    arrange: () => remove(POLICIES),
    putRight: restore,
    reason: 'the guard does not protect this namespace',
  },
  'no refusal, the binding being gone': {
    arrange: () => remove(POLICY_BINDINGS),
    putRight: restore,
    reason: 'the guard does not protect this namespace',
  },
  'another policy with our message': {
    arrange: async () => {
      await refuseQuotas(`${PROOF_MESSAGE}of ages`);
      await remove(POLICY_BINDINGS);
    },
    putRight: async () => {
      await allowQuotas();
      await restore();
    },
    reason: `ValidatingAdmissionPolicy '${THEIRS}'`,
  },
  [IMITATION]: {
    arrange: imitate,
    putRight: async () => {
      await environment.admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: THEIRS });
      await restore();
    },
    reason: `admission webhook "${THEIRS}" denied the request`,
  },
};

test('a cycle needs no guard when the policies alone review requests', async () => {
  await environment.cluster.killGuard();
  const tenant = await newTenant(environment, { name: 'no-guard' });
  await tenant.migrate();
  await tenant.untilUnlocked();
  await environment.cluster.startGuard();
  expect(wasRaised(tenant.history)).toBe(true);
  await expectAsBefore(environment.admin, tenant);
  const { items } = await environment.admin.list(SECRETS, { namespace: SYSTEM_NAMESPACE });
  expect(items.map(({ metadata }) => metadata.name)).not.toContain(CERTIFICATES_SECRET);
});

test.each(Object.entries(ANSWERS))('the policy’s proof is answered by %s: no raise', async (what, answer) => {
  await expectNoRaise(environment, nameOf(what), answer);
});
