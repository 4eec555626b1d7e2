import { REASON } from '../names.ts';
import type { Vmmrq } from '../objects.ts';
import { reservedNow } from '../total/reservation.ts';
import { beyondTotal, takenByLock, totalOf } from '../total/total.ts';
import { formatQuantity } from '../quantity.ts';
import { describeShortfalls, sumOf, type Amounts, type Blocking, type Shortfall } from '../quota/charged.ts';
import { quotaCoversPod } from '../quota/scopes.ts';
import type { Estimate } from '../sizing/estimate.ts';
import { vmmrqName } from '../vmmrq-name.ts';
import type { Allocation } from './allocation.ts';
import { verdictResult, type VerdictResult } from './verdict.ts';

/** A lock for one more migration: the pods of that migration, the quotas that block them, and the VMMRQs that give to it. */
export interface Wanted {
  readonly pods: readonly Estimate[];
  readonly blocking: readonly Blocking[];
  readonly givers: readonly Vmmrq[];
}

/** A VMMRQ whose total is too small, and by how much. */
interface Exceeded {
  readonly vmmrq: Vmmrq;
  readonly beyond: readonly Shortfall[];
}

/** Describes by what the lock takes more than a VMMRQ gives in all namespaces together; undefined: no more. */
export function beyondTotals(wanted: Wanted, allocation: Allocation): string | undefined {
  const [found] = exceeded(wanted.givers, (vmmrq) => takenWith(vmmrq, wanted, allocation));
  if (found === undefined) return undefined;
  const { vmmrq, beyond } = found;
  return `that is ${describeShortfalls(beyond)} more than ${vmmrqName(vmmrq)} gives in all namespaces together`;
}

/** Whether it waits for other locks, which have the rest of a VMMRQ's total. Only a first look: `lock` reserves what it takes. */
export function afterOtherLocks(
  wanted: Wanted,
  allocation: Allocation,
  what: string,
): VerdictResult | undefined {
  const [found] = exceeded(wanted.givers, (vmmrq) => {
    const taken = takenWith(vmmrq, wanted, allocation);
    return taken.size === 0 ? taken : sumOf([taken, reservedNow(vmmrq, allocation.snapshot.now)]);
  });
  if (found === undefined) return undefined;
  const message = `other locks have what ${vmmrqName(found.vmmrq)} gives in all namespaces together; ${what}`;
  return verdictResult('Waiting', REASON.totalReached, message);
}

const exceeded = (givers: readonly Vmmrq[], amountsFor: (vmmrq: Vmmrq) => Amounts): Exceeded[] =>
  givers.flatMap((vmmrq) => {
    const total = totalOf(vmmrq);
    const beyond = total === undefined ? [] : beyondTotal(total, amountsFor(vmmrq));
    return beyond.length === 0 ? [] : [{ vmmrq, beyond }];
  });

/** What a lock for this migration and the earlier ones takes of the VMMRQ's total. */
function takenWith(
  vmmrq: Vmmrq,
  { pods, blocking, givers }: Wanted,
  { snapshot, raising, raisedFor }: Allocation,
): Amounts {
  const all = [...raising.flatMap((earlier) => earlier.blocking), ...blocking];
  const uids = new Set(all.map(({ quota }) => quota.uid));
  const quotas = snapshot.quotas.filter(({ metadata }) => uids.has(metadata.uid));
  const locked = quotas.map((quota) => {
    const counted = pods.filter(({ pod }) => quotaCoversPod(quota, pod)).map(({ need }) => need);
    const earlier = raisedFor.get(quota.metadata.uid) ?? new Map<string, bigint>();
    const need = [...sumOf([earlier, ...counted])].map(([key, amount]) => [key, formatQuantity(amount)]);
    return { quota, need: Object.fromEntries(need) as Record<string, string> };
  });
  return takenByLock(vmmrq, givers, locked);
}
