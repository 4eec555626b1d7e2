import type { PlanMigration } from '../../domain/live/forklift.ts';
import { hasOpenRun } from '../run/state.ts';
import type { Cluster } from '../../kubernetes/cluster.ts';
import { retryOnConflict } from '../../kubernetes/attempts.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { LIVE_WATCHER, PLAN_MIGRATIONS } from '../../kubernetes/live-resources.ts';
import type { Log } from '../../runtime/log.ts';
import { getOrUndefined } from '../read/get.ts';

/** Attempts after conflicts: others scale the Deployment at the same time, or its status changes. */
const ATTEMPTS = 4;

/**
 * Scales the watcher up, which brings the clusters' events; true if it was down. The guard scales it down after the last run. Never
 * rejects: without the watcher the guard's resyncs bring a run on.
 */
export async function scaleUpWatcher(
  migration: PlanMigration,
  { hub, log }: { readonly hub: Cluster; readonly log: Log },
): Promise<boolean> {
  try {
    return await retryOnConflict(ATTEMPTS, () => scaleUpOnce(migration, hub));
  } catch (error) {
    log('warn', `the watcher is not scaled up: ${describeError(error)}`);
    return false;
  }
}

/**
 * Scales the watcher up once. A call may be delayed until the guard has scaled the watcher down, and no later call would scale it down
 * again. So the run is read after the Deployment, and a Deployment that has changed since is a conflict.
 */
async function scaleUpOnce(
  { metadata: { namespace = '', name } }: PlanMigration,
  hub: Cluster,
): Promise<boolean> {
  const { type, at } = LIVE_WATCHER;
  const deployment = await getOrUndefined(hub.get(type, at));
  if (deployment === undefined || deployment.spec.replicas > 0) return false;
  const migration = await getOrUndefined(hub.get(PLAN_MIGRATIONS, { namespace, name }));
  if (migration === undefined || !hasOpenRun(migration)) return false;
  const { resourceVersion } = deployment.metadata;
  const merge = { metadata: { resourceVersion }, spec: { replicas: 1 } };
  await hub.patch(type, at, { merge, subresource: 'scale' });
  return true;
}
