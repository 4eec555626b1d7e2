import { canonicalKey } from '../quota/charged.ts';
import { claimShortfall, keepsState } from '../sizing/claims.ts';
import { CLOCKS_APART_MS, isReceiving, rejectedAt, type Candidate } from '../migration.ts';
import { stateClaimRefusal } from '../sizing/limit-range-refusal.ts';
import { mustSpecify } from '../sizing/must-specify.ts';
import { REASON, type Reason } from '../names.ts';
import type { Migration, Pod, ResourceQuota, VirtualMachineInstance } from '../objects.ts';
import { ownRefusalsOf, type PodRejection, type SeenRejection } from '../quota/pod-rejection.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';

export interface Blocker {
  readonly reason: Reason;
  readonly message: string;
  /** The blocker is the API server's last refusal: only another attempt shows whether it still holds. */
  readonly isPast?: true;
}

export interface BlockerInput {
  readonly candidate: Candidate;
  readonly vmi: VirtualMachineInstance;
  /** The pod that it waits for, as estimated, and the quotas that will count it. */
  readonly pod: Pod;
  readonly covering: readonly ResourceQuota[];
  /** Refusals of this pod, newest first. */
  readonly rejections: readonly SeenRejection[];
  readonly snapshot: NamespaceSnapshot;
}

/**
 * Why no raise of a quota helps: then the namespace is not locked. It checks first what comes before the pod, then the API
 * server's last refusal, then what the API server will refuse.
 */
export function blockerOf(input: BlockerInput): Blocker | undefined {
  const { vmi, snapshot, rejections } = input;
  const { migration, blocked } = input.candidate;
  const claim = blocked.lacks === undefined ? claimBlocker(migration, vmi, snapshot) : undefined;
  if (claim !== undefined) return claim;
  const newest = rejections.find((each) => !isOvertaken(each, input));
  if (newest === undefined) return predictedBlocker(input);
  // The values of a pod from another cluster are unknown. A pod that was refused for an amount has every value that the quotas
  // require: the estimate knows no better.
  const isUnknown = newest.kind === 'exceeded' || isReceiving(migration);
  const past = blockerOfRejection(newest, snapshot);
  if (past !== undefined) return { ...past, isPast: true };
  return isUnknown ? undefined : predictedBlocker(input);
}

/** Why the volume claim is refused that comes before the pod; undefined: it is not. Quota admission is the last. */
function claimBlocker(
  migration: Migration,
  vmi: VirtualMachineInstance,
  snapshot: NamespaceSnapshot,
): Blocker | undefined {
  const refused = refusedClaim(migration, vmi, snapshot);
  if (refused !== undefined) return refused;
  const lacking = claimShortfall(migration, vmi, snapshot);
  if (lacking === '') return undefined;
  return { reason: REASON.volumeQuota, message: `${FIRST} no raise for pods covers: ${lacking}` };
}

const FIRST = 'the target first needs a volume claim, which';

/** Why a LimitRange refuses that claim; undefined: none that is known does. */
export function refusedClaim(
  migration: Migration,
  vmi: VirtualMachineInstance,
  snapshot: Pick<NamespaceSnapshot, 'claims' | 'limitRanges' | 'stateStorageClass'>,
): Blocker | undefined {
  const refusal = stateClaimRefusal(migration, vmi, snapshot);
  return refusal === undefined ? undefined : { reason: REASON.limitRange, message: `${FIRST} ${refusal}` };
}

/**
 * Whether a quota refused the pod later, by KubeVirt's condition: quota admission is the last plugin, so the pod had passed what refused it
 * before (kubernetes 1.36 CheckRequest looks at amounts last). The Event of that may be missing: client-go writes 25 about an object, then
 * one in 300 s (tools/record, events_cache.go). The condition may be of the volume claim of a VM that keeps state; it is not of an
 * attachment pod. It may also be of our own refusal, which comes before webhooks and quotas.
 */
function isOvertaken(rejection: SeenRejection, { candidate, vmi, snapshot }: BlockerInput): boolean {
  const { kind, at } = rejection;
  if (kind === 'exceeded' || candidate.blocked.lacks !== undefined || keepsState(vmi)) return false;
  // A quota of another kind, such as a ClusterResourceQuota, has a plugin of its own.
  if (kind === 'mustSpecify' && !snapshot.quotas.some(isNamed(rejection.quota))) return false;
  const since = rejectedAt(candidate.migration);
  const isByUs = (): boolean =>
    ownRefusalsOf(candidate, vmi, snapshot).some((own) => Math.abs(own - since) <= CLOCKS_APART_MS);
  return at < since - CLOCKS_APART_MS && (BEFORE_POLICIES.includes(kind) || !isByUs());
}

/** Refused by plugins that come before those of policies and webhooks (kubernetes 1.36 pkg/kubeapiserver/options/plugins.go). */
const BEFORE_POLICIES: readonly PodRejection['kind'][] = ['limitRange', 'podSecurity'];

/** Returns undefined if the refusal is about amounts, or is outdated (the object that it names is gone). */
export function blockerOfRejection(
  rejection: SeenRejection,
  { quotas, limitRanges }: Pick<NamespaceSnapshot, 'quotas' | 'limitRanges'>,
): Blocker | undefined {
  const { kind, text } = rejection;
  if (kind === 'statusUnknown') return undefined;
  if (kind === 'exceeded') {
    const named = quotas.filter(isNamed(rejection.quota));
    const isOutdated = named.some((quota) => countsAll(quota, rejection)) || isReplaced(rejection, quotas);
    return isOutdated
      ? undefined
      : clusterQuota(rejection.quota, { figures: rejection.figures, isNamesake: named.length > 0 });
  }
  if (kind === 'mustSpecify') {
    const named = quotas.filter(isNamed(rejection.quota));
    // A quota of another kind, such as a ClusterResourceQuota, is not among them.
    const isDemanding =
      named.length === 0 ? !isReplaced(rejection, quotas) : named.some((quota) => stillRequires(quota, text));
    return isDemanding ? { reason: REASON.mustSpecify, message: text } : undefined;
  }
  if (kind === 'limitRange' && limitRanges.length === 0) return undefined;
  return { reason: REASON_BY_KIND[kind], message: text };
}

const REASON_BY_KIND = {
  uncovered: REASON.noCoveringQuota,
  limitRange: REASON.limitRange,
  podSecurity: REASON.podSecurity,
  policy: REASON.podRefused,
  other: REASON.podRefused,
} as const;

/** Verdicts from the API server's last refusal: only another attempt, in a migration slot, shows whether they still hold. */
export const ALREADY_TRIED: readonly Reason[] = [
  ...[REASON.clusterQuota, REASON.mustSpecify],
  ...Object.values(REASON_BY_KIND),
];

const isNamed =
  (name: string) =>
  ({ metadata }: ResourceQuota): boolean =>
    metadata.name === name;

/** Whether a quota has been created since, so that the one that refused the pod, and that is not there, may have had its place. */
const isReplaced = ({ at }: SeenRejection, quotas: readonly ResourceQuota[]): boolean =>
  quotas.some(({ metadata }) => Date.parse(metadata.creationTimestamp) > at);

/** Whether the quota has each key for which the pod was refused. */
function countsAll({ spec }: ResourceQuota, { requested }: Exceeded): boolean {
  const keys = new Set(Object.keys(spec.hard ?? {}).map(canonicalKey));
  return [...requested.keys()].every((key) => keys.has(key));
}

type Exceeded = Extract<SeenRejection, { kind: 'exceeded' }>;

function clusterQuota(
  name: string,
  { figures, isNamesake }: { readonly figures: string; readonly isNamesake: boolean },
): Blocker {
  const which = isNamesake ? 'has other keys than the one of this namespace' : 'is not of this namespace';
  const message = `the quota ${name}, which ${which} (a ClusterResourceQuota?), refuses the pod: ${figures}`;
  return { reason: REASON.clusterQuota, message };
}

const stillRequires = ({ status }: ResourceQuota, text: string): boolean =>
  Object.keys(status?.hard ?? {}).some((key) => text.includes(` ${key} for: `));

function predictedBlocker({ pod, covering }: BlockerInput): Blocker | undefined {
  for (const quota of covering) {
    const missing = mustSpecify(quota, pod);
    if (missing === undefined) continue;
    const message = `ResourceQuota ${quota.metadata.name} requires values that the pod does not have: ${missing}`;
    return { reason: REASON.mustSpecify, message };
  }
  return undefined;
}
