import { CONDITION } from '../domain/names.ts';
import type { Vmmrq } from '../domain/objects.ts';
import type { ListedType } from '../kubernetes/cluster.ts';
import { CLUSTER_VMMRQS, VMMRQS } from '../kubernetes/resources.ts';
import { CONDITION as LISTED_CONDITION, listed, NAMED, OBJECT } from './listed.ts';

/** Cluster-wide VMMRQs: that they exist, and that their specs change. */
export const LISTED_CLUSTER_VMMRQS = listed<Vmmrq>(CLUSTER_VMMRQS, {
  ...OBJECT,
  metadata: { ...NAMED, generation: true },
  spec: false,
  status: false,
});

/** VMMRQs of the whole cluster, their conditions, and which quotas refuse which migrations. */
const STATES_OF_VMMRQS = listed<Vmmrq>(
  VMMRQS,
  {
    ...OBJECT,
    metadata: NAMED,
    spec: false,
    status: {
      creationTime: false,
      additionalMigrationResources: false,
      originalBlockingResourceQuotas: false,
      conditions: [{ ...LISTED_CONDITION, reason: true, lastTransitionTime: true, message: true }],
      // Last: a long one displaces no condition.
      migrationsToBlockingResourceQuotas: true,
    },
  },
  { maxBytes: 6 * 1024 },
);

/** Characters of a message that is kept: a line for each of some migrations. */
const MAX_MESSAGE = 1_500;
const WITH_MESSAGE: readonly string[] = [CONDITION.blocking, CONDITION.notEnough];

export const LISTED_STATES_OF_VMMRQS: ListedType<Vmmrq> = {
  ...STATES_OF_VMMRQS,
  trim: (whole) => STATES_OF_VMMRQS.trim(withShortMessages(whole)),
};

/** Of conditions that are True and have a line for each migration. */
function withShortMessages(vmmrq: Vmmrq): Vmmrq {
  const conditions = vmmrq.status?.conditions?.map(({ message = '', ...condition }) =>
    condition.status === 'True' && WITH_MESSAGE.includes(condition.type)
      ? { ...condition, message: message.slice(0, MAX_MESSAGE) }
      : condition,
  );
  return conditions === undefined ? vmmrq : { ...vmmrq, status: { ...vmmrq.status, conditions } };
}
