/** At most this many at once: a tenant's many migrations must not fill the memory with requests. */
const GROUP = 20;

/** Does `work` for each item, a group after the other; rejects with the first error of a group. */
export async function inGroups<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += GROUP) {
    results.push(...(await Promise.all(items.slice(from, from + GROUP).map(work))));
  }
  return results;
}
