import type { Vmmrq } from '../domain/objects.ts';
import { CLUSTER_VMMRQS, VMMRQS } from '../kubernetes/resources.ts';
import { CONDITION, listed, NAMED, OBJECT } from './listed.ts';

/** Cluster-wide VMMRQs: that they exist, and that their specs change. */
export const LISTED_CLUSTER_VMMRQS = listed<Vmmrq>(CLUSTER_VMMRQS, {
  ...OBJECT,
  metadata: { ...NAMED, generation: true },
  spec: false,
  status: false,
});

/** VMMRQs of the whole cluster, and their conditions without their messages. */
export const LISTED_STATES_OF_VMMRQS = listed<Vmmrq>(
  VMMRQS,
  {
    ...OBJECT,
    metadata: NAMED,
    spec: false,
    status: {
      creationTime: false,
      additionalMigrationResources: false,
      originalBlockingResourceQuotas: false,
      migrationsToBlockingResourceQuotas: false,
      conditions: [{ ...CONDITION, lastProbeTime: false, lastTransitionTime: true }],
    },
  },
  { maxBytes: 4 * 1024 },
);
