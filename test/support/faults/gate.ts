import { SYSTEM_NAMESPACE, userOf } from '../../../functions/domain/names.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../../webhook/tls/resources.ts';
import { askUntil } from '../eventually.ts';
import type { TestEnvironment } from '../environment/test-environment.ts';
import { startStubWebhook } from './stub-webhook.ts';

/** Holds the next quota status update by one of the project's service accounts inside the API server, like a slow network. */
export interface Gate {
  /** Resolves when the held request is there. */
  readonly arrived: Promise<undefined>;
  /** Continues the held request. */
  open(): void;
  /** Removes the gate. */
  remove(): Promise<void>;
}

const ALLOWED = { allowed: true };

/** Resolves when the gate would hold the next update by `account`. `like`: any quota, to test the gate with. */
export async function holdNextUpdate(
  environment: TestEnvironment,
  account: string,
  like: ResourceQuota,
): Promise<Gate> {
  const { admin, cluster } = environment;
  const stubWebhook = await startStubWebhook();
  const name = `gate-${account}`;
  let tried = false;
  stubWebhook.respondWith(() => {
    tried = true;
    return ALLOWED;
  });
  const rule = {
    apiGroups: [''],
    apiVersions: ['v1'],
    resources: ['resourcequotas/status'],
    operations: ['UPDATE'],
  };
  const webhook = {
    name: 'gate.example.com',
    clientConfig: stubWebhook.clientConfig,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    timeoutSeconds: 30,
    rules: [rule],
    matchConditions: [
      { name: 'by-account', expression: `request.userInfo.username == '${userOf(account)}'` },
    ],
  };
  await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, { metadata: { name }, webhooks: [webhook] });
  const asAccount = connect(
    await cluster.controlPlane.kubeconfigFor({ namespace: SYSTEM_NAMESPACE, name: account }),
    'test',
  );
  const { namespace = '' } = like.metadata;
  await askUntil(
    'the gate is in effect',
    async () => {
      const { object } = await admin.get(RESOURCE_QUOTAS, { namespace, name: like.metadata.name });
      await asAccount.replace(RESOURCE_QUOTAS, object, { dryRun: true, subresource: 'status' });
      return tried;
    },
    (stands) => stands,
  );

  const arrived = Promise.withResolvers<undefined>();
  const opened = Promise.withResolvers<undefined>();
  environment.atEnd(async () => {
    opened.resolve(undefined);
    await stubWebhook.stop();
  });
  let isFirst = true;
  stubWebhook.respondWith(async ({ dryRun }) => {
    if (!isFirst || dryRun) return ALLOWED;
    isFirst = false;
    arrived.resolve(undefined);
    await opened.promise;
    return ALLOWED;
  });
  return {
    arrived: arrived.promise,
    open: () => opened.resolve(undefined),
    remove: async () => {
      await admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name });
    },
  };
}
