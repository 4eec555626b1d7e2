import { median, quantile } from './statistics.ts';

export type Unit = 'ms' | '×' | 'requests' | 'MiB' | 'times';

/** One thing that was measured, and how often it came out as what. */
export interface Figure {
  /** What was going on: a heading in the table. */
  readonly group: string;
  readonly name: string;
  readonly unit: Unit;
  /** In the order in which they were taken. */
  readonly samples: readonly number[];
  /** What is quoted: a share of the samples lies below it; left out: the median. */
  readonly share?: number;
  /** The target, where there is one. */
  readonly atMost?: number;
}

export interface Summary {
  readonly value: number;
  readonly least: number;
  readonly most: number;
  readonly count: number;
}

/** What is quoted of a figure, and how far its samples lie apart. NaN where nothing was measured. */
export function summaryOf({ samples, share }: Figure): Summary {
  return {
    value: share === undefined ? median(samples) : quantile(samples, share),
    least: quantile(samples, 0),
    most: quantile(samples, 1),
    count: samples.length,
  };
}

/** undefined: there is no target. What was not measured misses it. */
export function isMet(figure: Figure): boolean | undefined {
  return figure.atMost === undefined ? undefined : summaryOf(figure).value <= figure.atMost;
}
