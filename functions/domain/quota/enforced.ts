import type { ResourceQuota } from '../objects.ts';
import { isMore, sameQuantity } from '../quantity.ts';

/** The API server enforces what spec.hard says, key for key. Admission reads status.hard (facts/kubevirt.md §2.5). */
export function isEnforced(quota: ResourceQuota): boolean {
  const spec = quota.spec.hard ?? {};
  const status = quota.status?.hard ?? {};
  const keys = new Set([...Object.keys(spec), ...Object.keys(status)]);
  return [...keys].every((key) => {
    const wanted = spec[key];
    const enforced = status[key];
    return wanted !== undefined && enforced !== undefined && sameQuantity(wanted, enforced);
  });
}

/**
 * Nothing is enforced above what spec.hard says: all that letting go of a quota needs (docs/adr/0008). A key that somebody
 * has just added, raised or dropped is the quota controller's to follow, and holds nobody up where that one is away.
 */
export const enforcesNoMore = ({ spec, status }: ResourceQuota): boolean =>
  Object.entries(status?.hard ?? {}).every(([key, text]) => !isAbove(text, spec.hard?.[key]));

const isAbove = (enforced: string, wanted: string | undefined): boolean =>
  wanted !== undefined && isMore(enforced, wanted);

/** status.hard with what is above spec.hard lowered to it, for resourcequotas/status; undefined: there is nothing to lower. */
export function loweredStatus(quota: ResourceQuota): ResourceQuota | undefined {
  if (enforcesNoMore(quota)) return undefined;
  const wanted = quota.spec.hard ?? {};
  const hard = Object.entries(quota.status?.hard ?? {}).map(
    ([key, text]) => [key, isAbove(text, wanted[key]) ? (wanted[key] ?? text) : text] as const,
  );
  return { ...quota, status: { ...quota.status, hard: Object.fromEntries(hard) } };
}
