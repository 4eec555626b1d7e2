import { afterAll, beforeAll, test } from '@jest/globals';
import { CLUSTER_PREFIX, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../../webhook/tls/resources.ts';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { askUntil } from '../../support/eventually.ts';
import { guardWebhooks, type GuardWebhooks } from '../../support/guard-webhooks.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/test-environment.ts';
import { startStubWebhook, type StubWebhook } from '../../support/stub-webhook.ts';
import { expectNoRaise, nameOf, type Answer } from '../../support/no-raise.ts';
import { CLUSTER_ROLES, untilAllowed } from '../../support/roles.ts';
import { WITH_WEBHOOKS } from '../../support/admission-mode.ts';

let environment: TestEnvironment;
let stubWebhook: StubWebhook;
let webhooks: GuardWebhooks;

beforeAll(async () => {
  [environment, stubWebhook] = await Promise.all([
    startTestEnvironment({ admissionMode: WITH_WEBHOOKS }),
    startStubWebhook(),
  ]);
  webhooks = await guardWebhooks(environment);
});

afterAll(async () => {
  await stubWebhook.stop();
  await environment.stop();
});

const byStub = (answer: Parameters<StubWebhook['respondWith']>[0], reason: string): Answer => ({
  arrange: async () => {
    stubWebhook.respondWith(answer);
    await webhooks.pointTo(stubWebhook, reason);
  },
  putRight: () => webhooks.restore(),
  reason,
});

const PLATFORM_TEAM = 'quotas are made by the platform team';
const OTHERS = 'somebody-elses-policy';
const ROLE_OF_RAISE = { verb: 'create', resource: 'resourcequotas' };

async function setVerbs(
  { step, resource }: { step: string; resource: string },
  change: (verbs: readonly string[]) => readonly string[],
): Promise<void> {
  const { object } = await environment.admin.get(CLUSTER_ROLES, { name: `${CLUSTER_PREFIX}${step}` });
  const rules = object.rules.map((rule) =>
    rule.resources?.includes(resource) === true ? { ...rule, verbs: change(rule.verbs) } : rule,
  );
  await environment.admin.replace(CLUSTER_ROLES, { ...object, rules });
}

const RIGHT_OF_RAISE = { step: 'raise', resource: 'resourcequotas' };
const RIGHT_OF_GUARD = { step: 'guard', resource: 'mtqs' };
const LISTS_INCUMBENT = { verb: 'list', group: 'mtq.kubevirt.io', resource: 'mtqs' };

const ANSWERS: Readonly<Record<string, Answer>> = {
  'a 500': byStub(500, 'failed calling webhook'),
  "another webhook's 403": {
    arrange: async () => {
      stubWebhook.respondWith({ allowed: false, status: { code: 403, message: PLATFORM_TEAM } });
      await webhooks.remove();
      const quotas = {
        apiGroups: [''],
        apiVersions: ['v1'],
        resources: ['resourcequotas'],
        operations: ['CREATE'],
      };
      const webhook = {
        name: 'quotas.example.com',
        clientConfig: stubWebhook.clientConfig,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        rules: [quotas],
      };
      await environment.admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, {
        metadata: { name: OTHERS },
        webhooks: [webhook],
      });
      const probe = { metadata: { name: 'probe', namespace: 'default' }, spec: {} };
      await askUntil(
        'the other webhook refuses quotas',
        () =>
          environment.admin
            .create(RESOURCE_QUOTAS, probe, { dryRun: true })
            .then(() => 'created', describeError),
        (answer) => answer.includes(PLATFORM_TEAM),
      );
    },
    putRight: async () => {
      await environment.admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: OTHERS });
      await webhooks.restore();
    },
    reason: PLATFORM_TEAM,
  },
  'a missing permission': {
    arrange: async () => {
      await setVerbs(RIGHT_OF_RAISE, (verbs) => verbs.filter((verb) => verb !== 'create'));
      await untilAllowed(environment.admin, userOf(SERVICE_ACCOUNT.raise), {
        ...ROLE_OF_RAISE,
        allowed: false,
      });
    },
    putRight: async () => {
      await setVerbs(RIGHT_OF_RAISE, (verbs) => [...verbs, 'create']);
      await untilAllowed(environment.admin, userOf(SERVICE_ACCOUNT.raise), {
        ...ROLE_OF_RAISE,
        allowed: true,
      });
    },
    reason: 'cannot create resource "resourcequotas"',
  },
  'a guard that was restarted and may not list the incumbent': {
    arrange: async () => {
      await setVerbs(RIGHT_OF_GUARD, (verbs) => verbs.filter((verb) => verb !== 'list'));
      await untilAllowed(environment.admin, userOf(SERVICE_ACCOUNT.guard), {
        ...LISTS_INCUMBENT,
        allowed: false,
      });
      await environment.cluster.killGuard();
      await environment.cluster.startGuard();
    },
    putRight: () => setVerbs(RIGHT_OF_GUARD, (verbs) => [...verbs, 'list']),
    reason: 'the guard has not listed mtqs',
  },
  'no refusal at all': {
    arrange: () => webhooks.remove(),
    putRight: () => webhooks.restore(),
    reason: 'the guard does not protect this namespace',
  },
};

test.each(Object.entries(ANSWERS))(
  'the webhook’s proof is answered by %s: no raise (F13, F31)',
  async (what, answer) => {
    await expectNoRaise(environment, nameOf(what), answer);
  },
);
