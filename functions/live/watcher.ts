import type { Cluster } from '../kubernetes/cluster.ts';
import { describeError } from '../kubernetes/errors.ts';
import { LIVE_WATCHER } from '../kubernetes/live-resources.ts';
import type { Log } from '../runtime/log.ts';
import { found } from './found.ts';

/**
 * Scales the watcher up, which brings the clusters' events; true: it was down. The guard scales it down after the last run. Never rejects:
 * without the watcher the guard's sweeps bring a run on.
 */
export async function startWatcher({
  hub,
  log,
}: {
  readonly hub: Cluster;
  readonly log: Log;
}): Promise<boolean> {
  try {
    const deployment = await found(hub.get(LIVE_WATCHER.type, LIVE_WATCHER.at));
    if (deployment === undefined || deployment.spec.replicas > 0) return false;
    await hub.patch(LIVE_WATCHER.type, LIVE_WATCHER.at, {
      merge: { spec: { replicas: 1 } },
      subresource: 'scale',
    });
    return true;
  } catch (error) {
    log('warn', `the watcher is not scaled up: ${describeError(error)}`);
    return false;
  }
}
