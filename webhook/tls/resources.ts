import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { ResourceType } from '../../functions/kubernetes/cluster.ts';
import { REVIEWS } from '../../functions/kubernetes/live-resources.ts';

/** core/v1 Secret. Values are base64. */
export interface Secret extends KubernetesObject {
  type?: string;
  data?: Record<string, string>;
}

/** The fields of a webhook that the guard reads; a write keeps all others unchanged. */
export interface ValidatingWebhook {
  name: string;
  clientConfig: {
    url?: string;
    service?: { namespace: string; name: string; path?: string; port?: number };
    /** Base64 of PEM: the certificates that the API server trusts when it calls this webhook. */
    caBundle?: string;
  };
  /** CEL; the API server calls the webhook only when all of them are true. */
  matchConditions?: { name: string; expression: string }[];
}

/** admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration. */
export interface ValidatingWebhookConfiguration extends KubernetesObject {
  webhooks?: ValidatingWebhook[];
}

/** core/v1 ServiceAccount; the guard reads only whether it exists. */
export const SERVICE_ACCOUNTS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};
export const SECRETS: ResourceType<Secret> = {
  apiVersion: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
};
export const VALIDATING_WEBHOOK_CONFIGURATIONS: ResourceType<ValidatingWebhookConfiguration> = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
};
/** The mutating webhooks have the same fields. */
export const MUTATING_WEBHOOK_CONFIGURATIONS: ResourceType<ValidatingWebhookConfiguration> = REVIEWS.type;
