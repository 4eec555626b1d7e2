import { CONDITION, REASON } from '../names.ts';
import type { Condition, Vmmrq } from '../objects.ts';

/** What feasibility last reported about a migration. */
export interface KnownVerdict {
  readonly reason: string;
  readonly message?: string;
  /** The ResourceQuotas that refuse it. */
  readonly quotas?: readonly string[];
}

/** Characters of a message in a bucket. */
const MAX_MESSAGE = 300;

/**
 * The verdict about a migration as the VMMRQs of its namespace have it in their status; undefined: none has. A condition has one
 * line for each migration, and the reason of the first.
 */
export function knownVerdict(migration: string, vmmrqs: readonly Vmmrq[]): KnownVerdict | undefined {
  if (vmmrqs.length === 0) return { reason: REASON.noVmmrq };
  return vmmrqs.map((vmmrq) => reportedBy(vmmrq, migration)).find((verdict) => verdict !== undefined);
}

function reportedBy({ status = {} }: Vmmrq, migration: string): KnownVerdict | undefined {
  const { conditions = [], migrationsToBlockingResourceQuotas: quotasOf = {} } = status;
  const about = (type: string): Condition | undefined =>
    conditions.find((each) => isTrue(each, type) && lineOf(each, migration) !== undefined);
  const blocking = about(CONDITION.blocking);
  if (blocking === undefined) return undefined;
  const quotas = quotasOf[migration];
  return {
    reason: (about(CONDITION.notEnough) ?? blocking).reason ?? '',
    message: lineOf(blocking, migration)?.slice(0, MAX_MESSAGE) ?? '',
    ...(quotas === undefined ? {} : { quotas }),
  };
}

const isTrue = ({ type, status }: Condition, wanted: string): boolean => type === wanted && status === 'True';

const lineOf = ({ message }: Condition, migration: string): string | undefined =>
  message
    ?.split('\n')
    .find((line) => line.startsWith(`${migration}: `))
    ?.slice(migration.length + 2);
