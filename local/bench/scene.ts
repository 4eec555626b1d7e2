import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import { startLocalCluster, type LocalCluster, type LocalClusterOptions } from '../cluster.ts';
import { Traces } from '../demo/traces.ts';
import { Watching } from '../demo/watching.ts';
import { RequestLog } from './requests.ts';

/** One installation, with all that is known of what happens in it. */
export interface Scene {
  readonly cluster: LocalCluster;
  readonly admin: Cluster;
  readonly watching: Watching;
  readonly traces: Traces;
  readonly requests: RequestLog;
  /** What the Broker is sent about this namespace is lost from now on: nobody of ours works for it. */
  readonly silence: (namespace: string) => void;
  readonly stop: () => Promise<void>;
}

/** Functions stay until they are killed: when they start is what is measured. One API server needs no time to settle. */
const CONDITIONS = { inPods: true, idleMs: 24 * 60 * 60 * 1_000, timings: { migrationMs: 100 } };

export async function startScene(options: LocalClusterOptions): Promise<Scene> {
  const traces = new Traces();
  const { onHop, onActivity, onLog } = traces;
  const env = { SETTLE_MS: '0', ...options.env };
  const cluster = await startLocalCluster({ ...CONDITIONS, ...options, env, onHop, onActivity, onLog });
  const watching = new Watching();
  await watching.start(cluster.admin);
  const silent = new Set<string>();
  cluster.eventing.broker.lose(({ event: { attributes } }) =>
    silent.has(attributes['namespace'] ?? attributes['subject'] ?? ''),
  );
  return {
    cluster,
    admin: cluster.admin,
    watching,
    traces,
    requests: new RequestLog(cluster.controlPlane.auditLog),
    silence: (namespace) => silent.add(namespace),
    stop: async () => {
      await watching.stop();
      await cluster.stop();
    },
  };
}

/** Far longer than anything takes here. */
export const PATIENCE_MS = 600_000;

/** Rejects when it never holds. */
export async function until({ watching }: Scene, what: string, holds: () => boolean): Promise<void> {
  const held = await watching.until(holds, AbortSignal.timeout(PATIENCE_MS));
  if (!held) throw new Error(`not within ${PATIENCE_MS / 1_000} s: ${what}`);
}

const QUIET_MS = 250;

/** Resolves when no event is on its way and nobody of ours has asked the API server anything for a while. */
export async function untilQuiet({ cluster, requests }: Scene): Promise<void> {
  do {
    await cluster.eventing.broker.idle();
    requests.read();
    await delay(QUIET_MS);
  } while (requests.read() > 0);
}

/** What a quota refuses no migration with; as the API server writes these amounts. */
const ROOM = { 'requests.cpu': '999', 'requests.memory': '999Gi', pods: '999' };

/** From now on nothing is refused in these namespaces. */
export async function makeRoom(scene: Scene, namespaces: readonly string[]): Promise<void> {
  const quotas = namespaces.flatMap((namespace) => scene.watching.all('ResourceQuota', namespace));
  for (const { metadata } of quotas) {
    const { name, namespace = '' } = metadata;
    await scene.admin.patch(RESOURCE_QUOTAS, { name, namespace }, { merge: { spec: { hard: ROOM } } });
  }
  await until(scene, 'the quotas have room', () =>
    quotas.every(({ metadata: { name, namespace } }) => {
      const hard = scene.watching.find('ResourceQuota', name, namespace)?.status?.hard ?? {};
      return Object.entries(ROOM).every(([key, amount]) => hard[key] === amount);
    }),
  );
}
