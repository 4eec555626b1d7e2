/** What a JSON merge patch has to say. Pure. */

/** The merge patch that turns one object into the other; {} where they are the same. Lists are replaced as a whole. */
export function mergeBetween(before: unknown, after: object): Record<string, unknown> {
  const old = isMap(before) ? before : {};
  const removed = Object.keys(old)
    .filter((key) => (after as Record<string, unknown>)[key] === undefined)
    .map((key) => [key, null] as const);
  const changed = Object.entries(after)
    .filter(([key, value]) => value !== undefined && !isSame(old[key], value))
    .map(([key, value]: [string, unknown]) => [
      key,
      isMap(value) && isMap(old[key]) ? mergeBetween(old[key], value) : value,
    ]);
  return Object.fromEntries([...removed, ...changed]) as Record<string, unknown>;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** By value; the order of keys does not matter, undefined is a missing field. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]));
  if (!isMap(one) || !isMap(other)) return false;
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].every((key) => isSame(one[key], other[key]));
}
