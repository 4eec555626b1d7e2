import { SYSTEM_NAMESPACE, WEBHOOK } from '../../../functions/domain/names.ts';
import { KEYS_CONDITIONS, NAMESPACE_RULE } from './lock-keys.ts';
import { LOCKED_CONDITIONS, LOCKED_RULES, LOCKED_SELECTOR } from './locked.ts';
import { conditionsOf, type Condition, type Rule } from './manifest.ts';

interface Webhook {
  readonly name: string;
  readonly namespaceSelector?: object;
  readonly reinvocationPolicy?: 'IfNeeded';
  readonly rules: readonly Rule[];
  readonly matchConditions: readonly Condition[];
}

/**
 * A webhook that refuses while the guard is unreachable, so the guard reviews every admitted request. The guard fills in the caBundle.
 */
export const webhook = ({ name, rules, matchConditions, ...selector }: Webhook): object => ({
  name,
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  timeoutSeconds: 3,
  clientConfig: {
    service: { namespace: SYSTEM_NAMESPACE, name: 'mtq-guard', path: '/review', port: 443 },
  },
  ...selector,
  rules,
  matchConditions: conditionsOf(matchConditions),
});

/** The two webhooks cost nothing while idle: no namespace has the label, and no request changes our keys. */
export const webhooks: object = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: WEBHOOK.configuration },
  webhooks: [
    webhook({
      name: WEBHOOK.locked,
      namespaceSelector: LOCKED_SELECTOR,
      rules: LOCKED_RULES,
      matchConditions: LOCKED_CONDITIONS,
    }),
    webhook({ name: WEBHOOK.keys, rules: [NAMESPACE_RULE], matchConditions: KEYS_CONDITIONS }),
  ],
};
