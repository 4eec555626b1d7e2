import { shown } from '../foreign-text.ts';
import { allowanceFrom } from '../quota/allowance.ts';
import {
  canonicalKey,
  describeShortfalls,
  sumOf,
  type Amounts,
  type Blocking,
  type Shortfall,
} from '../quota/charged.ts';
import { MAX_LOCKED, type Reference } from '../lock.ts';
import { controllerOf, isReceiving, hasTarget } from '../migration.ts';
import { growthOver, isCountedBy, sizeOfNext, type MissingPod, type Sized } from '../sizing/missing-pod.ts';
import { ANNOTATION, KUBEVIRT, REASON } from '../names.ts';
import { describeQuantity, type Amount } from '../quantity.ts';
import type { Migration, Pod, Vmmrq } from '../objects.ts';
import { givingTo } from '../policy/policy.ts';
import { blockingOf, type Reserved } from '../quota/headroom.ts';
import { describeUncharged, recounted } from '../sizing/uncharged.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import type { Allocation, Lack, RaiseCandidate } from './allocation.ts';
import { raiseRefusals } from './raise-refusal.ts';
import { vmmrqName } from '../vmmrq-name.ts';
import { verdictResult, type VerdictResult } from './verdict.ts';

/** What these pods together lack of the quotas that count them, after the reserved amounts. */
export const lacked = (
  pods: readonly Sized[],
  { quotas }: Pick<NamespaceSnapshot, 'quotas'>,
  reserved: Reserved,
): Blocking[] =>
  quotas.flatMap((quota) => {
    const counted = pods.filter((pod) => isCountedBy(pod, quota));
    return blockingOf(quota, sumOf(counted.map(({ need }) => need)), reserved);
  });

/**
 * Whether we may raise the quotas that block a migration, and do so now. Its `blocking` is what the verdict is about: a raise is for the next
 * pod alone, and any other verdict for all that are to come.
 */
export function evaluateRaise(
  missing: MissingPod & RaiseCandidate,
  { size, blocking }: Lack,
  allocation: Allocation,
): VerdictResult {
  const { snapshot } = allocation;
  const next = sizeOfNext(missing, snapshot);
  // A migration that could never get the following pod is not admitted to wait for it.
  const all = next === undefined ? blocking : lacked([size, next], snapshot, allocation.reserved);
  const result = evaluate(missing, { size, next, blocking, all }, allocation);
  return {
    ...ifCanceled(ifCharged(result, { all, givers: missing.givers, snapshot }), missing.candidate, snapshot),
    blocking: result.verdict === 'FitsWithRaise' ? blocking : all,
  };
}

/** Names an evacuation whose node is not drained any more as the reason: to give more is no advice then. */
function ifCanceled(
  result: VerdictResult,
  { migration }: MissingPod['candidate'],
  snapshot: NamespaceSnapshot,
): VerdictResult {
  if (result.verdict !== 'NoFit') return result;
  const canceled = describeCanceled(migration, snapshot);
  if (canceled === undefined) return result;
  return { ...result, reason: REASON.nodeNotDrained, message: `${canceled}; ${result.message}` };
}

interface BothLack extends Lack {
  readonly next: Sized | undefined;
  /** What both pods lack. */
  readonly all: readonly Blocking[];
}

function evaluate(
  missing: MissingPod & RaiseCandidate,
  { size, next, blocking, all }: BothLack,
  allocation: Allocation,
): VerdictResult {
  const { snapshot } = allocation;
  const { givers } = missing;
  const pods = next === undefined ? [size] : [size, next];
  const what = describeLack(all, pods);
  const unwanted =
    skippedBecause(all, snapshot) ?? notGivenTo(missing, snapshot) ?? refusedBecause(all, snapshot);
  if (unwanted !== undefined) return { ...unwanted, message: `${unwanted.message}; ${what}` };
  const tooMuch = beyondGiven(all, givers, snapshot).length > 0;
  if (tooMuch) return notEnough({ pods, blocking: all, givers }, allocation);
  return (
    postponed(missing, what, allocation) ??
    beyondLock(blocking, what, allocation) ??
    verdictResult(
      'FitsWithRaise',
      REASON.fitsWithRaise,
      `${describeBlocking(blocking, 'lacks')}${describeGrowth(missing, size, allocation)}`,
    )
  );
}

interface Charged extends Pick<RaiseCandidate, 'givers'> {
  readonly all: readonly Blocking[];
  readonly snapshot: NamespaceSnapshot;
}

/** No VMMRQ is too small where the quota counts pods that are gone: each migration would add to what it counts. */
function ifCharged(result: VerdictResult, { all, givers, snapshot }: Charged): VerdictResult {
  const { uncharged } = snapshot;
  if (result.verdict !== 'NoFit' || uncharged === undefined) return result;
  const counted = describeUncharged(all, uncharged);
  if (counted === '') return result;
  const isEnough = beyondGiven(recounted(all, uncharged), givers, snapshot).length === 0;
  return isEnough
    ? verdictResult('Waiting', REASON.notRecounted, `${describeBlocking(all, 'lacks')}; ${counted}`)
    : { ...result, message: `${result.message}; ${counted}` };
}

/** Why the migration must wait: a back-off, or others go first. */
function postponed(
  { candidate, givers }: MissingPod & RaiseCandidate,
  what: string,
  { backoff, raising }: Allocation,
): VerdictResult | undefined {
  if (backoff !== undefined) {
    const until = new Date(backoff.until).toISOString();
    return verdictResult('Waiting', backoff.reason, `${backoff.message} until ${until}; ${what}`);
  }
  if (!hasTarget(candidate) && raising.some((before) => before.locked.lacks !== undefined)) {
    return verdictResult(
      'Waiting',
      REASON.afterOthers,
      `other migrations of the namespace have their target pods already and go first; ${what}`,
    );
  }
  // One lock raises by what one set of VMMRQs gives: those that give to each of its migrations.
  if (raising.some((before) => !isSameSet(before.givers, givers))) {
    const message = `other migrations of the namespace, served by other VMMRQs, go first; ${what}`;
    return verdictResult('Waiting', REASON.afterOthers, message);
  }
  return undefined;
}

/** Why one lock cannot hold it besides the earlier ones; a tenant with many quotas must not make an unreadable lock. */
function beyondLock(
  blocking: readonly Blocking[],
  what: string,
  { raising }: Allocation,
): VerdictResult | undefined {
  const quotas = new Set(
    [...raising.flatMap((each) => each.blocking), ...blocking].map(({ quota }) => quota.uid),
  );
  if (raising.length < MAX_LOCKED && quotas.size <= MAX_LOCKED) return undefined;
  if (raising.length > 0) return afterOthers(what);
  const message = `${String(quotas.size)} ResourceQuotas refuse its pod, and one lock raises at most ${String(MAX_LOCKED)}`;
  return verdictResult('Unsupported', REASON.tooManyQuotas, message);
}

const isSameSet = (one: readonly Vmmrq[], other: readonly Vmmrq[]): boolean =>
  one.length === other.length && one.every((vmmrq) => other.includes(vmmrq));

/** An opt-out prevents the raise. */
function skippedBecause(
  blocking: readonly Blocking[],
  { quotas }: NamespaceSnapshot,
): VerdictResult | undefined {
  const isSkipped = ({ uid }: Reference): boolean =>
    quotas.some(({ metadata }) => metadata.uid === uid && metadata.annotations?.[ANNOTATION.skip] === 'true');
  const skipped = blocking.find(({ quota }) => isSkipped(quota));
  if (skipped === undefined) return undefined;
  const message = `ResourceQuota ${skipped.quota.name} opts out by the annotation ${ANNOTATION.skip}`;
  return verdictResult('Unsupported', REASON.skipped, message);
}

/** The API server refused the last raise of one of them: only another dry run shows whether it still does. */
function refusedBecause(
  blocking: readonly Blocking[],
  snapshot: NamespaceSnapshot,
): VerdictResult | undefined {
  const refusalOf = raiseRefusals(snapshot);
  const uids = new Set(blocking.map(({ quota }) => quota.uid));
  const [message] = snapshot.quotas
    .filter(({ metadata }) => uids.has(metadata.uid))
    .flatMap((quota) => refusalOf(quota) ?? []);
  return message === undefined ? undefined : verdictResult('Unsupported', REASON.refusedByPolicy, message);
}

/** Why no VMMRQ gives to the migration; undefined: one does. */
function notGivenTo(
  { locked: { receives, purpose }, givers }: RaiseCandidate,
  { vmmrqs }: NamespaceSnapshot,
): VerdictResult | undefined {
  if (givers.length > 0) return undefined;
  if (vmmrqs.length === 0) {
    const message =
      'the namespace has no VirtualMachineMigrationResourceQuota, and no cluster-wide one selects it';
    return verdictResult('NoFit', REASON.noVmmrq, message);
  }
  if (receives === true && givingTo(vmmrqs, { purpose }).length > 0) {
    const message =
      'it receives a VM from another cluster, so its pod stays for good, and no VMMRQ that gives to it sets allowReceive: true';
    return verdictResult('Unsupported', REASON.receiveNotAllowed, message);
  }
  const message = `no VMMRQ of the namespace gives to migrations of purpose ${purpose ?? 'unknown'}`;
  return verdictResult('NoFit', REASON.purposeNotServed, message);
}

/**
 * What to do about an evacuation of a node that is not drained any more; undefined: it is drained, or that is not known. KubeVirt goes on with
 * it after `kubectl uncordon`, and begins it again (kubevirt#5177, #9585).
 */
function describeCanceled(
  { metadata, spec }: Migration,
  { nodes }: Pick<NamespaceSnapshot, 'nodes'>,
): string | undefined {
  const node = metadata.annotations?.[KUBEVIRT.evacuation];
  // The descheduler drains no node.
  if (node === undefined || spec.priority === 'system-maintenance') return undefined;
  const state = nodes.get(node);
  const cancel = `virtctl evacuate-cancel vmi ${shown(spec.vmiName)}, then delete the migration`;
  const evacuates = `it evacuates node ${shown(node)}, which is`;
  if (state === 'gone') return `${evacuates} gone: cancel that (${cancel})`;
  if (state !== 'uncordoned') return undefined;
  return `${evacuates} not drained any more: cancel that (${cancel}), or cordon the node again`;
}

const describeBlocking = (blocking: readonly Blocking[], verb: string): string =>
  blocking
    .map(({ quota, shortfalls }) => `ResourceQuota ${quota.name} ${verb} ${describeShortfalls(shortfalls)}`)
    .join('; ');

/** "ResourceQuota quota lacks requests.cpu=100m", for these pods of a migration. */
const describeLack = (blocking: readonly Blocking[], pods: readonly Sized[]): string =>
  `${describeBlocking(blocking, 'lacks')}${pods.length > 1 ? ' for it and the pod that attaches its hotplugged volumes' : ''}`;

/** The pods of a migration, the quotas that block them, and the VMMRQs that give to it. */
interface Wanted {
  readonly pods: readonly Sized[];
  readonly blocking: readonly Blocking[];
  readonly givers: readonly Vmmrq[];
}

/**
 * Reports what is missing. A migration that does not fit by itself is reported at once, whichever migrations have a slot.
 * Others may fit after the earlier ones.
 */
function notEnough(
  { pods, blocking, givers }: Wanted,
  { headroomReturns, snapshot, leftOver }: Allocation,
): VerdictResult {
  const alone = lacked(pods, snapshot, new Map());
  const beyond = beyondGiven(alone, givers, snapshot);
  const isNoFit = !headroomReturns && beyond.length > 0;
  const lacks = describeLack(isNoFit ? alone : blocking, pods);
  if (!isNoFit) return afterOthers(lacks);
  const message = `${lacks}; ${describeGiven(beyond, givers)}${describeLeftOver(leftOver)}`;
  return verdictResult('NoFit', REASON.notEnough, message);
}

/** "VMMRQ migrations gives requests.memory=256Mi, which is 391Mi too little", for the keys of which it is too little. */
function describeGiven(beyond: readonly Beyond[], givers: readonly Vmmrq[]): string {
  const given = beyond.map(
    ({ key, given: amount, missing }) =>
      `${describeShortfalls([{ key, missing: amount }])}, which is ${describeQuantity(key, missing)} too little`,
  );
  const names = givers.map(vmmrqName).join(', ');
  const give = givers.length === 1 ? `VMMRQ ${names} gives` : `VMMRQs ${names} give`;
  return `${give} ${given.join(', and ')}`;
}

/** VMs that are named: the message has a limit. */
const MAX_VMS = 3;

/** Names the launchers that no migration returns; which of a VM's runs the guest, is not known here. */
function describeLeftOver(launchers: readonly Pod[]): string {
  const byVm = Map.groupBy(launchers, (pod) => controllerOf(pod)?.name ?? 'unknown');
  return [...byVm]
    .slice(0, MAX_VMS)
    .map(([vm, pods]) => {
      const names = pods.map(({ metadata }) => metadata.name).join(', ');
      return `; VM ${vm} has ${String(pods.length)} launchers and no migration (${names}): what is left over counts until it is deleted`;
    })
    .join('');
}

const afterOthers = (what: string): VerdictResult =>
  verdictResult(
    'Waiting',
    REASON.afterOthers,
    `other migrations of the namespace go first, and return their headroom when they end; ${what}`,
  );

interface Beyond extends Shortfall {
  /** What the VMMRQs give of the key for that quota. */
  readonly given: Amount;
}

/** The shortfall beyond the allowance, the largest of any quota for each key. */
export function beyondGiven(
  blocking: readonly Blocking[],
  givers: readonly Vmmrq[],
  { quotas }: Pick<NamespaceSnapshot, 'quotas'>,
): Beyond[] {
  const allowance = allowanceFrom(givers);
  const largest = new Map<string, Beyond>();
  for (const { quota: of, shortfalls } of blocking) {
    const quota = quotas.find(({ metadata }) => metadata.uid === of.uid);
    for (const { key, missing } of shortfalls) {
      const given = quota === undefined ? 0n : allowance(quota, key).max;
      const known = largest.get(key)?.missing ?? 0n;
      if (missing - given > known) largest.set(key, { key, missing: missing - given, given });
    }
  }
  return [...largest.values()];
}

/** Describes by how much the quotas stay exceeded when this migration is over; '' where they do not, or others are under way. */
function describeGrowth(missing: MissingPod, size: Sized, allocation: Allocation): string {
  if (allocation.headroomReturns || isReceiving(missing.candidate.migration)) return '';
  const growth = growthOver(missing, size.need);
  const staying = lacked([{ ...size, need: growth }], allocation.snapshot, new Map()).map((each) =>
    capped(each, growth),
  );
  const text = describeBlocking(staying, 'stays exceeded by');
  return text === '' ? '' : `; the VM needs more than before: ${text}`;
}

/** An excess that exists already is not this migration's. */
const capped = ({ quota, shortfalls }: Blocking, growth: Amounts): Blocking => ({
  quota,
  shortfalls: shortfalls.map(({ key, missing }) => ({
    key,
    missing: min(missing, growth.get(canonicalKey(key)) ?? 0n),
  })),
});

const min = (one: Amount, other: Amount): Amount => (one < other ? one : other);
