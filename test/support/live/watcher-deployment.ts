import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { follow } from '../../../functions/kubernetes/follow.ts';
import { LIVE_WATCHER } from '../../../functions/kubernetes/live-resources.ts';
import type { LocalCluster } from '../../cluster/cluster.ts';
import { confined } from '../../cluster/confined.ts';
import { declaredBy, deploymentIn } from '../../cluster/guard.ts';
import { startChild, type Child } from '../../cluster/controlplane/children.ts';
import { Recorded } from '../eventually.ts';

const BUNDLE = fileURLToPath(new URL('../../../dist/live-watcher.mjs', import.meta.url));

export interface WatcherDeployment {
  /** Of its scale, as wanted: 0, 1, 0 … */
  readonly replicas: Recorded<number>;
  stop(): Promise<void>;
}

/** Runs the watcher's process while its Deployment wants one, as the deployment controller and the kubelet would. */
export async function runWatcherDeployment({
  admin,
  controlPlane,
  eventing,
  objects,
}: LocalCluster): Promise<WatcherDeployment> {
  const { namespace, name } = LIVE_WATCHER.at;
  const deployment = deploymentIn(objects, name);
  await admin.create(LIVE_WATCHER.type, deployment as never);
  const replicas = new Recorded<number>(String);
  const over = new AbortController();
  const kubeconfig = await controlPlane.kubeconfigFor(LIVE_WATCHER.at);
  let last: Promise<Child | undefined> = Promise.resolve(undefined);
  const start = (): Promise<Child> => {
    const { env: declared, flags } = declaredBy(deployment, eventing.rewrite);
    const env = {
      PATH: process.env['PATH'],
      ...declared,
      KUBECONFIG: kubeconfig,
      LIVE_MIGRATION: 'loopback',
    };
    const logFile = join(controlPlane.folder, `${name}.log`);
    return startChild({ name, command: process.execPath, args: confined(BUNDLE, env, flags), env, logFile });
  };
  const scale = (wanted: number): void => {
    if (replicas.items.at(-1) === wanted) return;
    replicas.add(wanted);
    last = last.then(async (child) => {
      await child?.stop();
      return wanted > 0 ? start() : undefined;
    });
  };
  const where = { namespace, fieldSelector: `metadata.name=${name}` };
  const following = follow(
    admin,
    { type: LIVE_WATCHER.type, where, signal: over.signal },
    {
      onList: (found) => scale(found[0]?.spec.replicas ?? 0),
      onChange: ({ spec }) => scale(spec.replicas),
      onGone: () => scale(0),
      onError: (error) => process.stdout.write(`the watcher's Deployment: ${describeError(error)}\n`),
    },
  );
  return {
    replicas,
    stop: async () => {
      over.abort();
      await following;
      await (await last)?.stop();
    },
  };
}
