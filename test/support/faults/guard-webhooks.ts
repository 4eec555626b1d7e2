import { ANNOTATION, POLICY, WEBHOOK } from '../../../functions/domain/names.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { ignoreNotFound } from '../../../functions/kubernetes/errors.ts';
import { policiesInForce, POLICY_BINDINGS } from '../../cluster/policies-in-force.ts';
import {
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type ValidatingWebhookConfiguration,
} from '../../../webhook/tls/resources.ts';
import { apiRequests, type ApiAnswer } from '../environment/api-request.ts';
import { bindRole } from '../environment/roles.ts';
import type { TestEnvironment } from '../environment/test-environment.ts';
import { askUntil } from '../eventually.ts';
import type { StubWebhook } from './stub-webhook.ts';

/** Changes the guard's ValidatingWebhookConfiguration, as an admin could. */
export interface GuardWebhooks {
  /** Redirects the API server from the guard to the stub webhook; resolves when this is in effect. */
  pointTo(stubWebhook: StubWebhook, answersWith: string): Promise<void>;
  /** Removes the webhooks. */
  remove(): Promise<void>;
  /** Restores the installed configuration. */
  restore(): Promise<void>;
}

const PROBE = 'probe-namespace';
const NAMESPACE_WRITERS = 'namespace-writers';

export async function guardWebhooks({ admin, cluster }: TestEnvironment): Promise<GuardWebhooks> {
  const installed = await read(admin);
  await silenceKeysPolicy(admin);
  await admin.create<KubernetesObject>(NAMESPACE, { metadata: { name: PROBE } });
  const user = { name: 'cluster-admin', groups: ['cluster-admins'] };
  await bindRole(admin, { role: NAMESPACE_WRITERS, user: user.name, rules: WRITE_NAMESPACES });
  const request = apiRequests(await cluster.controlPlane.kubeconfigForUser(user));
  /** A dry-run change of a protected key by a user without rights: the answer shows which webhook the API server calls. */
  const probe = (): Promise<ApiAnswer> =>
    request({
      method: 'PATCH',
      path: `/api/v1/namespaces/${PROBE}?dryRun=All`,
      contentType: 'application/merge-patch+json',
      body: { metadata: { annotations: { [ANNOTATION.lastAttempt]: '{}' } } },
    });
  const until = async (what: string, holds: (answer: ApiAnswer) => boolean): Promise<void> => {
    await askUntil(`the API server asks ${what}`, probe, holds);
  };
  const isGuards = ({ body }: ApiAnswer): boolean =>
    String(body['message']).includes('may only be changed by managed-tenant-quota');
  await until('the guard', isGuards);
  return {
    pointTo: async (stubWebhook, answersWith) => {
      const current = await read(admin);
      const webhooks = (current.webhooks ?? []).map((webhook) => ({
        ...webhook,
        clientConfig: stubWebhook.clientConfig,
      }));
      await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...current, webhooks });
      await until('the stub webhook', ({ body }) => String(body['message']).includes(answersWith));
    },
    remove: async () => {
      await admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK.configuration });
      await until('no webhook', ({ code }) => code === 200);
    },
    restore: async () => {
      await admin
        .delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK.configuration })
        .catch(() => undefined);
      const { name, labels = {}, annotations = {} } = installed.metadata;
      const { webhooks = [] } = installed;
      await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, {
        metadata: { name, labels, annotations },
        webhooks,
      });
      await until('the guard', isGuards);
    },
  };
}

const NAMESPACE: ResourceType = {
  apiVersion: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
};
const WRITE_NAMESPACES = [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'update', 'patch'] }];

/** This policy would refuse the probe before any webhook call, with the guard's own text. */
async function silenceKeysPolicy(admin: Cluster): Promise<void> {
  await ignoreNotFound(admin.delete(POLICY_BINDINGS, { name: POLICY.lockKeys }));
  await (
    await policiesInForce(admin)
  )();
}

async function read(admin: Cluster): Promise<ValidatingWebhookConfiguration> {
  return (await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK.configuration })).object;
}
