import type { QuotaToRaise } from '../lock.ts';
import type { ClusterVmmrq, ResourceQuota, Vmmrq } from '../objects.ts';
import type { Amount } from '../quantity.ts';
import { allowanceFrom, raiseBy } from '../quota/allowance.ts';
import { amountsOf, canonicalKey, sumOf, type Amounts, type Shortfall } from '../quota/charged.ts';
import { amountsToRaise } from '../quota/raise.ts';

/*
 * spec.total of a cluster-wide VMMRQ: the most that may be raised by it at the same time, in all namespaces together
 * (docs/adr/0030).
 */

/** The total of a VMMRQ, by canonical key; undefined: it has none. */
export const totalOf = ({ spec }: Vmmrq | ClusterVmmrq): Amounts | undefined =>
  'total' in spec ? amountsOf(spec.total) : undefined;

/** A quota, and by what its keys are raised. */
export interface RaisedKeys {
  readonly quota: ResourceQuota;
  readonly raises: readonly (readonly [string, Amount])[];
}

/**
 * What a raise takes of the total of one of the VMMRQs that give to it, by canonical key. Those without a total give first: so a
 * namespace whose own VMMRQ is enough takes nothing. With policy Fixed it is always all that the VMMRQ gives.
 */
export function takenOf(vmmrq: Vmmrq, givers: readonly Vmmrq[], { quota, raises }: RaisedKeys): Amounts {
  const total = totalOf(vmmrq);
  const own = allowanceFrom([vmmrq]);
  const first = allowanceFrom(givers.filter((giver) => totalOf(giver) === undefined));
  return sumOf(
    raises.flatMap(([key, more]) => {
      const canonical = canonicalKey(key);
      const taken = raiseBy(own(quota, key), more - first(quota, key).max);
      return taken > 0n && total?.has(canonical) === true ? [new Map([[canonical, taken]])] : [];
    }),
  );
}

/** What a lock of these quotas takes of the total of a VMMRQ: the same as its raise, if nothing changes before. */
export const takenByLock = (
  vmmrq: Vmmrq,
  givers: readonly Vmmrq[],
  quotas: readonly (Pick<QuotaToRaise, 'need'> & { readonly quota: ResourceQuota })[],
): Amounts =>
  sumOf(
    quotas.map(({ quota, need }) =>
      takenOf(vmmrq, givers, { quota, raises: amountsToRaise(quota, need, givers) }),
    ),
  );

/** The amounts by which the total is exceeded. */
export const beyondTotal = (total: Amounts, amounts: Amounts): Shortfall[] =>
  [...total].flatMap(([key, max]) => {
    const beyond = (amounts.get(key) ?? 0n) - max;
    return beyond > 0n ? [{ key, missing: beyond }] : [];
  });
