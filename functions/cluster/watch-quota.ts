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

/** The quotas whose amounts (hard or used) changed within `withinMs`, as they are then; empty: none. Returns at the first change. */
export async function watchForChange(
  { cluster, clock }: { readonly cluster: Cluster; readonly clock: Clock },
  quotas: readonly ResourceQuota[],
  withinMs: number,
): Promise<readonly ResourceQuota[]> {
  const amounts = ({ spec, status }: ResourceQuota): string => JSON.stringify([spec.hard, status]);
  const first = new AbortController();
  const changed = await within(clock, withinMs, async (late) => {
    const signal = AbortSignal.any([first.signal, late]);
    const watches = quotas.map(async (quota) => {
      const until = (newer: ResourceQuota): boolean => amounts(newer) !== amounts(quota);
      const newer = await watchQuota(cluster, quota, { until, signal });
      if (newer !== undefined) first.abort();
      return newer ?? [];
    });
    return Promise.all(watches);
  });
  return changed.flat();
}
