import { MERGE_PATCH, nth, type Attack, type Attempt } from './attack.ts';
import type { ObservedState } from './sight.ts';

const PLURAL = 'virtualmachinemigrationresourcequotas';
const pathOf = ({ namespace }: ObservedState, name = ''): string =>
  `/apis/mtq.kubevirt.io/v1alpha1/namespaces/${namespace}/${PLURAL}${name === '' ? '' : `/${name}`}`;

const OWN = 'own';

const create = (observed: ObservedState): Attempt => ({
  shape: 'vmmrq: one of its own',
  method: 'POST',
  path: pathOf(observed),
  body: {
    apiVersion: 'mtq.kubevirt.io/v1alpha1',
    kind: 'VirtualMachineMigrationResourceQuota',
    metadata: { name: OWN, namespace: observed.namespace },
    spec: { additionalMigrationResources: { pods: '3', 'requests.cpu': '100m' } },
  },
});

const change = (observed: ObservedState): Attempt => ({
  shape: 'vmmrq: one of its own, more',
  method: 'PATCH',
  path: pathOf(observed, OWN),
  contentType: MERGE_PATCH,
  body: { spec: { additionalMigrationResources: { pods: '5' } } },
});

const remove = (observed: ObservedState): Attempt => ({
  shape: 'vmmrq: one of its own, deleted',
  method: 'DELETE',
  path: pathOf(observed, OWN),
});

/** Forges a status: it gives much more, and says nothing. (The incumbent's record would stop every step there, as it must.) */
const forgeStatus = (observed: ObservedState): Attempt => ({
  shape: 'vmmrq: status written',
  method: 'PATCH',
  path: `${pathOf(observed, 'more')}/status`,
  contentType: MERGE_PATCH,
  body: {
    status: {
      additionalMigrationResources: { pods: '99' },
      // null, because an empty map of a merge patch keeps ours, which without conditions is the incumbent's record.
      migrationsToBlockingResourceQuotas: null,
      conditions: [],
    },
  },
});

/** Writes the VMMRQ's status, of which no step reads anything but the incumbent's record. */
export const writeVmmrqStatus: Attack = {
  name: 'vmmrq status',
  clients: 1,
  pauseMs: 2_000,
  next: (observed) => [forgeStatus(observed)],
};

/** Creates, enlarges and deletes a VMMRQ of its own. */
export const ownVmmrqs: Attack = {
  name: 'own vmmrqs',
  clients: 1,
  pauseMs: 2_000,
  next: (observed, n) => [nth([create, change, remove], n)(observed)],
};
