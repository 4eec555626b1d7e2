const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** Formats a time span as kubectl prints it, by its two largest units: "75s" is "1m15s". Negative spans count as none. */
export function formatAge(ms: number): string {
  let left = Math.max(0, Math.floor(ms / 1_000));
  const parts = UNITS.flatMap(([unit, seconds]) => {
    const count = Math.floor(left / seconds);
    left -= count * seconds;
    return count === 0 ? [] : [`${String(count)}${unit}`];
  });
  return parts.slice(0, 2).join('') || '0s';
}
