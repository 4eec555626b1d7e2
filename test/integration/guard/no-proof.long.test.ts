import { test } from '@jest/globals';
import { CLUSTER_PREFIX, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../../webhook/tls/resources.ts';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { askUntil } from '../../support/eventually.ts';
import { proofScene } from '../../support/policies/proof-scene.ts';
import { expectNoRaise, nameOf, type Answer } from '../../support/invariants/no-raise.ts';
import { CLUSTER_ROLES, untilAllowed } from '../../support/environment/roles.ts';

const scene = proofScene();

const PLATFORM_TEAM = 'quotas are made by the platform team';
const OTHERS = 'somebody-elses-policy';
const ROLE_OF_RAISE = { verb: 'create', resource: 'resourcequotas' };

async function setVerbs(
  { step, resource }: { step: string; resource: string },
  change: (verbs: readonly string[]) => readonly string[],
): Promise<void> {
  const { object } = await scene.environment.admin.get(CLUSTER_ROLES, { name: `${CLUSTER_PREFIX}${step}` });
  const rules = object.rules.map((rule) =>
    rule.resources?.includes(resource) === true ? { ...rule, verbs: change(rule.verbs) } : rule,
  );
  await scene.environment.admin.replace(CLUSTER_ROLES, { ...object, rules });
}

const RIGHT_OF_RAISE = { step: 'raise', resource: 'resourcequotas' };
const RIGHT_OF_GUARD = { step: 'guard', resource: 'mtqs' };
const LISTS_INCUMBENT = { verb: 'list', group: 'mtq.kubevirt.io', resource: 'mtqs' };

const ANSWERS: Readonly<Record<string, Answer>> = {
  'nobody, since the guard is down': {
    arrange: () => scene.environment.cluster.killGuard(),
    putRight: () => scene.environment.cluster.startGuard(),
    reason: 'failed calling webhook',
  },
  'a 403 without any token': scene.byStub(
    { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'no token here' } },
    'no token here',
  ),
  'a 500': scene.byStub(500, 'failed calling webhook'),
  "another webhook's 403": {
    arrange: async () => {
      scene.stubWebhook.respondWith({ allowed: false, status: { code: 403, message: PLATFORM_TEAM } });
      await scene.webhooks.remove();
      const quotas = {
        apiGroups: [''],
        apiVersions: ['v1'],
        resources: ['resourcequotas'],
        operations: ['CREATE'],
      };
      const webhook = {
        name: 'quotas.example.com',
        clientConfig: scene.stubWebhook.clientConfig,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        rules: [quotas],
      };
      await scene.environment.admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, {
        metadata: { name: OTHERS },
        webhooks: [webhook],
      });
      const probe = { metadata: { name: 'probe', namespace: 'default' }, spec: {} };
      await askUntil(
        'the other webhook refuses quotas',
        () =>
          scene.environment.admin
            .create(RESOURCE_QUOTAS, probe, { dryRun: true })
            .then(() => 'created', describeError),
        (answer) => answer.includes(PLATFORM_TEAM),
      );
    },
    putRight: async () => {
      await scene.environment.admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: OTHERS });
      await scene.webhooks.restore();
    },
    reason: PLATFORM_TEAM,
  },
  'a missing permission': {
    arrange: async () => {
      await setVerbs(RIGHT_OF_RAISE, (verbs) => verbs.filter((verb) => verb !== 'create'));
      await untilAllowed(scene.environment.admin, userOf(SERVICE_ACCOUNT.raise), {
        ...ROLE_OF_RAISE,
        allowed: false,
      });
    },
    putRight: async () => {
      await setVerbs(RIGHT_OF_RAISE, (verbs) => [...verbs, 'create']);
      await untilAllowed(scene.environment.admin, userOf(SERVICE_ACCOUNT.raise), {
        ...ROLE_OF_RAISE,
        allowed: true,
      });
    },
    reason: 'cannot create resource "resourcequotas"',
  },
  'a guard that was restarted and may not list the incumbent': {
    arrange: async () => {
      await setVerbs(RIGHT_OF_GUARD, (verbs) => verbs.filter((verb) => verb !== 'list'));
      await untilAllowed(scene.environment.admin, userOf(SERVICE_ACCOUNT.guard), {
        ...LISTS_INCUMBENT,
        allowed: false,
      });
      await scene.environment.cluster.killGuard();
      await scene.environment.cluster.startGuard();
    },
    putRight: () => setVerbs(RIGHT_OF_GUARD, (verbs) => [...verbs, 'list']),
    reason: 'the guard has not listed mtqs',
  },
  'no refusal at all': {
    arrange: () => scene.webhooks.remove(),
    putRight: () => scene.webhooks.restore(),
    reason: 'the guard does not protect this namespace',
  },
};

test.each(Object.entries(ANSWERS))(
  'the webhook’s proof is answered by %s: no raise (F13, F31)',
  async (what, answer) => {
    await expectNoRaise(scene.environment, nameOf(what), answer);
  },
);
