import { grantOf } from './grant.ts';
import { ANNOTATION, LABEL, LOCK_OUTCOME, type LockOutcome } from '../names.ts';
import type { ResourceList, ResourceQuota } from '../objects.ts';

/** The lock that was lowered on a quota, and how that lock ended. */
export interface Fence {
  readonly token: string;
  readonly outcome: LockOutcome;
}

/** The text of the last-release annotation. */
const fenceText = ({ token, outcome }: Fence): string => `${token} ${outcome}`;

/** The fence by the quota's last-release; undefined: none, or an unreadable one. */
export function fenceOf({ metadata }: Pick<ResourceQuota, 'metadata'>): Fence | undefined {
  const [token = '', said] = (metadata.annotations?.[ANNOTATION.lastRelease] ?? '').split(' ');
  const outcome = Object.values(LOCK_OUTCOME).find((each) => each === said);
  return token === '' ? undefined : { token, outcome: outcome ?? LOCK_OUTCOME.failed };
}

/** Whether the quota is fenced by this token: no writer of that lock may raise it any more. */
export const isFencedBy = (quota: Pick<ResourceQuota, 'metadata'>, token: string): boolean =>
  fenceOf(quota)?.token === token;

/**
 * The lowered quota, for one PUT of its status: status.hard = spec.hard, grant and label removed, last-release set. A quota
 * without a grant gets only the fence, its status untouched. `used` is sent as read: without it every pod would be refused.
 */
export function loweredQuota(quota: ResourceQuota, fence: Fence): ResourceQuota {
  const {
    [ANNOTATION.grant]: _grant,
    [ANNOTATION.migrations]: _migrations,
    ...annotations
  } = quota.metadata.annotations ?? {};
  const { [LABEL.raised]: _label, ...labels } = quota.metadata.labels ?? {};
  const { labels: _all, ...metadata } = quota.metadata;
  const isRaised = grantOf(quota).kind !== 'none';
  return {
    ...quota,
    metadata: {
      ...metadata,
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      annotations: { ...annotations, [ANNOTATION.lastRelease]: fenceText(fence) },
    },
    ...(isRaised && quota.status?.hard !== undefined
      ? { status: { ...quota.status, hard: originalsOf(quota, quota.status.hard) } }
      : {}),
  };
}

/** spec.hard, without the keys that the quota controller has not counted yet: without their `used` pods would be refused. */
function originalsOf({ spec }: ResourceQuota, enforced: ResourceList): ResourceList {
  const entries = Object.entries(spec.hard ?? {}).filter(([key]) => enforced[key] !== undefined);
  return Object.fromEntries(entries);
}
