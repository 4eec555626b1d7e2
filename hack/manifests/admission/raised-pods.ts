import { ANNOTATION, LABEL, POLICY } from '../../../functions/domain/names.ts';
import { EXCEEDED, REFUSAL } from '../../../webhook/admission/messages.ts';
import { annotation, hole, REQUEST_HOLES, withHoles } from './cel.ts';
import type { Policy } from './manifest.ts';
import {
  CLAIM_RULE,
  identitiesOf,
  IS_POD_OF_LOCK,
  NOT_A_HARMLESS_UPDATE,
  POD_IDENTITY,
  POD_RULES,
} from './pods.ts';
import { CONTROLLER } from './users.ts';

/**
 * Allows, while a quota is raised, only the pods of the quota's migrations. The raised quotas are the parameters; each one must allow
 * the pod. Without a raised quota in the namespace, the API server evaluates nothing. The parameters come from the same store that
 * quota admission reads in this API server. So no API server enforces a raised quota that this policy does not see. An API server may
 * evaluate a request just before it sees the raise and count it just after: the lock covers that case.
 */
export const raisedPods: Policy = {
  name: POLICY.raisedPods,
  paramKind: { apiVersion: 'v1', kind: 'ResourceQuota' },
  // Without a namespace: the namespace of the request.
  paramRef: {
    selector: { matchLabels: { [LABEL.raised]: 'true' } },
    parameterNotFoundAction: 'Allow',
  },
  // Without our label: a write that removes the label would pass. A starting API server may not know the parameters yet, and
  // then refuses, so the policy excludes the cluster's own namespaces.
  namespaceSelector: {
    matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] }],
  },
  rules: [...POD_RULES, CLAIM_RULE],
  matchConditions: [NOT_A_HARMLESS_UPDATE],
  variables: [CONTROLLER, identitiesOf(annotation('params', ANNOTATION.migrations)), ...POD_IDENTITY],
  validations: [
    {
      expression: `(request.operation == 'CREATE' || request.?subResource.orValue('') == 'resize') && ${IS_POD_OF_LOCK}`,
      message: `must wait, a quota of the namespace is raised for a live migration for a few seconds; ${EXCEEDED}; try again then`,
      messageExpression: withHoles(
        REFUSAL.raised.text({ ...REQUEST_HOLES, quota: hole('params.metadata.name') }),
      ),
    },
  ],
};
