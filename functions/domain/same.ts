/** Whether two stored values are equal: the API server reorders keys, and leaves out undefined ones. */
export const isSame = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other);

/** Returns the JSON of a value with the keys of each object in order. */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
