import type { Assessment } from '../domain/verdict/assessment.ts';
import { ALREADY_TRIED } from '../domain/verdict/blocker.ts';
import type { OurEvent } from '../domain/events.ts';
import { fingerprint } from '../domain/fingerprint.ts';
import { grantOf } from '../domain/quota/grant.ts';
import { liveLock, lockOf } from '../domain/lock.ts';
import { ANNOTATION, EVENT, EVENT_REASON, REASON, type Reason } from '../domain/names.ts';
import type { Migration, VirtualMachineInstance, Vmmrq, VmmrqStatus } from '../domain/objects.ts';
import { involvedMigration, involvedVmi, statusReport, type EventReport } from '../domain/verdict/report.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { incumbentIn } from '../domain/verdict/namespace-precondition.ts';
import { raiseRefusals } from '../domain/verdict/raise-refusal.ts';
import type { Verdict } from '../domain/verdict/verdict.ts';
import { verdictText } from '../domain/verdict/verdict-text.ts';
import { vmmrqName } from '../domain/vmmrq-name.ts';

export interface Nudge {
  readonly migration: Migration;
  /** The annotation's new value: the reason for the nudge. A migration that has this value already gets no nudge. */
  readonly value: string;
}

export interface FeasibilityDecision {
  readonly reason: Reason;
  readonly message: string;
  /** The one event of the answer; feasible where any migration is (docs/architecture.md#what-knative-gives-and-takes). */
  readonly reply?: OurEvent;
  readonly nudges: readonly Nudge[];
  readonly events: readonly EventReport[];
  /** The new status of a VMMRQ; undefined: it is not written. */
  readonly statusOf: (vmmrq: Vmmrq) => VmmrqStatus | undefined;
}

/** Turns the verdicts of a namespace into the reply, the nudges and the reports. */
export function decide(snapshot: NamespaceSnapshot, assessment: Assessment): FeasibilityDecision {
  const { verdicts, migrations } = assessment;
  const blocked = verdicts.filter(({ verdict }) => verdict !== 'NotBlocked');
  return {
    ...summaryOf(blocked),
    ...replyOf(snapshot, blocked, migrations),
    nudges: assessment.isOptedOut === true ? [] : nudgesOf(snapshot, blocked),
    events: blocked.flatMap((verdict) => eventsOf(snapshot, verdict)),
    statusOf: (vmmrq) =>
      isLeftToIncumbent(vmmrq, snapshot) ? undefined : statusReport(vmmrq, snapshot, verdicts),
  };
}

/** Whether the incumbent is there, or has written its record since the snapshot was read: then no status is written. */
const isLeftToIncumbent = (newest: Vmmrq, { view, incumbent, vmmrqs }: NamespaceSnapshot): boolean =>
  incumbentIn({ view, incumbent, vmmrqs: [...vmmrqs, newest] }) !== undefined;

function summaryOf(blocked: readonly Verdict[]): Pick<FeasibilityDecision, 'reason' | 'message'> {
  const leading = blocked.find(({ verdict }) => verdict === 'FitsWithRaise') ?? blocked[0];
  if (leading === undefined) {
    return { reason: REASON.nothingBlocked, message: 'no quota refuses a migration' };
  }
  const lines = blocked.map(({ migration, verdict, message }) => `${migration.name}: ${verdict}, ${message}`);
  return { reason: leading.reason, message: lines.join('; ') };
}

function replyOf(
  snapshot: NamespaceSnapshot,
  blocked: readonly Verdict[],
  feasible: Assessment['migrations'],
): Pick<FeasibilityDecision, 'reply'> {
  const { namespace } = snapshot;
  const common = {
    from: 'feasibility',
    namespace: namespace.metadata.name,
    cause: namespace.metadata.resourceVersion,
  };
  if (feasible.length > 0) {
    return {
      reply: {
        ...common,
        type: EVENT.migrationFeasible,
        migrations: feasible,
        vmis: vmiNamesOf(snapshot, feasible),
      },
    };
  }
  if (blocked.length > 0 && isLeftover(snapshot)) {
    const state = lockOf(namespace);
    const token = state.kind === 'held' ? { token: state.lock.token } : {};
    return { reply: { ...common, type: EVENT.lockExpired, ...token } };
  }
  if (blocked.some(isRefused)) {
    // No event says that a webhook or policy has changed.
    const refusalOf = raiseRefusals(snapshot);
    const refused = snapshot.quotas.filter((quota) => refusalOf(quota) !== undefined);
    const quotas = refused.map(({ metadata }) => metadata.name);
    const vmmrqs = snapshot.vmmrqs.map(vmmrqName);
    return { reply: { ...common, type: EVENT.quotaUntried, quotas, vmmrqs } };
  }
  const infeasible = blocked.filter(({ verdict }) => verdict === 'NoFit' || verdict === 'Unsupported');
  const [first] = infeasible;
  if (first === undefined) return {};
  const { reason, message } = first;
  const migrations = infeasible.map(({ migration }) => migration);
  return { reply: { ...common, type: EVENT.migrationInfeasible, migrations, reason, message } };
}

const isRefused = ({ verdict, reason }: Verdict): boolean =>
  verdict === 'Unsupported' && reason === REASON.refusedByPolicy;

/** The names of their VMIs. */
function vmiNamesOf({ migrations }: NamespaceSnapshot, feasible: Assessment['migrations']): string[] {
  const uids = new Set(feasible.map(({ uid }) => uid));
  return migrations.flatMap(({ metadata, spec }) => (uids.has(metadata.uid) ? (spec.vmiName ?? []) : []));
}

/** A lock that has expired or is unreadable, or a grant without a lock. The watchdog does not see either without its label. */
function isLeftover({ namespace, quotas, now }: NamespaceSnapshot): boolean {
  if (liveLock(namespace, now) !== undefined) return false;
  return lockOf(namespace).kind !== 'none' || quotas.some((quota) => grantOf(quota).kind !== 'none');
}

/** client-go lets one Event in this time about an object through for good (tools/record, events_cache.go): more attempts show nothing. */
const ASK_AGAIN_MS = 300_000;

/**
 * Nudges each migration once per state of the quotas: virt-controller may sleep for minutes although there is headroom. Where something else
 * refused its pod, it nudges again at the first look after five minutes: a webhook that was away is back, and no event says so.
 */
function nudgesOf({ migrations, quotas, now }: NamespaceSnapshot, blocked: readonly Verdict[]): Nudge[] {
  const versions = quotas.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
  const headroom = `headroom ${fingerprint(versions.toSorted().join())}`;
  const verdicts = new Map(
    blocked.filter(isWorthNudging).map(({ migration, verdict }) => [migration.uid, verdict]),
  );
  return migrations.flatMap((migration) => {
    const verdict = verdicts.get(migration.metadata.uid);
    if (verdict === undefined) return [];
    const nudged = migration.metadata.annotations?.[ANNOTATION.nudged];
    if (verdict === 'Fits') return nudged === headroom ? [] : [{ migration, value: headroom }];
    const [of, at = ''] = nudged?.split(/ (?=\S+$)/) ?? [];
    // A time in the future is of another API server, whose clock is ahead.
    if (of === headroom && now - Date.parse(at) < ASK_AGAIN_MS) return [];
    return [{ migration, value: `${headroom} ${new Date(now).toISOString()}` }];
  });
}

const isWorthNudging = ({ verdict, reason }: Verdict): boolean =>
  verdict === 'Fits' || (verdict === 'Unsupported' && ALREADY_TRIED.includes(reason));

/** A cycle or a repair is under way, and its own Events report the result. */
const IN_PROGRESS: readonly Reason[] = [REASON.alreadyLocked, REASON.grantWithoutLock, REASON.fitsWithRaise];

/** Writes an Event on the migration. A shortfall is also reported on the VMI, beside KubeVirt's FailedCreate; a VMMRQ has conditions. */
function eventsOf(snapshot: NamespaceSnapshot, verdict: Verdict): EventReport[] {
  if (verdict.verdict === 'Fits' || IN_PROGRESS.includes(verdict.reason)) return [];
  const notEnough = verdict.verdict === 'NoFit';
  const { migration, message } = verdict;
  const report = {
    type: 'Warning',
    reason: notEnough ? EVENT_REASON.quotaNotEnough : EVENT_REASON.migrationBlocked,
    because: verdict.reason,
    key: [migration.uid, migration.lacks, verdict.reason].filter(Boolean).join(' '),
    isUpdated: true,
  } as const;
  const on = involvedMigration(snapshot.namespace.metadata.name, migration);
  const vmis = notEnough ? vmisOf(snapshot, verdict).map(involvedVmi) : [];
  return [
    { ...report, on, message, verdict: verdictText(verdict) },
    ...vmis.map((other) => ({ ...report, on: other, message: `${migration.name}: ${message}` })),
  ];
}

function vmisOf({ migrations, vmis }: NamespaceSnapshot, verdict: Verdict): VirtualMachineInstance[] {
  const migration = migrations.find(({ metadata }) => metadata.uid === verdict.migration.uid);
  const vmi = vmis.get(migration?.spec.vmiName ?? '');
  return vmi === undefined ? [] : [vmi];
}
