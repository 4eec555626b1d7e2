/** Maximum number of concurrent calls: a tenant's many migrations must not fill the memory with requests. */
export const GROUP = 20;

/** Does `work` for each item, a group after the other. Rejects with the first error, after all of them. */
export async function inGroups<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const settled: PromiseSettledResult<R>[] = [];
  for (let from = 0; from < items.length; from += GROUP) {
    settled.push(...(await Promise.allSettled(items.slice(from, from + GROUP).map(work))));
  }
  const failed = settled.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}
