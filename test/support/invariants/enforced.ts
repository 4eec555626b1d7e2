import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { sameQuantity } from '../../../functions/domain/quantity.ts';

/** The API server enforces spec.hard, key for key. Admission reads status.hard (facts/kubevirt.md §2.5). */
export function isEnforced({ spec, status }: ResourceQuota): boolean {
  const [wanted, enforced] = [spec.hard ?? {}, status?.hard ?? {}];
  const keys = new Set([...Object.keys(wanted), ...Object.keys(enforced)]);
  return [...keys].every((key) => {
    const [want, have] = [wanted[key], enforced[key]];
    return want !== undefined && have !== undefined && sameQuantity(want, have);
  });
}
