import { allowanceFrom } from '../../functions/domain/quota/allowance.ts';
import { canonicalKey, sumOf } from '../../functions/domain/quota/charged.ts';
import { blockingOf } from '../../functions/domain/quota/headroom.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';
import { parseQuantity, type Amount } from '../../functions/domain/quantity.ts';
import { isCountedBy, sizeOf, sizeOfNext } from '../../functions/domain/sizing/missing-pod.ts';
import type { NamespaceSnapshot } from '../../functions/domain/snapshot.ts';
import type { Evaluated } from '../../functions/domain/verdict/allocation.ts';
import { vmmrqName } from '../../functions/domain/vmmrq-name.ts';

/** The figures of a key of a quota that counts the missing pod. */
export interface KeyArithmetic {
  readonly quota: string;
  /** The key as the quota spells it. */
  readonly key: string;
  /** The enforced amount: status.hard. */
  readonly hard: Amount;
  readonly used: Amount;
  /** The amount that earlier migrations of the namespace take first. */
  readonly earlier: Amount;
  /** The need of the pod, and of the attachment pod that follows it. */
  readonly needed: Amount;
  /** used + earlier + needed − hard; 0n: it has the headroom. */
  readonly missing: Amount;
  /** The maximum of a raise by the VMMRQs that give to this migration. */
  readonly given: Amount;
  readonly givenBy: readonly { readonly vmmrq: string; readonly amount: Amount }[];
}

/** The figures of each key that the pod is charged for, in the order of the quotas. */
export function arithmeticOf(evaluated: Evaluated, snapshot: NamespaceSnapshot): KeyArithmetic[] {
  const size = sizeOf(evaluated, snapshot);
  const next = sizeOfNext(evaluated, snapshot);
  const pods = next === undefined ? [size] : [size, next];
  return snapshot.quotas.flatMap((quota) => {
    const need = sumOf(pods.filter((pod) => isCountedBy(pod, quota)).map((each) => each.need));
    const [blocking] = blockingOf(quota, need, evaluated.reserved);
    const missing = new Map(blocking?.shortfalls.map((shortfall) => [shortfall.key, shortfall.missing]));
    return Object.keys(quota.status?.hard ?? {}).flatMap((key) => {
      const needed = need.get(canonicalKey(key)) ?? 0n;
      return needed === 0n
        ? []
        : [{ ...counted(quota, key, evaluated), needed, missing: missing.get(key) ?? 0n }];
    });
  });
}

function counted(
  quota: ResourceQuota,
  key: string,
  { reserved, givers }: Evaluated,
): Omit<KeyArithmetic, 'needed' | 'missing'> {
  const { metadata, status } = quota;
  return {
    quota: metadata.name,
    key,
    hard: parseQuantity(status?.hard?.[key] ?? '0'),
    used: parseQuantity(status?.used?.[key] ?? '0'),
    earlier: reserved.get(metadata.uid)?.get(canonicalKey(key)) ?? 0n,
    given: allowanceFrom(givers)(quota, key).max,
    givenBy: givers.flatMap((vmmrq) => {
      const amount = allowanceFrom([vmmrq])(quota, key).max;
      return amount === 0n ? [] : [{ vmmrq: vmmrqName(vmmrq), amount }];
    }),
  };
}
