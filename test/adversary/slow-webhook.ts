import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { PODS } from '../../functions/kubernetes/resources.ts';
import { askUntil } from '../support/eventually.ts';
import { startStubWebhook } from '../support/faults/stub-webhook.ts';

/** A third-party webhook for pods. */
export interface SlowWebhook {
  readonly kind: 'mutating' | 'validating';
  /** How long the webhook takes to review a pod, milliseconds. */
  readonly ms: number;
}

const CONFIGURATION = {
  mutating: 'MutatingWebhookConfiguration',
  validating: 'ValidatingWebhookConfiguration',
};

/** Resolves when the API server sends the pods of this namespace to the webhook; it reviews all namespaces. The result stops it. */
export async function startSlowWebhook(
  admin: Cluster,
  { kind, ms }: SlowWebhook,
  namespace: string,
): Promise<() => Promise<void>> {
  const stubWebhook = await startStubWebhook();
  let asked = 0;
  stubWebhook.respondWith(async () => {
    asked += 1;
    await delay(ms);
    return { allowed: true };
  });
  const type: ResourceType<KubernetesObject & { webhooks: object[] }> = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: CONFIGURATION[kind],
    plural: `${CONFIGURATION[kind].toLowerCase()}s`,
    namespaced: false,
  };
  const rule = {
    apiGroups: [''],
    apiVersions: ['v1'],
    resources: ['pods', 'pods/resize'],
    operations: ['CREATE', 'UPDATE'],
  };
  const webhook = {
    name: 'slow.example.com',
    clientConfig: stubWebhook.clientConfig,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Ignore',
    timeoutSeconds: 10,
    rules: [rule],
  };
  await admin.create(type, { metadata: { name: 'slow' }, webhooks: [webhook] });
  const pod = {
    metadata: { namespace, name: 'probe' },
    spec: { containers: [{ name: 'c', image: 'probe' }] },
  };
  await askUntil(
    'the slow webhook is asked',
    async () => {
      await admin.create(PODS, pod, { dryRun: true }).catch(() => undefined);
      return asked;
    },
    (times) => times > 0,
  );
  return () => stubWebhook.stop();
}
