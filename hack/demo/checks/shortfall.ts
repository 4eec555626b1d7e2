import { canonicalKey, isChargedByPods } from '../../../functions/domain/quota/charged.ts';
import { describeQuantity, parseQuantity } from '../../../functions/domain/quantity.ts';
import type { Case } from './check-result.ts';

/**
 * The shortfalls beyond the allowance, for a tenant with one VM: the target pod needs as much again as the tenant uses. They come from
 * the quotas alone, not from our functions. "391Mi too little", for each key.
 */
export function shortfallsOf({ tenant: { gives }, before }: Case): string[] {
  const given = new Map(Object.entries(gives).map(([key, text]) => [canonicalKey(key), parseQuantity(text)]));
  const missing = before.quotas.flatMap(({ status }) =>
    Object.entries(status?.hard ?? {}).map(([key, hard]) => {
      const used = parseQuantity(status?.used?.[key] ?? '0');
      const more = isChargedByPods(key) ? (given.get(canonicalKey(key)) ?? 0n) : 0n;
      return { key, missing: used - (parseQuantity(hard) - used) - more };
    }),
  );
  return missing
    .filter((one) => one.missing > 0n)
    .map((one) => `${describeQuantity(one.key, one.missing)} too little`);
}
