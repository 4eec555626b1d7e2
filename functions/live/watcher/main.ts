import { postCloudEvent } from '../../eventing/post.ts';
import { reachApiServer } from '../../kubernetes/api-server.ts';
import type { ApiServer } from '../../kubernetes/cluster.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { refusingOwnPods } from '../read/cluster-addresses.ts';
import { Remotes } from '../read/remote.ts';
import { identifyCluster, readProvider } from '../read/providers.ts';
import { systemClock } from '../../runtime/clock.ts';
import { newLog } from '../../runtime/log.ts';
import { readGuardSettings } from '../../runtime/settings.ts';
import { LiveWatcher, type RemoteCluster } from './live-watcher.ts';
import type { ProviderAt } from './wanted.ts';

/** Bytes for the answers of other clusters: this process may have 64 MiB of heap (config/components/live-migration/watcher.yaml). */
const MAX_REMOTE_BYTES = 12 * 1024 * 1024;

/** Watches the clusters of VMs that move. `live` scales it up, and the guard down. */
async function main(): Promise<void> {
  const settings = readGuardSettings(process.env);
  const log = newLog(settings.LOG_LEVEL, { process: 'live-watcher' });
  const hub = await reachApiServer(settings);
  const allowLoopback = settings.LIVE_MIGRATION === 'loopback';
  const remotes = new Remotes({
    allowLoopback,
    isRefused: refusingOwnPods(hub, settings.PROVIDER_NETWORKS),
    maxKeptBytes: MAX_REMOTE_BYTES,
    memoryBytes: MAX_REMOTE_BYTES,
    ...{ clock: systemClock, log },
  });
  const sink = { url: settings.K_SINK ?? '', tokenFile: settings.K_SINK_TOKEN };
  const watcher = new LiveWatcher({
    ...{ cluster: hub, clock: systemClock, log },
    post: (event) => postCloudEvent(sink, event),
    connect: newConnect(hub, remotes),
  });
  const stopping = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stopping.abort());
  await watcher.run(stopping.signal);
  process.exit(0);
}

/** Connects to the cluster of the plans by the rights of this process, to another one by the token of its provider. */
const newConnect =
  (hub: ApiServer, remotes: Remotes) =>
  async (provider: ProviderAt): Promise<RemoteCluster | undefined> => {
    const found = await readProvider(provider, { hub, remotes });
    if (found?.cluster === undefined) return undefined;
    const asked = await identifyCluster(found.cluster);
    return asked.answer.kind === 'ok' && 'id' in asked ? { cluster: found.cluster, id: asked.id } : undefined;
  };

main().catch((error: unknown) => {
  process.stderr.write(`cannot start: ${describeError(error)}\n`);
  process.exit(1);
});
