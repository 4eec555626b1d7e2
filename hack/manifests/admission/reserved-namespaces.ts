import { VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { CLUSTER_PREFIX, GROUP } from '../../../functions/domain/names.ts';
import type { Policy } from './manifest.ts';
import { IS_TENANT_NAMESPACE } from './users.ts';

/**
 * The cluster's own namespaces are never locked: a lock would hold up the pods that everything else needs. So a VMMRQ cannot be
 * made there. What was there before can still be changed and deleted; feasibility, lock and raise check the namespace's name
 * themselves, lower and unlock work wherever there is something to lower.
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
      messageExpression: `'namespace ' + request.namespace + ' belongs to the cluster and is never locked for a migration: '
        + 'move the VirtualMachines to a namespace of their own, or give its ResourceQuota room for a second launcher pod'`,
    },
  ],
};
