import { within, type Clock } from '../runtime/clock.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { isGone } from '../kubernetes/errors.ts';
import { RESOURCE_QUOTAS } from '../kubernetes/resources.ts';

/** The first newer version of the quota that `until` accepts; undefined when the signal aborts before, or it is deleted. */
async function watchQuota(
  cluster: Cluster,
  quota: ResourceQuota,
  { until, signal }: { until: (quota: ResourceQuota) => boolean; signal: AbortSignal },
): Promise<ResourceQuota | undefined> {
  if (until(quota)) return quota;
  const { namespace = '', name, resourceVersion } = quota.metadata;
  const from = { namespace, fieldSelector: `metadata.name=${name}`, resourceVersion, timeoutSeconds: 10 };
  try {
    for await (const { type, object } of cluster.watch(RESOURCE_QUOTAS, from, signal)) {
      if (type === 'DELETED') return undefined;
      if (type !== 'BOOKMARK' && until(object)) return object;
    }
  } catch (error) {
    if (!signal.aborted && !isGone(error)) throw error;
  }
  return undefined;
}

/** Whether the amounts of any of these quotas (hard or used) changed within `withinMs`. Returns at the first change. */
export async function watchForChange(
  { cluster, clock }: { readonly cluster: Cluster; readonly clock: Clock },
  quotas: readonly ResourceQuota[],
  withinMs: number,
): Promise<boolean> {
  const amounts = ({ spec, status }: ResourceQuota): string => JSON.stringify([spec.hard, status]);
  const first = new AbortController();
  const changes = await within(clock, withinMs, async (late) => {
    const signal = AbortSignal.any([first.signal, late]);
    const watches = quotas.map(async (quota) => {
      const until = (newer: ResourceQuota): boolean => amounts(newer) !== amounts(quota);
      const changed = (await watchQuota(cluster, quota, { until, signal })) !== undefined;
      if (changed) first.abort();
      return changed;
    });
    return Promise.all(watches);
  });
  return changes.includes(true);
}
