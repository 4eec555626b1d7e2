import { ANNOTATION, LABEL, POLICY } from '../../../functions/domain/names.ts';
import { annotation } from './cel.ts';
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
 * While a quota is raised: only the pods of its own migrations. The raised quotas themselves are the parameters, each decides
 * for itself, and all of them must allow; without a raised quota in the namespace nothing is evaluated. The parameters come from
 * the very store that quota admission reads in the same API server, so no server enforces a raised quota that this policy does
 * not see. A request may be evaluated just before the server hears of the raise and counted just after: the lock covers that.
 */
export const raisedPods: Policy = {
  name: POLICY.raisedPods,
  paramKind: { apiVersion: 'v1', kind: 'ResourceQuota' },
  // No namespace: that of the request.
  paramRef: {
    selector: { matchLabels: { [LABEL.raised]: 'true' } },
    parameterNotFoundAction: 'Allow',
  },
  // No label of ours: a write that removes it would pass. An API server that starts may not know the parameters yet, and then
  // refuses: never where the cluster itself lives.
  namespaceSelector: {
    matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] }],
  },
  rules: [...POD_RULES, CLAIM_RULE],
  matchConditions: [NOT_A_HARMLESS_UPDATE],
  variables: [CONTROLLER, identitiesOf(annotation('params', ANNOTATION.migrations)), ...POD_IDENTITY],
  validations: [
    {
      expression: `(request.operation == 'CREATE' || request.?subResource.orValue('') == 'resize') && ${IS_POD_OF_LOCK}`,
      message:
        'must wait, a quota of the namespace is raised for a live migration for a few seconds; try again then',
      messageExpression: `request.operation + ' of ' + request.resource.resource + ' in namespace ' + request.namespace
        + ' must wait: ResourceQuota ' + params.metadata.name
        + ' is raised for a live migration for a few seconds, at most a minute; try again then'`,
    },
  ],
};
