import { shown } from '../foreign-text.ts';
import { ownVmmrqs } from '../policy/policy.ts';
import { withAdvice } from '../advice.ts';
import { percentOf } from '../quota/allowance.ts';
import { lastAttemptOf, mayLackKubeVirt, type Attempt } from './attempt.ts';
import { unusableKeys } from '../quota/charged.ts';
import { grantOf } from '../quota/grant.ts';
import { lockOf, type Reference } from '../lock.ts';
import { candidatesAmong } from '../migration.ts';
import { CONDITION, KIND, LOCK_OUTCOME, REASON, type EventReason, type Reason } from '../names.ts';
import type { Condition, VirtualMachineInstance, Vmmrq, VmmrqStatus } from '../objects.ts';
import { describeRejection, podRejectionsOf } from '../quota/pod-rejection.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import type { Verdict } from './verdict.ts';

/** The object that an Event is about. */
export interface InvolvedObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object's namespace; left out for a cluster-scoped object: its Events are in namespace `default`. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

export const involvedMigration = (namespace: string, { name, uid }: Reference): InvolvedObject => ({
  ...KIND.migration,
  namespace,
  name,
  uid,
});

export const involvedVmmrq = ({
  metadata: { namespace = '', name, uid },
}: Pick<Vmmrq, 'metadata'>): InvolvedObject => ({
  ...KIND.vmmrq,
  namespace,
  name,
  uid,
});

export const involvedVmi = ({
  metadata: { namespace = '', name, uid },
}: VirtualMachineInstance): InvolvedObject => ({
  ...KIND.vmi,
  namespace,
  name,
  uid,
});

/** A Kubernetes Event: one for each `key`. */
export interface EventReport {
  readonly on: InvolvedObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
  /** The reason of the verdict, or of the lock's end. A Warning ends with the advice for it. */
  readonly because: Reason;
  /** The cause (a token, a state): the same key is the same Event. */
  readonly key: string;
  /** Value of the Event's annotation ANNOTATION.verdict. */
  readonly verdict?: string;
  /** A later report of the same key updates the Event. Left out: the Event is written once. */
  readonly isUpdated?: true;
}

export type ConditionChange = Pick<Condition, 'type' | 'status' | 'observedGeneration'> & {
  reason: string;
  message: string;
};

/** Conditions with the changes made; lastTransitionTime moves only when the status does. `now` in milliseconds. */
export function withConditions(
  conditions: readonly Condition[],
  changes: readonly ConditionChange[],
  now: number,
): Condition[] {
  const byType = new Map(conditions.map((condition) => [condition.type, condition]));
  for (const change of changes) {
    const before = byType.get(change.type);
    const lastTransitionTime =
      before?.status === change.status && typeof before.lastTransitionTime === 'string'
        ? before.lastTransitionTime
        : new Date(now).toISOString();
    byType.set(change.type, { ...change, lastTransitionTime });
  }
  return [...byType.values()];
}

/** A VMMRQ's status by the snapshot and its verdicts. The incumbent's fields keep their meaning. */
export function statusReport(
  vmmrq: Vmmrq,
  snapshot: NamespaceSnapshot,
  verdicts: readonly Verdict[],
): VmmrqStatus {
  const blocked = verdicts.filter(({ blocking }) => blocking.length > 0);
  const notEnough = verdicts.find(({ verdict }) => verdict === 'NoFit');
  const blockedVerdicts = verdicts.filter(({ verdict }) => verdict !== 'NotBlocked');
  return {
    ...vmmrq.status,
    creationTime: vmmrq.metadata.creationTimestamp,
    additionalMigrationResources: vmmrq.spec.additionalMigrationResources ?? {},
    migrationsToBlockingResourceQuotas: Object.fromEntries(
      blocked.map(({ migration, blocking }) => [migration.name, blocking.map(({ quota }) => quota.name)]),
    ),
    ...(isQuiet(snapshot) ? { originalBlockingResourceQuotas: [] } : {}),
    conditions: withConditions(
      vmmrq.status?.conditions ?? [],
      [
        readyCondition(vmmrq, ownVmmrqs(snapshot).length),
        blockingCondition(blockedVerdicts),
        ...(isQuiet(snapshot) ? IDLE_CONDITIONS : []),
        ...attemptConditions(vmmrq, snapshot),
        notEnough === undefined
          ? condition(CONDITION.notEnough, 'False', 'Enough', 'no migration needs more than the VMMRQs give')
          : failing(CONDITION.notEnough, about(notEnough), [notEnough.reason]),
      ],
      snapshot.now,
    ),
  };
}

/** Reasons that another component prevented the raise: nothing was raised. */
const HINDRANCES: readonly string[] = [REASON.noProof, REASON.refusedByPolicy, REASON.incumbentPresent];

/**
 * How the last attempt ended, by its record on the namespace. No condition is added before a first failure. Migrations that
 * ended by themselves (cancelled, say) are no failure.
 */
function attemptConditions({ status }: Vmmrq, snapshot: NamespaceSnapshot): ConditionChange[] {
  const last = lastAttemptOf(snapshot.namespace, snapshot.now);
  const wanted = last === undefined ? undefined : conditionOf(last);
  if (wanted === 'unchanged') return [];
  return [CONDITION.raisedButNotAdmitted, CONDITION.conflict].flatMap((type): ConditionChange[] => {
    if (last !== undefined && type === wanted) {
      const message = type === CONDITION.conflict ? [] : lastRejections(snapshot);
      const refused = (last.refused ?? []).map((each) => shown(each.message));
      if (refused.length > 0) return [failing(type, refused.join('\n'), [REASON.refusedByPolicy])];
      return [failing(type, [endOf(last), ...message].join('\n'), [last.reason])];
    }
    const wasSaid = status?.conditions?.some((before) => before.type === type) === true;
    return wasSaid ? [condition(type, 'False', REASON.admitted, 'the last attempt did not fail')] : [];
  });
}

/** The condition that is True after it; undefined: neither. unchanged: it raised nothing, so what failed before it still counts. */
function conditionOf(last: Attempt): string | undefined {
  const { outcome, reason, failures, refused = [] } = last;
  if (refused.length > 0) return CONDITION.conflict;
  if (outcome === LOCK_OUTCOME.admitted || reason === REASON.ended) return undefined;
  if (HINDRANCES.includes(reason)) return CONDITION.conflict;
  if (failures === 0) return undefined;
  if (mayLackKubeVirt(last)) return 'unchanged';
  return outcome === LOCK_OUTCOME.failed ? CONDITION.raisedButNotAdmitted : undefined;
}

function endOf({ outcome, failures, at, reason }: Attempt): string {
  const isOneOfMany = outcome === LOCK_OUTCOME.failed && failures > 1;
  const which = isOneOfMany
    ? `${String(failures)} attempts in a row failed, the last one`
    : 'the last attempt failed';
  return `${which} at ${at}: ${reason}`;
}

/** The last refusal of each target pod that is still missing, one line each. */
const lastRejections = (snapshot: NamespaceSnapshot): string[] =>
  candidatesAmong(snapshot.migrations, snapshot.pods).flatMap((blocked) => {
    const { spec, metadata } = blocked.migration;
    const vmi = snapshot.vmis.get(spec.vmiName ?? '');
    const [newest] = vmi === undefined ? [] : podRejectionsOf(blocked, vmi, snapshot);
    return newest === undefined ? [] : [`${metadata.name}: ${describeRejection(newest)}`];
  });

/** The namespace is unlocked and nothing is raised: a report of a lock or a raise is outdated. */
const isQuiet = ({ namespace, quotas }: NamespaceSnapshot): boolean =>
  lockOf(namespace).kind === 'none' && quotas.every((quota) => grantOf(quota).kind === 'none');

const unusablePercentage = (vmmrq: Vmmrq): string[] =>
  vmmrq.spec.additionalMigrationPercentage === undefined || percentOf(vmmrq) !== undefined
    ? []
    : ['additionalMigrationPercentage'];

/** Carries the generation of the reported spec, which identifies the event of our own report (docs/adr/0015). */
function readyCondition(vmmrq: Vmmrq, count: number): ConditionChange {
  const { generation } = vmmrq.metadata;
  const ready = readiness(vmmrq, count);
  return generation === undefined ? ready : { ...ready, observedGeneration: generation };
}

function readiness(vmmrq: Vmmrq, count: number): ConditionChange {
  const unusable = [...unusableKeys(vmmrq), ...unusablePercentage(vmmrq)];
  if (unusable.length > 0) {
    const message = `${unusable.join(', ')}: not an amount of zero or more, so it counts as nothing. Correct the spec.`;
    return condition(CONDITION.ready, 'False', 'UnusableAmount', message);
  }
  const several = `one of ${String(count)} VMMRQs of this namespace: their amounts add up`;
  return condition(CONDITION.ready, 'True', 'Ready', count > 1 ? several : 'this VMMRQ can be used');
}

/** One line. */
const about = ({ migration, message }: Verdict): string => shown(`${migration.name}: ${message}`);

function blockingCondition(blockedVerdicts: readonly Verdict[]): ConditionChange {
  const [first] = blockedVerdicts;
  if (first === undefined) {
    return condition(CONDITION.blocking, 'False', REASON.nothingBlocked, 'no migration waits for a quota');
  }
  const others = blockedVerdicts.map(({ reason }) => reason);
  return failing(CONDITION.blocking, blockedVerdicts.map(about).join('\n'), [first.reason, ...others]);
}

/** Returns one condition change, its arguments in the order people read them. */
export function condition(
  ...[type, status, reason, message]: [string, Condition['status'], string, string]
): ConditionChange {
  return { type, status, reason, message };
}

/** A condition that is True because something waits or failed: its message ends with the advice for the reasons. */
const failing = (type: string, message: string, reasons: readonly [string, ...string[]]): ConditionChange =>
  condition(type, 'True', reasons[0], withAdvice(message, reasons));

/** The conditions while nothing is locked or raised. */
const IDLE_CONDITIONS: readonly ConditionChange[] = [
  condition(CONDITION.locked, 'False', REASON.unlocked, 'the namespace is not locked'),
  condition(CONDITION.raised, 'False', REASON.lowered, 'no quota is raised'),
];
