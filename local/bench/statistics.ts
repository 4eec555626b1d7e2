/** The value below which this share of the samples lies (nearest rank); NaN of none. `share` in 0…1. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((one, other) => one - other);
  const rank = Math.ceil(share * sorted.length);
  return sorted[Math.max(rank, 1) - 1] ?? NaN;
}

/** The middle one; of an even number the mean of the two in the middle; NaN of none. */
export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const [lower, upper] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return lower === undefined || upper === undefined ? NaN : (lower + upper) / 2;
}

/**
 * `measured` in units of `base`, pair by pair: what slows the machine down for a while slows both, and drops out. What one
 * of them has more of is left out.
 */
export function ratios(measured: readonly number[], base: readonly number[]): number[] {
  return measured.flatMap((value, index) => {
    const unit = base[index];
    return unit === undefined || unit === 0 ? [] : [value / unit];
  });
}
