import { adviceInside } from '../advice.ts';
import { parseJson, shortList } from '../bounded.ts';
import { fingerprint } from '../fingerprint.ts';
import { lockOf, withoutLock, type QuotaToRaise, type BlockedMigration } from '../lock.ts';
import { isSilent } from '../controller-lease.ts';
import { ANNOTATION, LOCK_OUTCOME, REASON, type Reason } from '../names.ts';
import type { Namespace, ResourceQuota, Vmmrq } from '../objects.ts';
import * as z from '../../runtime/zod.ts';

const time = z.iso.datetime({ offset: true });

const attemptSchema = z.looseObject({
  at: time,
  /** Failed attempts in a row. */
  failures: z.int().check(z.nonnegative()),
  /** The failed attempts within WINDOW_MS, oldest first: when each ended, and for how long it locked the namespace; 0: free. */
  locked: shortList(z.object({ until: time, ms: z.number().check(z.nonnegative()) })),
  reason: z.string(),
  outcome: z.catch(z.enum(LOCK_OUTCOME), LOCK_OUTCOME.failed),
  /** Fingerprint of what the attempt was about: when it changes, the back-off is over. */
  of: z.string(),
  /** Fingerprint of the sizes that a raise was made for, if it admitted no pod. */
  sized: z.optional(z.string()),
  /** The quotas of which the API server refused the last raise (raise-refusal.ts). */
  refused: z.catch(
    z.optional(shortList(z.object({ uid: z.string(), of: z.string(), message: z.string() }))),
    undefined,
  ),
});

/** The content of the last-attempt annotation, written by unlock. */
export type Attempt = z.infer<typeof attemptSchema>;

const BACK_OFF = { firstMs: 15_000, maxMs: 600_000 } as const;
/** Pause after an attempt that failed by our own fault. */
const OUR_FAULT_MS = 5_000;
/** I7: at most this long locked in any WINDOW_MS while attempts fail. */
export const LOCK_BUDGET_MS = 60_000;
export const WINDOW_MS = 600_000;
/** A lock may outlive its time by this much before the watchdog has repaired it (I3). */
export const REPAIR_MS = 15_000;
/**
 * Maximum lifetime of a new lock, whatever the configuration. With its repair it equals the lock budget, so that a single lock
 * that is never cleared keeps within I7 (docs/adr/0005).
 */
export const MAX_ACQUIRED_SECONDS = (LOCK_BUDGET_MS - REPAIR_MS) / 1_000;

/**
 * The last attempt of this namespace; an unreadable one counts as none. One in the future is from a faster clock, and counts
 * as now; one further ahead than WINDOW_MS counts as none. `now`: the API server's, milliseconds.
 */
export function lastAttemptOf(namespace: Namespace, now: number): Attempt | undefined {
  const text = namespace.metadata.annotations?.[ANNOTATION.lastAttempt];
  if (text === undefined) return undefined;
  const parsed = attemptSchema.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const aheadMs = Date.parse(parsed.data.at) - now;
  if (aheadMs <= 0) return parsed.data;
  return aheadMs > WINDOW_MS ? undefined : { ...parsed.data, at: new Date(now).toISOString() };
}

export interface Backoff {
  readonly reason: Reason;
  readonly message: string;
  /** Milliseconds on the API server's clock. */
  readonly until: number;
}

export interface NextAttempt {
  readonly now: number;
  readonly lockSeconds: number;
  /** Fingerprint of what the attempt is about (fingerprintOf). */
  readonly fingerprint: string;
  /** Fingerprint of the sizes that it would be made for (sizesOf). */
  readonly sized: string;
  /** When virt-controller renewed its Lease, milliseconds; left out: not known. */
  readonly renewed?: number | undefined;
}

/** Whether the next attempt must wait (I7). The lock budget holds whatever changed. */
export function backoffOf(last: Attempt | undefined, next: NextAttempt): Backoff | undefined {
  if (last === undefined) return undefined;
  return (
    budgetBackoff(last, next) ??
    awayBackoff(last, next) ??
    ownFailureBackoff(last, next) ??
    failureBackoff(last, next)
  );
}

/** The next lock must fit in the budget with every lock that ended less than WINDOW_MS before it begins (docs/adr/0005). */
function budgetBackoff(last: Attempt, { now, lockSeconds }: NextAttempt): Backoff | undefined {
  const locked = lockedLately(last, now);
  const nextMs = lockSeconds * 1_000 + REPAIR_MS;
  // The oldest that must leave the window, so that the others and the next one fit.
  const oldest = locked.findLast((_, index) => totalMs(locked.slice(index)) + nextMs > LOCK_BUDGET_MS);
  if (oldest === undefined) return undefined;
  const seconds = (totalMs(locked) / 1_000).toFixed(1);
  const why = `the last one with ${last.reason}${adviceInside(last.reason)}`;
  return {
    reason: REASON.lockBudgetSpent,
    message: `failed attempts locked the namespace for ${seconds} s in ten minutes, ${why}; the next attempt waits`,
    until: Date.parse(oldest.until) + WINDOW_MS,
  };
}

/** Whether KubeVirt may have been away while the last attempt locked the namespace. */
export const mayLackKubeVirt = (last: Attempt | undefined): boolean =>
  last?.outcome === LOCK_OUTCOME.ourFault || last?.outcome === LOCK_OUTCOME.notTried;

/** Then the next lock waits for KubeVirt; not for ever, because its clock may be wrong. */
function awayBackoff(last: Attempt, { now, renewed }: NextAttempt): Backoff | undefined {
  const until = Date.parse(last.at) + WINDOW_MS;
  if (renewed === undefined || !isSilent(renewed, now) || !mayLackKubeVirt(last) || now >= until)
    return undefined;
  // Without the Lease's time: a message that changes at each look would be a new report each time.
  const message = 'virt-controller does not renew its Lease; the next attempt waits for it, at most';
  return { reason: REASON.kubevirtAway, message, until };
}

function ownFailureBackoff(
  { at, outcome, reason, locked }: Attempt,
  { now }: NextAttempt,
): Backoff | undefined {
  const until = Date.parse(at) + OUR_FAULT_MS;
  const wasFree = locked.at(-1)?.ms === 0;
  if (outcome !== LOCK_OUTCOME.ourFault || now >= until || wasFree) return undefined;
  const message = `the last attempt ended early with ${reason}, which is no failure of the migration; the next attempt waits`;
  return { reason: REASON.backOff, message, until };
}

function failureBackoff(last: Attempt, { now, fingerprint: of, sized }: NextAttempt): Backoff | undefined {
  if (last.failures === 0 || last.of !== of || isExtension(last, sized)) return undefined;
  const until = Date.parse(last.at) + failureMs(last);
  if (now >= until) return undefined;
  const message = `attempt ${String(last.failures)} failed with ${last.reason}; the next attempt waits`;
  // An admin must act, so it does not look like a pause that ends by itself.
  const reason = last.reason === REASON.refusedByPolicy ? REASON.refusedByPolicy : REASON.backOff;
  return { reason, message, until };
}

const failureMs = ({ failures }: Attempt): number =>
  Math.min(BACK_OFF.firstMs * 2 ** failures, BACK_OFF.maxMs);

/** When no step uses the record any more, milliseconds on the API server's clock. */
export const endOf = (last: Attempt): number => Date.parse(last.at) + WINDOW_MS + failureMs(last);

/**
 * The namespace without what no step uses any more: a last attempt that counts for no lock budget, and whose back-off ended so long ago
 * that the next attempt would have come; and what a removed lock has left. undefined: it has a lock, or nothing of that. `now`: the API
 * server's, milliseconds.
 */
export function withoutOldRecords(namespace: Namespace, now: number): Namespace | undefined {
  if (lockOf(namespace).kind !== 'none') return undefined;
  const { annotations = {} } = namespace.metadata;
  const last = lastAttemptOf(namespace, now);
  const isOver = last === undefined || now >= endOf(last);
  const cleared = withoutLock(namespace, isOver ? undefined : annotations[ANNOTATION.lastAttempt]);
  const left = Object.keys(cleared.metadata.annotations ?? {});
  return left.length < Object.keys(annotations).length ? cleared : undefined;
}

/**
 * The raise was not enough, and the API server's refusal of the pod has since shown its real size: once in a run of failures
 * that is tried at once (docs/adr/0014).
 */
const isExtension = (last: Attempt, sized: string): boolean =>
  last.failures === 1 && last.sized !== undefined && last.sized !== sized;

type Locked = Attempt['locked'];

/** A forged time after the attempt counts as the attempt's. */
const lockedLately = ({ locked, at }: Attempt, now: number): Locked =>
  locked
    .map(({ until, ms }) => ({ until: Date.parse(until) > Date.parse(at) ? at : until, ms }))
    .filter(({ until }) => now < Date.parse(until) + WINDOW_MS);

/** Milliseconds for which these attempts locked the namespace together. */
export const totalMs = (locked: Locked): number => locked.reduce((sum, { ms }) => sum + ms, 0);

/** Reasons that show that a part was away, or a migration slot gone: the guard, the Broker, a step, KubeVirt. */
const AWAY: readonly Reason[] = [REASON.noProof, REASON.lockExpired, REASON.notTried, REASON.parallelLimit];

/**
 * Whether a lock that ended like this is free: it counts with 0 ms, and nothing delays the next one. Once in WINDOW_MS only, so
 * that a part that stays away causes no freeze loop (docs/adr/0005). `now`: the API server's, milliseconds.
 */
export const isFree = (
  last: Attempt | undefined,
  { now, reason }: Pick<AttemptResult, 'now' | 'reason'>,
): boolean =>
  AWAY.includes(reason) && !(last !== undefined && lockedLately(last, now).some(({ ms }) => ms === 0));

export interface AttemptResult {
  readonly now: number;
  readonly lockedMs: number;
  readonly reason: Reason;
  readonly fingerprint: string;
  /** Fingerprint of the sizes, where the lock's quotas were raised. */
  readonly sized?: string;
}

/** The record after an attempt that failed. */
export function afterFailure(last: Attempt | undefined, result: AttemptResult): Attempt {
  const at = new Date(result.now).toISOString();
  const before = last === undefined ? [] : lockedLately(last, result.now);
  return {
    at,
    failures: (last?.failures ?? 0) + 1,
    locked: [...before, { until: at, ms: result.lockedMs }],
    reason: result.reason,
    outcome: LOCK_OUTCOME.failed,
    of: result.fingerprint,
    ...(result.sized === undefined ? {} : { sized: result.sized }),
    ...(last?.refused === undefined ? {} : { refused: last.refused }),
  };
}

/** The record after a lock without effect that is no failure. Its locked time counts all the same (I7). */
export function afterUncounted(
  last: Attempt | undefined,
  { outcome, ...result }: AttemptResult & Pick<Attempt, 'outcome'>,
): Attempt {
  const { sized: _sized, ...record } = afterFailure(last, result);
  return { ...record, outcome, failures: last?.failures ?? 0, of: '' };
}

/** The record after a success: the back-off is reset, and what failed attempts locked still counts against the budget. */
export function afterSuccess(last: Attempt | undefined, now: number): Attempt | undefined {
  if (last === undefined || lockedLately(last, now).length === 0) return undefined;
  return { ...last, failures: 0, outcome: LOCK_OUTCOME.admitted };
}

export interface AttemptScope {
  readonly migrations: readonly BlockedMigration[];
  readonly quotas: readonly ResourceQuota[];
  readonly vmmrqs: readonly Vmmrq[];
}

/** Changes when the migrations or what they wait for, a quota's spec or what the VMMRQs give changes; independent of any order. */
export function fingerprintOf({ migrations, quotas, vmmrqs }: AttemptScope): string {
  const parts = [
    ...migrations.map(({ uid, lacks }) => `m ${uid}${lacks === undefined ? '' : ` ${lacks}`}`),
    ...quotas.map(({ metadata, spec }) => `q ${metadata.uid} ${sortedText(spec.hard ?? {})}`),
    ...vmmrqs.map(
      ({ metadata, spec }) =>
        `v ${metadata.uid} ${sortedText(spec.additionalMigrationResources ?? {})}${policyText(spec)}`,
    ),
  ];
  return fingerprint(parts.toSorted().join('\n'));
}

/** Changes when what the migrations need of these quotas does; independent of any order. */
export const sizesOf = (quotas: readonly QuotaToRaise[]): string =>
  fingerprint(
    quotas
      .map(({ uid, need = {} }) => `${uid} ${sortedText(need)}`)
      .toSorted()
      .join('\n'),
  );

/** '' for a VMMRQ without these fields, so that older fingerprints stay the same. */
const policyText = (spec: Vmmrq['spec']): string =>
  [
    spec.additionalMigrationPercentage,
    spec.raisePolicy,
    spec.allowReceive === true ? 'receive' : undefined,
    spec.purposes?.join(),
  ]
    .flatMap((each) => (each === undefined ? [] : [` ${each}`]))
    .join('');

const sortedText = (list: Record<string, unknown>): string =>
  JSON.stringify(Object.entries(list).toSorted(([one], [other]) => (one < other ? -1 : 1)));
