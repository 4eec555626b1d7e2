import {
  ANNOTATION,
  LABEL,
  OTHER_LOCK_MESSAGE,
  POLICY,
  PROOF_MESSAGE,
} from '../../../functions/domain/names.ts';
import { EXCEEDED, REFUSAL } from '../../../webhook/admission/messages.ts';
import { annotation, namespaceAnnotation, REQUEST_HOLES, text, withHoles } from './cel.ts';
import type { Condition, Policy, Rule } from './manifest.ts';
import {
  CLAIM_RULE,
  identitiesOf,
  IS_POD_OF_LOCK,
  NOT_A_HARMLESS_UPDATE,
  POD_IDENTITY,
  POD_RULES,
} from './pods.ts';
import { NOT_OUR_QUOTA_UPDATE, QUOTA_KEYS_CHANGED, QUOTA_RULES } from './quotas.ts';
import { CONTROLLER, IS_RAISE, IS_TENANT_NAMESPACE } from './users.ts';

/** The namespaces of the webhook locked.mtq.kubevirt.io and of the policy with that name. */
export const LOCKED_SELECTOR = { matchLabels: { [LABEL.locked]: 'true' } };
export const LOCKED_RULES: readonly Rule[] = [...POD_RULES, ...QUOTA_RULES, CLAIM_RULE];
export const LOCKED_CONDITIONS: readonly Condition[] = [
  { name: 'tenant-namespace', expression: IS_TENANT_NAMESPACE },
  NOT_A_HARMLESS_UPDATE,
  QUOTA_KEYS_CHANGED,
  NOT_OUR_QUOTA_UPDATE,
];

const IS_PROOF = `request.resource.resource == 'resourcequotas' && request.operation == 'CREATE'
  && request.?dryRun.orValue(false) && ${IS_RAISE}`;

/**
 * Allows, in a locked namespace, only the pods of the lock's migrations, no new quota, and no change of our keys on a quota. The
 * policy reads the namespace from the API server's cache. Policies run before webhooks, so it lets the proof of the cached lock pass
 * to the guard. Without a webhook (config/components/policy-only) it answers the proof itself.
 */
export const locked: Policy = {
  name: POLICY.locked,
  namespaceSelector: LOCKED_SELECTOR,
  rules: LOCKED_RULES,
  matchConditions: LOCKED_CONDITIONS,
  variables: [
    CONTROLLER,
    { name: 'answersProof', expression: 'false' },
    { name: 'isProof', expression: IS_PROOF },
    { name: 'token', expression: `${namespaceAnnotation(ANNOTATION.token)}.orValue('')` },
    {
      name: 'isThisLock',
      expression: `variables.token != '' && ${annotation('object', ANNOTATION.proof)}.orValue('') == variables.token`,
    },
    identitiesOf(namespaceAnnotation(ANNOTATION.migrations)),
    ...POD_IDENTITY,
  ],
  validations: [
    {
      expression: '!variables.isProof || (variables.isThisLock && !variables.answersProof)',
      message: OTHER_LOCK_MESSAGE,
      // functions/cluster/proof.ts parses both texts.
      messageExpression: `variables.isThisLock ? ${text(PROOF_MESSAGE)} + variables.token : ${text(OTHER_LOCK_MESSAGE)}`,
    },
    {
      expression: `variables.isProof || (request.operation == 'CREATE' && ${IS_POD_OF_LOCK})`,
      message: `must wait, the namespace is locked for a live migration for a few seconds; ${EXCEEDED}; try again then`,
      messageExpression: `variables.token == '' ? ${withHoles(REFUSAL.unreadableLock.text(REQUEST_HOLES))}
        : ${withHoles(REFUSAL.locked.text(REQUEST_HOLES))}`,
    },
  ],
};
