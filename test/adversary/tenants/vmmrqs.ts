import { MERGE_PATCH, nth, type Attack, type Attempt } from './attack.ts';
import type { Sight } from './sight.ts';

const PLURAL = 'virtualmachinemigrationresourcequotas';
const pathOf = ({ namespace }: Sight, name = ''): string =>
  `/apis/mtq.kubevirt.io/v1alpha1/namespaces/${namespace}/${PLURAL}${name === '' ? '' : `/${name}`}`;

const OWN = 'own';

const create = (sight: Sight): Attempt => ({
  shape: 'vmmrq: one of its own',
  method: 'POST',
  path: pathOf(sight),
  body: {
    apiVersion: 'mtq.kubevirt.io/v1alpha1',
    kind: 'VirtualMachineMigrationResourceQuota',
    metadata: { name: OWN, namespace: sight.namespace },
    spec: { additionalMigrationResources: { pods: '3', 'requests.cpu': '100m' } },
  },
});

const change = (sight: Sight): Attempt => ({
  shape: 'vmmrq: one of its own, more',
  method: 'PATCH',
  path: pathOf(sight, OWN),
  contentType: MERGE_PATCH,
  body: { spec: { additionalMigrationResources: { pods: '5' } } },
});

const remove = (sight: Sight): Attempt => ({
  shape: 'vmmrq: one of its own, deleted',
  method: 'DELETE',
  path: pathOf(sight, OWN),
});

/** A status that says that the quota was never raised, or was raised from much more. */
const forgeStatus = (sight: Sight): Attempt => ({
  shape: 'vmmrq: status written',
  method: 'PATCH',
  path: `${pathOf(sight, 'more')}/status`,
  contentType: MERGE_PATCH,
  body: {
    status: {
      migrationsToBlockingResourceQuotas: {},
      originalBlockingResourceQuotas: [{ name: 'tight', spec: { hard: { pods: '99' } } }],
    },
  },
});

/** Its status is a report: whatever is written there decides nothing. */
export const writeVmmrqStatus: Attack = {
  name: 'vmmrq status',
  clients: 1,
  pauseMs: 2_000,
  next: (sight) => [forgeStatus(sight)],
};

/** A VMMRQ of its own comes, grows and goes. */
export const ownVmmrqs: Attack = {
  name: 'own vmmrqs',
  clients: 1,
  pauseMs: 2_000,
  next: (sight, n) => [nth([create, change, remove], n)(sight)],
};
