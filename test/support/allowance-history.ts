import { amountsGiven, type Amounts } from '../../functions/domain/quota/charged.ts';
import type { Vmmrq } from '../../functions/domain/objects.ts';
import type { Amount } from '../../functions/domain/quantity.ts';

interface Given {
  readonly amounts: Amounts;
  /** Hundredths of what a quota has. */
  readonly share: bigint;
}

/** The most that the VMMRQs gave at any moment, all of them, and those that say Fixed. */
export class AllowanceHistory {
  readonly #all: Given[] = [];
  readonly #fixed: Given[] = [];

  /** The VMMRQs as they are from now on. */
  see(vmmrqs: readonly Vmmrq[]): void {
    this.#all.push(givenBy(vmmrqs));
    this.#fixed.push(givenBy(vmmrqs.filter(({ spec }) => spec.raisePolicy === 'Fixed')));
  }

  /** Of this canonical key, to a quota that has so much of it. */
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
