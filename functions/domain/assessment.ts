import { fingerprintOf, holdOf, lastAttemptOf, sizesOf, type Hold } from './attempt.ts';
import { allowanceFrom, type AllowanceOf } from './allowance.ts';
import { canonicalKey, describeShortfalls, sumOf, type Shortfall } from './charged.ts';
import type { Estimate } from './estimate.ts';
import type { QuotaToRaise, Reference, Waiting } from './lock.ts';
import { blockedAmong, isReceiving, overlaps, type Blocked } from './migration.ts';
import { growthOver, missingPodOf, sizeOf, sizeOfNext, unsized, type MissingPod } from './missing-pod.ts';
import { ANNOTATION, REASON } from './names.ts';
import type { Migration } from './objects.ts';
import { obstacleOf } from './obstacle.ts';
import { formatQuantity, type Amount } from './quantity.ts';
import { mayReceive } from './receiving.ts';
import { blockingOf, isStatusKnown, take } from './room.ts';
import { quotaCoversPod } from './scopes.ts';
import type { NamespaceSnapshot, Rules } from './snapshot.ts';
import { finding, type Blocking, type Finding, type Verdict } from './verdict.ts';
import { vetoOf } from './veto.ts';

/** The verdicts of a namespace, and what the next lock would be about. */
export interface Assessment {
  /** One for each migration that a quota refuses, as far as KubeVirt's condition or its pods tell; who goes first first. */
  readonly verdicts: readonly Verdict[];
  /** The migrations that fit together in one window, and the quotas to raise for them; empty: no lock. */
  readonly migrations: readonly Waiting[];
  readonly quotas: readonly QuotaToRaise[];
  readonly fingerprint: string;
}

/** Decides for the whole namespace at once; pure, and the same for feasibility and lock. */
export function assess(snapshot: NamespaceSnapshot, rules: Rules): Assessment {
  const blocked = blockedAmong(snapshot.migrations, snapshot.pods);
  const fingerprint = fingerprintOf({
    migrations: blocked.map(({ waiting }) => waiting),
    quotas: snapshot.quotas,
    vmmrqs: snapshot.vmmrqs,
  });
  const veto = vetoOf(snapshot, rules);
  if (veto !== undefined) {
    const verdicts = blocked.map((each) => verdictOf(each, veto));
    return { verdicts, migrations: [], quotas: [], fingerprint };
  }
  const last = lastAttemptOf(snapshot.namespace);
  const free = judgeInTurn(snapshot, blocked, undefined);
  const { lockSeconds } = rules;
  const hold = holdOf(last, { now: snapshot.now, lockSeconds, fingerprint, sized: sizesOf(free.quotas) });
  return { ...(hold === undefined ? free : judgeInTurn(snapshot, blocked, hold)), fingerprint };
}

const verdictOf = ({ waiting }: Blocked, finding: Finding): Verdict => ({
  migration: waiting,
  blocking: [],
  ...finding,
  message: waiting.lacks === undefined ? finding.message : `${OF_ATTACHMENT}: ${finding.message}`,
});

const OF_ATTACHMENT = 'its target is ready, and waits for the pod that attaches the hotplugged volumes';

interface Turn {
  readonly snapshot: NamespaceSnapshot;
  readonly hold: Hold | undefined;
  readonly allowance: AllowanceOf;
  /** Others are on their way: their second pod is charged until they are through. */
  readonly roomComesBack: boolean;
  /** What those before need of each quota, by quota uid and canonical key. */
  readonly taken: Map<string, Map<string, Amount>>;
  /** The same, of those that need a raise. */
  readonly raisedFor: Map<string, Map<string, Amount>>;
  /** How many of those before get through now. */
  readonly admitted: Waiting[];
}

function judgeInTurn(
  snapshot: NamespaceSnapshot,
  blocked: readonly Blocked[],
  hold: Hold | undefined,
): Omit<Assessment, 'fingerprint'> {
  const turn: Turn = {
    snapshot,
    hold,
    allowance: allowanceFrom(snapshot.vmmrqs),
    roomComesBack: overlaps(snapshot.pods, blocked),
    taken: new Map(),
    raisedFor: new Map(),
    admitted: [],
  };
  const verdicts = blocked.map((each) => verdictOf(each, judge(each, turn)));
  const raising = verdicts.filter(({ verdict }) => verdict === 'FitsWithRaise');
  const quotas = new Map(
    raising
      .flatMap(({ blocking }) => blocking)
      .map(({ quota }) => [quota.uid, { ...quota, need: needOf(quota, turn) }] as const),
  );
  return { verdicts, migrations: raising.map(({ migration }) => migration), quotas: [...quotas.values()] };
}

/** Of the keys that the quota has: what the raise is computed from again, when it is made. */
function needOf({ uid }: Reference, { snapshot, raisedFor }: Turn): Record<string, string> {
  const hard = snapshot.quotas.find(({ metadata }) => metadata.uid === uid)?.spec.hard ?? {};
  const keys = new Set(Object.keys(hard).map(canonicalKey));
  const need = [...(raisedFor.get(uid) ?? [])].filter(([key]) => keys.has(key));
  return Object.fromEntries(need.map(([key, amount]) => [key, formatQuantity(amount)]));
}

function judge(blocked: Blocked, turn: Turn): Finding {
  const { snapshot } = turn;
  const { migration } = blocked;
  const vmi = snapshot.vmis.get(migration.spec.vmiName ?? '');
  if (vmi === undefined) {
    return finding('NotBlocked', REASON.vmiGone, `the VMI ${migration.spec.vmiName ?? ''} is gone`);
  }
  const missing = missingPodOf(blocked, vmi, snapshot);
  if (missing === undefined) return finding('Waiting', REASON.noSourcePod, unsized(migration));
  // Whose target launcher is there, KubeVirt lets run already.
  const isLetRun = blocked.waiting.lacks !== undefined;
  const hold = isLetRun ? undefined : parallelHold(snapshot, vmi.status?.nodeName, turn);
  return hold ?? judgeRoom(missing, turn);
}

function parallelHold(
  { parallel }: NamespaceSnapshot,
  node: string | undefined,
  turn: Turn,
): Finding | undefined {
  const before = turn.admitted.filter(({ lacks }) => lacks === undefined).length;
  const outbound = (node === undefined ? 0 : (parallel.outbound.get(node) ?? 0)) + before;
  if (parallel.running + before < parallel.perCluster && outbound < parallel.perNode) return undefined;
  const why =
    `KubeVirt runs ${String(parallel.running + before)} of ${String(parallel.perCluster)} migrations at once, ` +
    `${String(outbound)} of ${String(parallel.perNode)} from this node`;
  return finding('Waiting', REASON.parallelLimit, why);
}

function judgeRoom(missing: MissingPod, turn: Turn): Finding {
  const { snapshot, taken } = turn;
  const { blocked } = missing;
  const size = sizeOf(missing, snapshot);
  const { pod, need } = size;
  const covering = snapshot.quotas.filter((quota) => quotaCoversPod(quota, pod));
  const unknown = covering.find((quota) => !isStatusKnown(quota));
  if (unknown !== undefined) {
    const why = `the quota controller has not computed the status of ${unknown.metadata.name} yet`;
    return finding('Waiting', REASON.statusUnknown, why);
  }
  const obstacle = obstacleOf({ ...missing, pod, covering, snapshot });
  if (obstacle !== undefined) return { verdict: 'Unsupported', ...obstacle };
  const blocking = lacked([size], turn);
  const result =
    blocking.length === 0
      ? fits()
      : { ...judgeRaise(blocked.migration, lackOf(missing, size, { turn, blocking }), turn), blocking };
  if (goesNow(result)) turn.admitted.push(blocked.waiting);
  for (const quota of covering) {
    if (goesNow(result) || isPassedOver(result, turn)) take(taken, quota, need);
    if (result.verdict === 'FitsWithRaise') take(turn.raisedFor, quota, need);
  }
  return result;
}

/** What these pods together lack of the quotas that count them. */
const lacked = (pods: readonly Estimate[], { snapshot, taken }: Turn): Blocking[] =>
  snapshot.quotas.flatMap((quota) => {
    const counted = pods.filter(({ pod }) => quotaCoversPod(quota, pod));
    return blockingOf(quota, sumOf(counted.map(({ need }) => need)), taken);
  });

const goesNow = ({ verdict }: Finding): boolean => verdict === 'Fits' || verdict === 'FitsWithRaise';

/** The room that comes back is kept for it, or smaller ones that came later could go first for ever. */
const isPassedOver = ({ reason }: Finding, { roomComesBack }: Turn): boolean =>
  reason === REASON.afterOthers && roomComesBack;

const fits = (): Finding =>
  finding('Fits', REASON.fits, 'the quotas have room: virt-controller only has to look again');

interface Lack {
  readonly blocking: readonly Blocking[];
  /** With the pod that follows: who could never have that one is not let in to wait for it. */
  readonly withNext: readonly Blocking[];
  /** By how much the quotas stay exceeded when the migration is over: the VM has grown. */
  readonly staying: readonly Blocking[];
}

function lackOf(
  missing: MissingPod,
  size: Estimate,
  { turn, blocking }: { readonly turn: Turn; readonly blocking: readonly Blocking[] },
): Lack {
  const next = sizeOfNext(missing, turn.snapshot);
  const grown = { ...size, need: growthOver(missing, size) };
  return {
    blocking,
    withNext: next === undefined ? blocking : lacked([size, next], turn),
    staying: isReceiving(missing.blocked.migration) ? [] : lacked([grown], { ...turn, taken: new Map() }),
  };
}

function judgeRaise(migration: Migration, { blocking, withNext, staying }: Lack, turn: Turn): Finding {
  const { snapshot, hold } = turn;
  const what = describeBlocking(blocking, 'lacks');
  const skipped = blocking.find(({ quota }) => isSkipped(snapshot, quota));
  if (skipped !== undefined) {
    const why = `ResourceQuota ${skipped.quota.name} is annotated ${ANNOTATION.skip}; ${what}`;
    return finding('Unsupported', REASON.skipped, why);
  }
  if (isReceiving(migration) && !mayReceive(snapshot.vmmrqs)) {
    const why = `it receives a VM from another cluster and its pod stays for good, which not every VMMRQ here allows by allowReceive: true`;
    return finding('Unsupported', REASON.receiveNotAllowed, `${why}; ${what}`);
  }
  if (snapshot.vmmrqs.length === 0) {
    const why = `${what}; create a VirtualMachineMigrationResourceQuota in this namespace to let it through`;
    return finding('NoFit', REASON.noVmmrq, why);
  }
  const beyond = beyondGiven(withNext, turn);
  if (beyond.length > 0) return tooLittle(turn, what, describeShortfalls(beyond));
  if (hold !== undefined) {
    const until = new Date(hold.until).toISOString();
    return finding('Waiting', hold.reason, `${hold.message} until ${until}; ${what}`);
  }
  const stays =
    staying.length === 0 ? '' : `; the VM has grown: ${describeBlocking(staying, 'stays exceeded by')}`;
  return finding('FitsWithRaise', REASON.fitsWithRaise, `${what}${stays}`);
}

const describeBlocking = (blocking: readonly Blocking[], verb: string): string =>
  blocking
    .map(({ quota, shortfalls }) => `${quota.name} ${verb} ${describeShortfalls(shortfalls)}`)
    .join('; ');

const isSkipped = ({ quotas }: NamespaceSnapshot, { uid }: Reference): boolean =>
  quotas.some(({ metadata }) => metadata.uid === uid && metadata.annotations?.[ANNOTATION.skip] === 'true');

function tooLittle({ roomComesBack, admitted }: Turn, what: string, beyond: string): Finding {
  if (roomComesBack || admitted.length > 0) {
    const why = `others of this namespace go first, the room comes back when they are through; ${what}`;
    return finding('Waiting', REASON.afterOthers, why);
  }
  return finding('NoFit', REASON.notEnough, `${what}; that is ${beyond} more than the VMMRQs give`);
}

/** What is missing beyond what the VMMRQs give, the most of any quota for each key. */
function beyondGiven(blocking: readonly Blocking[], { snapshot, allowance }: Turn): Shortfall[] {
  const most = new Map<string, Shortfall>();
  for (const { quota: of, shortfalls } of blocking) {
    const quota = snapshot.quotas.find(({ metadata }) => metadata.uid === of.uid);
    for (const { key, missing } of shortfalls) {
      const beyond = missing - (quota === undefined ? 0n : allowance(quota, key).most);
      const known = most.get(key)?.missing ?? 0n;
      if (beyond > known) most.set(key, { key, missing: beyond });
    }
  }
  return [...most.values()];
}
