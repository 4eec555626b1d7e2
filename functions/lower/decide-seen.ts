import { grantBy, grantOf, type Grant } from '../domain/quota/grant.ts';
import { isCharged, isUndone } from '../domain/quota/raise.ts';
import { podIdentityOf, type Reference } from '../domain/lock.ts';
import {
  ANNOTATION,
  KUBEVIRT,
  LOCK_OUTCOME,
  REASON,
  type LockOutcome,
  type Reason,
} from '../domain/names.ts';
import type { Pod, ResourceQuota } from '../domain/objects.ts';

/** What the raised quotas of a lock show without a read of the namespace. */
export interface SeenSnapshot {
  /** The grant that was read. */
  readonly grant: Grant;
  /** The quotas of its lock, as they are now. */
  readonly quotas: readonly ResourceQuota[];
  /** The target launchers of the lock's migrations, and their attachment pods; possibly from the watch cache. */
  readonly targets: readonly Pod[];
  /** The API server's clock, milliseconds. */
  readonly now: number;
}

export type SeenDecision =
  | { readonly kind: 'wait'; readonly reason: Reason; readonly message: string }
  /** A recount undid the raise while the pods are still missing: `quota` shows it. */
  | {
      readonly kind: 'undone';
      readonly quota: ResourceQuota;
      readonly reason: Reason;
      readonly message: string;
    }
  | {
      readonly kind: 'lower';
      readonly outcome: LockOutcome;
      readonly reason: Reason;
      readonly message: string;
    }
  /** The quotas do not show enough: only the namespace's lock shows more. */
  | { readonly kind: 'lookFurther' };

/** An object or an event object, reduced to its annotations. */
interface Annotated {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
}

/** The pods that a quota is raised for, each by its identity. */
export const identitiesOf = ({ metadata }: Annotated): string[] =>
  (metadata.annotations?.[ANNOTATION.migrations] ?? '').split(',').filter((each) => each !== '');

/** Whether the quota is raised for an attachment pod. Only a nudge makes virt-controller try one again (facts/kubevirt.md §1.3). */
export const isForAttachment = (quota: Annotated): boolean =>
  identitiesOf(quota).some((identity) => identity.endsWith(`/${KUBEVIRT.attachment}`));

/** Lowering is the safe direction: early costs one attempt, late costs the tenant. */
export function decideSeen({ grant, quotas, targets, now }: SeenSnapshot): SeenDecision {
  const { token } = grant;
  const raised = quotas.filter((quota) => grantBy(quota, token) !== undefined);
  const wanted = new Set(raised.flatMap(identitiesOf));
  // Its owner identifies an attachment pod, not its labels. Only the lock's migrations show the owner.
  const isSeen = !raised.some(isForAttachment) && missingIn({ quotas: raised, targets }).length === 0;
  if (wanted.size > 0 && isSeen) {
    return { kind: 'lower', outcome: LOCK_OUTCOME.admitted, reason: REASON.admitted, message: ADMITTED };
  }
  const isAllCharged = raised.every((quota) => isCharged(quota, grantBy(quota, token) ?? grant));
  if (raised.length > 0 && isAllCharged) {
    return { kind: 'lower', outcome: LOCK_OUTCOME.charged, reason: REASON.charged, message: CHARGED };
  }
  if (now >= Date.parse(grant.expiresAt)) return { kind: 'lookFurther' };
  const undone = raised.find((quota) => isUndone(quota, grantBy(quota, token) ?? grant));
  if (undone !== undefined) {
    const message = `a quota controller recounted ResourceQuota ${undone.metadata.name}, which undid the raise`;
    return { kind: 'undone', quota: undone, reason: REASON.undone, message };
  }
  return {
    kind: 'wait',
    reason: REASON.stillWaiting,
    message: 'the quotas do not count every pod of the lock yet',
  };
}

/** The identities of the pods that the quotas are raised for and that are not there. */
export function missingIn({ quotas, targets }: Pick<SeenSnapshot, 'quotas' | 'targets'>): readonly string[] {
  const isThere = new Set(targets.map(podIdentityOf));
  const wanted = new Set(quotas.flatMap(identitiesOf));
  return [...wanted].filter((identity) => !isThere.has(identity));
}

/**
 * The migration to nudge after another one of the lock got its pod: virt-controller looks at a migration again only after a second where it
 * has not seen the pod of the one before (facts/kubevirt.md §1.5), and by now it has. Each pod that follows makes it look at the rest.
 */
export function nextToGo({ grant, quotas, targets }: SeenSnapshot): Reference | undefined {
  const missing = missingIn({ quotas, targets });
  const isUnderWay = missing.length < new Set(quotas.flatMap(identitiesOf)).size;
  if (!isUnderWay) return undefined;
  return grant.migrations.find(({ uid }) => missing.some((identity) => identity.startsWith(`${uid}/`)));
}

const ADMITTED = 'every migration of the lock got its pod';
const CHARGED = 'the quotas count every pod of the lock: KubeVirt is creating them';

/** The grant that a quota shows; undefined: none, or none that can be read. */
export function grantShownBy(quota: ResourceQuota): Grant | undefined {
  const state = grantOf(quota);
  return state.kind === 'held' ? state.grant : undefined;
}
