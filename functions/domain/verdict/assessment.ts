import { fingerprintOf, backoffOf, lastAttemptOf, sizesOf, type Backoff } from './attempt.ts';
import { canonicalKey, type Amounts } from '../quota/charged.ts';
import type { LockedMigration, QuotaToRaise, Reference } from '../lock.ts';
import {
  admittedPodOf,
  hasTarget,
  isFreshlyRejected,
  isPendingWithTarget,
  isReceiving,
  isShownByKubeVirt,
  launchersInTheWay,
  leftOverLaunchers,
  overlaps,
  sourcePodOf,
  type Candidate,
} from '../migration.ts';
import { isCountedBy, sizedOrNot, sizeOf, type MissingPod } from '../sizing/missing-pod.ts';
import { REASON } from '../names.ts';
import type { Pod, ResourceQuota, VirtualMachineInstance, Vmmrq } from '../objects.ts';
import { ALREADY_TRIED, blockerOf, blockerOfRejection, type BlockerInput } from './blocker.ts';
import { formatQuantity } from '../quantity.ts';
import { purposeOf } from '../policy/purpose.ts';
import { dependOnPurpose, givingTo } from '../policy/policy.ts';
import type { Allocation, Evaluated, RaiseCandidate } from './allocation.ts';
import { fits } from './fits.ts';
import { evaluateRaise, lacked } from './raise-verdict.ts';
import { reserve, statusUnknown } from '../quota/headroom.ts';
import { candidatesIn, podRejectionsOf } from '../quota/pod-rejection.ts';
import type { NamespaceSnapshot, Rules } from '../snapshot.ts';
import { verdictResult, type VerdictResult, type Verdict } from './verdict.ts';
import { namespaceBlocker } from './namespace-precondition.ts';

/** The verdicts of a namespace, and what the next lock would be about. */
export interface Assessment {
  /** The verdict of each migration whose pod is wanted and refused (candidatesIn); in order of precedence. */
  readonly verdicts: readonly Verdict[];
  /** The migrations that fit together in one window, and the quotas to raise for them; empty: no lock. */
  readonly migrations: readonly LockedMigration[];
  readonly quotas: readonly QuotaToRaise[];
  /** The VMMRQs that give to each of these migrations. */
  readonly vmmrqs: readonly Vmmrq[];
  readonly fingerprint: string;
  /** The namespace is not ours to raise in (namespaceBlocker): none of its objects is written. */
  readonly isOptedOut?: true;
}

/** What a look at a namespace found. */
export interface Look {
  readonly snapshot: NamespaceSnapshot;
  readonly assessment: Assessment;
}

/** undefined: no look was needed, or the namespace is gone; 'awaited': another run of this process follows its quotas, and looks then. */
export type Looked = Look | 'awaited' | undefined;

/**
 * Decides for the whole namespace at once; pure, and the same for feasibility and lock. `onEvaluate`: called for each migration
 * whose pod has a known size, before its verdict; again where the namespace backs off.
 */
export function assess(
  snapshot: NamespaceSnapshot,
  rules: Rules,
  onEvaluate: (evaluated: Evaluated) => void = () => undefined,
): Assessment {
  const candidates = candidatesIn(snapshot);
  const fingerprint = fingerprintOf({
    migrations: candidates.filter(isShownByKubeVirt).map(({ blocked }) => blocked),
    quotas: snapshot.quotas,
    vmmrqs: snapshot.vmmrqs,
  });
  const blocker = namespaceBlocker(snapshot, rules);
  if (blocker !== undefined) {
    const isForGood = blocker.verdict === 'Unsupported';
    const given = { snapshot, leftOver: leftOverLaunchers(snapshot.pods, snapshot) };
    const verdicts = candidates.map((each) =>
      verdictOf(each, (isForGood ? refusedOtherwise(each, given) : undefined) ?? blocker),
    );
    const none = { verdicts, migrations: [], quotas: [], vmmrqs: [], fingerprint };
    return isForGood ? { ...none, isOptedOut: true } : none;
  }
  const last = lastAttemptOf(snapshot.namespace, snapshot.now);
  const evaluate = { snapshot, candidates, onEvaluate };
  const free = evaluateAll(evaluate);
  const { lockSeconds } = rules;
  const backoff = backoffOf(last, {
    now: snapshot.now,
    lockSeconds,
    fingerprint,
    sized: sizesOf(free.quotas),
    renewed: snapshot.renewed,
  });
  return { ...(backoff === undefined ? free : evaluateAll(evaluate, backoff)), fingerprint };
}

const verdictOf = ({ blocked }: Candidate, result: VerdictResult): Verdict => ({
  migration: blocked,
  blocking: [],
  ...result,
  message: blocked.lacks === undefined ? result.message : `${OF_ATTACHMENT}: ${result.message}`,
});

const OF_ATTACHMENT = 'its target pod is ready, and waits for the pod that attaches its hotplugged volumes';

interface EvaluateAll extends Pick<Allocation, 'snapshot' | 'onEvaluate'> {
  readonly candidates: readonly Candidate[];
}

/** The verdicts by quotas and VMMRQs alone, whatever the namespace precondition is. */
export function evaluateAll(
  { candidates, ...by }: EvaluateAll,
  backoff?: Backoff,
): Omit<Assessment, 'fingerprint'> {
  const { snapshot } = by;
  const leftOver = leftOverLaunchers(snapshot.pods, snapshot);
  const isLeftOver = new Set(leftOver);
  const allocation: Allocation = {
    ...by,
    backoff,
    leftOver,
    headroomReturns: overlaps(
      snapshot.pods.filter((pod) => !isLeftOver.has(pod)),
      candidates,
    ),
    reserved: new Map(),
    raisedFor: new Map(),
    accepted: [],
    raising: [],
    leftByPending: snapshot.migrations
      .filter((each) => isPendingWithTarget(each, snapshot.pods))
      .map((each) => (isReceiving(each) ? NO_NODE : sourcePodOf(each, snapshot.pods)?.spec.nodeName)),
  };
  const verdicts = candidates.map((each) => verdictOf(each, evaluateMigration(each, allocation)));
  const { raising } = allocation;
  const quotas = new Map(
    verdicts
      .filter(({ verdict }) => verdict === 'FitsWithRaise')
      .flatMap(({ blocking }) => blocking)
      .map(({ quota }) => [quota.uid, { ...quota, need: needOf(quota, allocation) }] as const),
  );
  return {
    verdicts,
    migrations: raising.map(({ locked }) => locked),
    quotas: [...quotas.values()],
    vmmrqs: raising[0]?.givers ?? [],
  };
}

const vmiOf = ({ migration }: Candidate, { vmis }: NamespaceSnapshot): VirtualMachineInstance | undefined =>
  vmis.get(migration.spec.vmiName ?? '');

const lockedMigrationOf = (
  { migration, blocked }: Candidate,
  vmi: VirtualMachineInstance,
  { pods, nodes, vmmrqs }: NamespaceSnapshot,
): LockedMigration => ({
  ...blocked,
  vmi: vmi.metadata.uid,
  ...(isReceiving(migration) ? { receives: true } : {}),
  ...(dependOnPurpose(vmmrqs) ? { purpose: purposeOf({ migration, vmi, pods, nodes }) } : {}),
});

/** Needs for the keys that the quota has. `raise` computes the raise from it again. */
function needOf({ uid }: Reference, { snapshot, raisedFor }: Allocation): Record<string, string> {
  const hard = snapshot.quotas.find(({ metadata }) => metadata.uid === uid)?.spec.hard ?? {};
  const keys = new Set(Object.keys(hard).map(canonicalKey));
  const need = [...(raisedFor.get(uid) ?? [])].filter(([key]) => keys.has(key));
  return Object.fromEntries(need.map(([key, amount]) => [key, formatQuantity(amount)]));
}

function evaluateMigration(candidate: Candidate, allocation: Allocation): VerdictResult {
  const { snapshot } = allocation;
  const { migration } = candidate;
  const vmi = vmiOf(candidate, snapshot);
  if (vmi === undefined) {
    return verdictResult('NotBlocked', REASON.vmiGone, `the VMI ${migration.spec.vmiName ?? ''} is gone`);
  }
  // KubeVirt makes no target for it any more (migration.go, sync), and deletes the migration only once the VMI is gone.
  if (vmi.metadata.deletionTimestamp !== undefined)
    return verdictResult('NotBlocked', REASON.vmiGone, `the VMI ${vmi.metadata.name} is being deleted`);
  const other = refusedOtherwise(candidate, allocation);
  if (other !== undefined)
    return (ALREADY_TRIED.includes(other.reason) ? slotShortage(candidate, allocation) : undefined) ?? other;
  const locked = lockedMigrationOf(candidate, vmi, snapshot);
  const pod = admittedPodOf(locked, snapshot.pods);
  if (pod !== undefined) {
    const { name } = pod.metadata;
    return verdictResult('NotBlocked', REASON.admitted, `KubeVirt counts pod ${name} as the migration's`);
  }
  const missing = sizedOrNot(candidate, vmi, snapshot);
  if ('reason' in missing) return verdictResult('Waiting', missing.reason, missing.message);
  const raise = { ...missing, locked, givers: givingTo(snapshot.vmmrqs, locked) };
  allocation.onEvaluate({ ...raise, reserved: allocation.reserved });
  return evaluateHeadroom(raise, allocation);
}

type Given = Pick<Allocation, 'snapshot' | 'leftOver'>;

/**
 * Why no raise matters to the target: KubeVirt does not create it beside left-over launchers, or something other than a quota's amounts
 * refuses it, by the newest Event. undefined: neither, or that refusal is outdated.
 */
function refusedOtherwise(candidate: Candidate, { snapshot, leftOver }: Given): VerdictResult | undefined {
  const vmi = vmiOf(candidate, snapshot);
  if (vmi === undefined || hasTarget(candidate)) return undefined;
  const launchers = launchersInTheWay(candidate.migration, leftOver);
  if (launchers.length > 0)
    return verdictResult('Unsupported', REASON.launcherLeftOver, describeLaunchers(launchers, vmi));
  if (isShownByKubeVirt(candidate)) return undefined;
  const [newest] = podRejectionsOf(candidate, vmi, snapshot);
  if (newest === undefined)
    return verdictResult('NotBlocked', REASON.nothingBlocked, 'no refusal of its pod is known');
  const blocker = blockerOfRejection(newest, snapshot);
  return blocker && verdictResult('Unsupported', blocker.reason, blocker.message);
}

function describeLaunchers(launchers: readonly Pod[], { status }: VirtualMachineInstance): string {
  const names = launchers.map(
    ({ metadata: { name, deletionTimestamp }, spec }) =>
      `${name} on ${spec.nodeName ?? 'no node'}` +
      (deletionTimestamp === undefined
        ? ''
        : ` (being deleted since ${deletionTimestamp}: its node does not end it)`),
  );
  return (
    `the VM has ${String(launchers.length)} launchers and no migration under way, and KubeVirt creates no target beside them: ` +
    `${names.join(', ')}; it runs on ${status?.nodeName ?? 'no node'}`
  );
}

/**
 * Why KubeVirt has no migration slot for it now; undefined: it has one. KubeVirt's own limit decides: this only avoids locks
 * without effect.
 */
function slotShortage(candidate: Candidate, allocation: Allocation): VerdictResult | undefined {
  if (hasTarget(candidate)) return undefined;
  const { view, now } = allocation.snapshot;
  if (view === undefined) {
    // KubeVirt checks its limits before it creates the pod, so a fresh refusal shows that there was a slot.
    if (isFreshlyRejected(candidate.migration, now)) return undefined;
    const message =
      'the guard did not answer whether KubeVirt has a migration slot for it; the next resync checks again';
    return verdictResult('Waiting', REASON.viewUnavailable, message);
  }
  const node = nodeOf(candidate, allocation.snapshot);
  const before = allocation.accepted.filter(({ lacks }) => lacks === undefined);
  const isLeaving = (from: string | undefined): boolean =>
    from === node || from === undefined || node === undefined;
  const leaving = [...allocation.leftByPending, ...before.map(({ node: from }) => from)].filter(
    isLeaving,
  ).length;
  const onNode = (node === undefined ? undefined : view.left.nodes[node]) ?? view.left.node;
  const inCluster = view.left.cluster - allocation.leftByPending.length - before.length;
  if (inCluster > 0 && onNode - leaving > 0) return undefined;
  const { cluster, node: perNode } = view.limits;
  const message =
    `KubeVirt has no migration slot left for it: it runs at most ${String(cluster)} migrations at once, ` +
    `and ${String(perNode)} from one node`;
  return verdictResult('Waiting', REASON.parallelLimit, message);
}

/** The node that it leaves; undefined: not known. */
const nodeOf = (candidate: Candidate, snapshot: NamespaceSnapshot): string | undefined =>
  vmiOf(candidate, snapshot)?.status?.nodeName ?? (isReceiving(candidate.migration) ? NO_NODE : undefined);

/** What a migration that receives a VM leaves: KubeVirt counts it beside others without a node (facts/kubevirt.md §1.5). */
const NO_NODE = '';

function evaluateHeadroom(missing: MissingPod & RaiseCandidate, allocation: Allocation): VerdictResult {
  const { snapshot, reserved } = allocation;
  const { candidate, locked, givers } = missing;
  const size = sizeOf(missing, snapshot);
  const { pod, need } = size;
  const covering = snapshot.quotas.filter((quota) => isCountedBy(size, quota));
  const hindrance =
    notCounted(covering, need) ?? refusedAnyway({ ...missing, pod, covering, snapshot }, allocation);
  if (hindrance !== undefined) return hindrance;
  const blocking = lacked([size], snapshot, reserved);
  const fitting =
    blocking.length === 0 ? fits(missing, snapshot) : evaluateRaise(missing, { size, blocking }, allocation);
  const result = ifSlotFree(ifShown(fitting, candidate), candidate, allocation);
  if (canGoNow(result)) allocation.accepted.push({ ...candidate.blocked, node: nodeOf(candidate, snapshot) });
  if (result.verdict === 'FitsWithRaise') allocation.raising.push({ locked, givers, blocking });
  for (const quota of covering) {
    if (canGoNow(result) || isPostponed(result, allocation)) reserve(reserved, quota, need);
    if (result.verdict === 'FitsWithRaise') reserve(allocation.raisedFor, quota, need);
  }
  return result;
}

function notCounted(covering: readonly ResourceQuota[], need: Amounts): VerdictResult | undefined {
  const [message] = covering.flatMap((quota) => statusUnknown(quota, (key) => need.has(key)) ?? []);
  if (message === undefined) return undefined;
  return verdictResult('Waiting', REASON.statusUnknown, message);
}

/** Reports a refusal; a past one reports a missing slot instead: without a slot no other attempt is possible. */
function refusedAnyway(input: BlockerInput, allocation: Allocation): VerdictResult | undefined {
  const blocker = blockerOf(input);
  if (blocker === undefined) return undefined;
  const shortage = blocker.isPast === true ? slotShortage(input.candidate, allocation) : undefined;
  return shortage ?? verdictResult('Unsupported', blocker.reason, blocker.message);
}

/** What a free slot would not help is reported as that: otherwise a drain would seem to get on. */
function ifSlotFree(result: VerdictResult, candidate: Candidate, allocation: Allocation): VerdictResult {
  return (waitsForSlot(result) ? slotShortage(candidate, allocation) : undefined) ?? result;
}

/** Nothing is raised before KubeVirt's condition shows that a quota refuses the target: a nudge makes KubeVirt try. */
const ifShown = (result: VerdictResult, candidate: Candidate): VerdictResult =>
  result.verdict !== 'FitsWithRaise' || isShownByKubeVirt(candidate)
    ? result
    : {
        ...result,
        verdict: 'Fits',
        reason: REASON.fits,
        message: `virt-controller only has to look again, and a raise follows; ${result.message}`,
      };

const waitsForSlot = (result: VerdictResult): boolean =>
  canGoNow(result) || result.reason === REASON.afterOthers;

const canGoNow = ({ verdict }: VerdictResult): boolean => verdict === 'Fits' || verdict === 'FitsWithRaise';

/** The headroom that returns is reserved for it: otherwise smaller migrations that came later could go first for ever. */
const isPostponed = ({ reason }: VerdictResult, { headroomReturns }: Allocation): boolean =>
  reason === REASON.afterOthers && headroomReturns;
