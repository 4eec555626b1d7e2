export type Unit = 'ms' | '×' | 'requests' | 'MiB' | 'times';

/** A row of the table. */
export interface Figure {
  /** The heading above the row. */
  readonly group: string;
  readonly name: string;
  readonly unit: Unit;
  /** The samples in the order of measurement. */
  readonly samples: readonly number[];
  /** The quantile to print. Default: the median. */
  readonly share?: number;
  /** The target, if any. */
  readonly target?: number;
}

/** Details that only `--profile` prints. */
export interface Detail {
  readonly heading: string;
  readonly lines: readonly string[];
}

export interface Measurements {
  readonly figures: readonly Figure[];
  readonly details?: readonly Detail[];
}

/** The options of every measurement, from the command line. */
export interface MeasureOptions {
  /** Number of samples of each figure. */
  readonly cycles: number;
  readonly onProgress: (line: string) => void;
}

export interface Summary {
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly count: number;
  /** Whether the target is met; undefined without a target. A figure without samples misses its target. */
  readonly isMet: boolean | undefined;
}

/** Returns the summary of the samples, NaN where there are none. */
export function summaryOf({ samples, share = 0.5, target }: Figure): Summary {
  const value = quantile(samples, share);
  return {
    value,
    min: quantile(samples, 0),
    max: quantile(samples, 1),
    count: samples.length,
    isMet: target === undefined ? undefined : value <= target,
  };
}

/** `share` in 0…1; between two samples it interpolates, so 0.5 is the median. NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((one, other) => one - other);
  const rank = share * (sorted.length - 1);
  const [lower, upper] = [sorted[Math.floor(rank)] ?? NaN, sorted[Math.ceil(rank)] ?? NaN];
  return lower + (upper - lower) * (rank % 1);
}

/** The ratio of each pair, so that a slow minute of the machine, which affects both, cancels out. Omits a sample without a partner. */
export function ratios(measured: readonly number[], base: readonly number[]): number[] {
  return measured.slice(0, base.length).map((value, index) => value / (base[index] ?? NaN));
}
