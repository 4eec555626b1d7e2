import { amountsGiven, type Amounts } from '../../../functions/domain/quota/charged.ts';
import type { LockedMigration } from '../../../functions/domain/lock.ts';
import type { ClusterVmmrq, Namespace, Vmmrq } from '../../../functions/domain/objects.ts';
import type { Amount } from '../../../functions/domain/quantity.ts';

interface Given {
  readonly amounts: Amounts;
  /** Percentage of a quota's amount. */
  readonly share: bigint;
}

/** A key of a quota, and the migrations that it is raised for. */
export interface Wanted {
  /** Canonical. */
  readonly key: string;
  /** The quota's own amount. */
  readonly hard: Amount;
  readonly migrations: readonly Pick<LockedMigration, 'purpose' | 'receives'>[];
}

/** The largest allowance at any moment: of the VMMRQs that give to each of the migrations, and of those with policy Fixed. */
export class AllowanceHistory {
  readonly #moments: (readonly Vmmrq[])[] = [];

  /** Records the VMMRQs that hold in the namespace now, cluster-wide ones too. */
  see(vmmrqs: readonly Vmmrq[]): void {
    this.#moments.push(vmmrqs);
  }

  /** The allowance of this key for these migrations. */
  of({ key, hard, migrations }: Wanted): { readonly max: Amount; readonly fixed: Amount } {
    const most = (isCounted: (vmmrq: Vmmrq) => boolean): Amount =>
      this.#moments
        .map((vmmrqs) => vmmrqs.filter((vmmrq) => migrations.every((each) => givesTo(vmmrq, each))))
        .map((vmmrqs) => givenBy(vmmrqs.filter(isCounted)))
        .map(({ amounts, share }) => (amounts.get(key) ?? 0n) + (hard * share) / 100n)
        .reduce((one, other) => (one > other ? one : other), 0n);
    return { max: most(() => true), fixed: most(({ spec }) => spec.raisePolicy === 'Fixed') };
  }
}

/** The rules of spec.purposes and spec.allowReceive, written a second time: the product's own must not check themselves. */
function givesTo({ metadata, spec }: Vmmrq, { purpose, receives }: Wanted['migrations'][number]): boolean {
  const isClusterWide = metadata.namespace === undefined;
  const purposes = spec.purposes ?? (isClusterWide ? ['Evacuation', 'WorkloadUpdate'] : undefined);
  const isFor = purposes === undefined || purposes.some((each) => each === purpose);
  return isFor && (receives !== true || spec.allowReceive === true);
}

/**
 * Those that hold in the namespace, by the labels of any of these versions: a raise may have read a VMMRQ before one label
 * changed, and the labels after it. The cluster-wide ones in tests select by single labels only.
 */
export const holding = (vmmrqs: readonly Vmmrq[], versions: readonly Namespace[]): Vmmrq[] =>
  vmmrqs.filter(({ spec }) => {
    const { namespaceSelector } = spec as Partial<ClusterVmmrq['spec']>;
    return versions.some(({ metadata: { labels = {} } }) => hasAll(namespaceSelector?.matchLabels, labels));
  });

const hasAll = (
  wanted: Readonly<Record<string, string>> = {},
  labels: Readonly<Record<string, string>>,
): boolean => Object.entries(wanted).every(([key, value]) => labels[key] === value);

const givenBy = (vmmrqs: readonly Vmmrq[]): Given => ({
  amounts: amountsGiven(vmmrqs),
  share: vmmrqs
    .map(({ spec }) => BigInt((spec.additionalMigrationPercentage ?? '0%').slice(0, -1)))
    .reduce((sum, each) => (sum + each > 100n ? 100n : sum + each), 0n),
});
