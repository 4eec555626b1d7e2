import { isHeldForRun } from '../../functions/live/run/state.ts';
import { LISTED_PLAN_MIGRATIONS } from '../../functions/live/read/listed-live.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { LIVE_WATCHER } from '../../functions/kubernetes/live-resources.ts';

/**
 * Scales the watcher of other clusters down; `held`: it stays up, because objects are held for a run. `live` may have started one since the
 * guard last looked, so the Migrations are listed again before, and a Deployment that has changed since is a conflict.
 */
export async function scaleDownWatcher(cluster: Cluster): Promise<'scaled down' | 'down' | 'held'> {
  const { at, type } = LIVE_WATCHER;
  const deployment = (await ignoreNotFound(cluster.get(type, at)))?.object;
  if (deployment === undefined || deployment.spec.replicas === 0) return 'down';
  const { items } = await cluster.list(LISTED_PLAN_MIGRATIONS, {});
  if (items.some(isHeldForRun)) return 'held';
  const { resourceVersion } = deployment.metadata;
  const merge = { metadata: { resourceVersion }, spec: { replicas: 0 } };
  await cluster.patch(type, at, { merge, subresource: 'scale' });
  return 'scaled down';
}
