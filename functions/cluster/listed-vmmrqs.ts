import { isOfIncumbent } from '../domain/incumbent.ts';
import type { Vmmrq } from '../domain/objects.ts';
import type { ListedType } from '../kubernetes/cluster.ts';
import { CLUSTER_VMMRQS, VMMRQS } from '../kubernetes/resources.ts';
import { CONDITION, listed, NAMED, OBJECT } from './listed.ts';

/** Cluster-wide VMMRQs: that they exist, and that their specs change. */
export const LISTED_CLUSTER_VMMRQS = listed<Vmmrq>(CLUSTER_VMMRQS, {
  ...OBJECT,
  metadata: { ...NAMED, generation: true },
  spec: false,
  status: false,
});

const FIELDS = { ...OBJECT, metadata: NAMED, spec: false } as const;
const NO_STATUS = {
  creationTime: false,
  additionalMigrationResources: false,
  originalBlockingResourceQuotas: false,
  migrationsToBlockingResourceQuotas: false,
  conditions: false,
} as const;
const MAX_BYTES = 4 * 1024;

const STATES = listed<Vmmrq>(
  VMMRQS,
  {
    ...FIELDS,
    status: {
      ...NO_STATUS,
      conditions: [{ ...CONDITION, lastProbeTime: false, lastTransitionTime: true }],
    },
  },
  { maxBytes: MAX_BYTES },
);

/** VMMRQs with the incumbent's record: a status without conditions is not ours (domain/incumbent.ts). */
const RECORDS = listed<Vmmrq>(
  VMMRQS,
  {
    ...FIELDS,
    status: {
      ...NO_STATUS,
      originalBlockingResourceQuotas: [{ name: true, spec: false }],
      migrationsToBlockingResourceQuotas: true,
    },
  },
  { maxBytes: MAX_BYTES },
);

/** VMMRQs of the whole cluster, and their conditions without their messages; or that their status is the incumbent's record. */
export const LISTED_STATES_OF_VMMRQS: ListedType<Vmmrq> = {
  ...STATES,
  trim: (whole) => (isOfIncumbent(whole) ? RECORDS : STATES).trim(whole),
};
