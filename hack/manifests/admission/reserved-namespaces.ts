import { VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { CLUSTER_PREFIX, GROUP } from '../../../functions/domain/names.ts';
import { REFUSAL } from '../../../webhook/admission/messages.ts';
import { REQUEST_HOLES, withHoles } from './cel.ts';
import type { Policy } from './manifest.ts';
import { IS_TENANT_NAMESPACE } from './users.ts';

/**
 * The steps never lock the cluster's own namespaces: a lock would delay pods that the whole cluster needs. So the policy refuses a new
 * VMMRQ there. Users can still change and delete existing ones. Feasibility, lock and raise check the namespace's name themselves;
 * lower and unlock work in every namespace.
 */
export const reservedNamespaces: Policy = {
  name: `${CLUSTER_PREFIX}reserved-namespaces`,
  rules: [
    {
      apiGroups: [GROUP],
      apiVersions: ['*'],
      resources: [VMMRQS.plural],
      operations: ['CREATE'],
      scope: 'Namespaced',
    },
  ],
  validations: [
    {
      expression: IS_TENANT_NAMESPACE,
      message: 'the namespace belongs to the cluster and is never locked for a migration',
      messageExpression: withHoles(REFUSAL.reservedNamespace.text(REQUEST_HOLES)),
    },
  ],
};
