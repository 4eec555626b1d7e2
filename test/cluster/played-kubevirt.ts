import { connect } from '../../functions/kubernetes/client.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import type { ControlPlane } from './controlplane/start.ts';
import { createNodes } from './kubevirt/objects/node-objects.ts';
import { announce, reportObserved } from './kubevirt/operator.ts';
import type { Release } from './kubevirt/objects/release.ts';
import { NODE_NAMES, startKubeVirt, type KubeVirtOptions, type KubeVirtStandIn } from './kubevirt/start.ts';
import { startVirtApi } from './kubevirt/virt-api/virt-api.ts';

export interface PlayedOptions extends Pick<
  KubeVirtOptions,
  'timings' | 'release' | 'backoffMs' | 'updateThrottleMs' | 'heartbeatMs'
> {
  /** With Node objects and virt-api's webhooks, as `kubectl drain` needs them. */
  readonly drains?: boolean;
}

/** The KubeVirt stand-in of a local cluster, whose virt-controller can be restarted. */
export interface PlayedKubeVirt {
  stopController(): Promise<void>;
  /** With the release that it last had. */
  startController(): Promise<void>;
  /** Where a KubeVirt CR exists. Resolves when the CR says that the release is observed. */
  upgrade(release: Release): Promise<void>;
  stop(): Promise<void>;
}

const notOurs = (): Promise<never> => Promise.reject(new Error('this cluster does not play its KubeVirt'));

/** Of a control plane whose KubeVirt others start and stop. */
export const PLAYED_BY_OTHERS: PlayedKubeVirt = {
  stopController: notOurs,
  startController: notOurs,
  upgrade: notOurs,
  stop: () => Promise.resolve(),
};

export async function playKubeVirt(
  admin: Cluster,
  controlPlane: ControlPlane,
  { drains = false, ...options }: PlayedOptions,
): Promise<PlayedKubeVirt> {
  const accountOf = async (name: string): Promise<Cluster> =>
    connect(await controlPlane.kubeconfigFor({ namespace: 'kubevirt', name }));
  const cluster = await accountOf('kubevirt-controller');
  const virtApi = drains
    ? await startVirtApi({ admin, cluster: await accountOf('kubevirt-apiserver'), ...releaseIn(options) })
    : undefined;
  if (drains) await createNodes(admin, NODE_NAMES);
  let current = releaseIn(options);
  const start = (): Promise<KubeVirtStandIn> => startKubeVirt({ cluster, ...options, ...current });
  let controller = await start();
  return {
    stopController: () => controller.stop(),
    startController: async () => {
      controller = await start();
    },
    upgrade: async (release) => {
      current = { release };
      await announce(admin, release);
      await controller.stop();
      controller = await start();
      await reportObserved(admin, release);
    },
    stop: async () => {
      await controller.stop();
      await virtApi?.stop();
    },
  };
}

const releaseIn = ({ release }: PlayedOptions): { readonly release?: Release } =>
  release === undefined ? {} : { release };
