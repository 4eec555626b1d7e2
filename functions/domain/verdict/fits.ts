import { claimToCopy, keepsState } from '../sizing/claims.ts';
import type { MissingPod } from '../sizing/missing-pod.ts';
import { KUBEVIRT, REASON } from '../names.ts';
import type { SeenRejection } from '../quota/pod-rejection.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { verdictResult, type VerdictResult } from './verdict.ts';

const HEADROOM = 'the quotas have headroom now; virt-controller only has to look again';

/**
 * The quotas as read have headroom, although KubeVirt reports a refusal. The API server's figures and their time show which is newer: a time
 * and not an age, because a VMMRQ's condition has the message, and each look would write it again.
 */
export function fits(missing: MissingPod, snapshot: Pick<NamespaceSnapshot, 'claims'>): VerdictResult {
  const [newest] = missing.rejections;
  const before = newest?.kind === 'exceeded' ? `${describeRefusal(newest)}; ` : '';
  return verdictResult('Fits', REASON.fits, `${before}${HEADROOM}${describeClaim(missing, snapshot)}`);
}

type Exceeded = Extract<SeenRejection, { kind: 'exceeded' }>;

const describeRefusal = ({ quota, at, figures }: Exceeded): string =>
  `ResourceQuota ${quota} refused its pod at ${new Date(at).toISOString()} (${figures})`;

/**
 * The claim that may be refused instead of the pod; '': none. KubeVirt's condition does not tell which, and no Event reports a claim
 * (facts/kubevirt.md §1.3, handleBackendStorage). A quota of the namespace that lacks headroom for it is seen before (blocker.ts).
 */
function describeClaim(
  { candidate, vmi, rejections }: MissingPod,
  { claims }: Pick<NamespaceSnapshot, 'claims'>,
): string {
  const { migration, blocked } = candidate;
  const isOfPod = blocked.lacks !== undefined || rejections.some(({ kind }) => kind === 'exceeded');
  if (isOfPod || !keepsState(vmi)) return '';
  const source = claimToCopy(migration, vmi, claims);
  // Claims are read only where a quota of the namespace counts them.
  if (source === undefined && claims.length > 0) return '';
  const name = source?.metadata.name ?? `${KUBEVIRT.stateOf}-${vmi.metadata.name}`;
  return `; if it stays refused, a ClusterResourceQuota or a quota on claims refuses a copy of its volume claim ${name}: KubeVirt writes no Event of that`;
}
