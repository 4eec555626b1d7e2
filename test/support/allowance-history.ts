import { amountsGiven, type Amounts } from '../../functions/domain/quota/charged.ts';
import type { Vmmrq } from '../../functions/domain/objects.ts';
import type { Amount } from '../../functions/domain/quantity.ts';

interface Given {
  readonly amounts: Amounts;
  /** Percentage of a quota's amount. */
  readonly share: bigint;
}

/** The largest allowance at any moment: of all VMMRQs, and of those with policy Fixed. */
export class AllowanceHistory {
  readonly #all: Given[] = [];
  readonly #fixed: Given[] = [];

  /** Records the current VMMRQs. */
  see(vmmrqs: readonly Vmmrq[]): void {
    this.#all.push(givenBy(vmmrqs));
    this.#fixed.push(givenBy(vmmrqs.filter(({ spec }) => spec.raisePolicy === 'Fixed')));
  }

  /** The allowance of this canonical key for a quota with this amount. */
  of(key: string, hard: Amount): { readonly max: Amount; readonly fixed: Amount } {
    const max = (of: readonly Given[]): Amount =>
      of
        .map(({ amounts, share }) => (amounts.get(key) ?? 0n) + (hard * share) / 100n)
        .reduce((one, other) => (one > other ? one : other), 0n);
    return { max: max(this.#all), fixed: max(this.#fixed) };
  }
}

const givenBy = (vmmrqs: readonly Vmmrq[]): Given => ({
  amounts: amountsGiven(vmmrqs),
  share: vmmrqs
    .map(({ spec }) => BigInt((spec.additionalMigrationPercentage ?? '0%').slice(0, -1)))
    .reduce((sum, each) => sum + each, 0n),
});
