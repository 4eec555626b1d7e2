import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import type { Binaries } from '../controlplane/binaries/ensure.ts';
import type { NODE_BINARIES } from '../controlplane/binaries/parts.ts';
import { failWhenOneEnds } from '../controlplane/children.ts';
import type { ForNode } from '../controlplane/flags.ts';
import { startControlPlane, type ControlPlane } from '../controlplane/start.ts';
import { startContainerd, type Containerd } from './containerd.ts';
import type { Images } from './images.ts';
import { KUBELET, NODE, SCHEDULER, startKubelet, startScheduler } from './kubelet.ts';
import { until } from './until.ts';

export type NodeBinaries = Binaries<(typeof NODE_BINARIES)[number]>;

export interface NodeOptions {
  readonly binaries: NodeBinaries;
  readonly folder: string;
  readonly cniPlugins: string;
  readonly images: Images;
  readonly cgroup: string;
  readonly say: (line: string) => void;
}

/** A control plane with one real node. Nothing stops it: it ends with the namespaces that it is in. */
export interface NodeCluster {
  readonly controlPlane: ControlPlane;
  readonly containerd: Containerd;
  readonly admin: Cluster;
  /** Rejects when one of the processes ends. */
  readonly broken: Promise<never>;
}

const WITHIN_MS = 60_000;

/** What runs our pods, and what makes them of a Deployment and finds them for a Service. */
const WITH_NODE: ForNode = {
  // The port of the Service `kubernetes`, on whose address it is reached (private-machine.ts).
  port: 443,
  apiServerFlags: [
    '--bind-address=0.0.0.0',
    // Besides RBAC: a list is added to.
    '--authorization-mode=Node',
    '--enable-admission-plugins=NodeRestriction',
    // It reaches a webhook's pods by the endpoints of its Service, not by the Service's address: there is no kube-proxy.
    '--enable-aggregator-routing=true',
  ],
  controllers: [
    'deployment-controller',
    'replicaset-controller',
    'endpoints-controller',
    'endpointslice-controller',
    'disruption-controller',
    // Takes the taint off a node that is ready.
    'node-lifecycle-controller',
  ],
};

interface Node extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const NODES: ResourceType<Node> = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };

/** Starts all of it; resolves when the node is ready. */
export async function startNodeCluster(options: NodeOptions): Promise<NodeCluster> {
  const { folder, say, binaries, cgroup } = options;
  say('starting etcd, kube-apiserver and kube-controller-manager');
  const controlPlane = await startControlPlane({ users: [KUBELET, SCHEDULER], withNode: WITH_NODE });
  say('starting containerd, and importing the image');
  const containerd = await startContainerd(options);
  say('starting kubelet and kube-scheduler');
  const kubelet = await startKubelet({
    binary: binaries.kubelet,
    folder,
    kubeconfig: await controlPlane.kubeconfigForUser(KUBELET),
    socket: containerd.socket,
    cgroup,
  });
  const scheduler = await startScheduler({
    binary: binaries['kube-scheduler'],
    folder,
    kubeconfig: await controlPlane.kubeconfigForUser(SCHEDULER),
  });
  const broken = failWhenOneEnds([containerd.child, kubelet, scheduler]);
  const admin = connect(controlPlane.adminKubeconfig, 'admin');
  await Promise.race([
    until(
      WITHIN_MS,
      () => nodeIsReady(admin),
      () => kubelet.logTail(),
    ),
    broken,
  ]);
  return { controlPlane, containerd, admin, broken };
}

/** Undefined when it is; else what is not. */
async function nodeIsReady(admin: Cluster): Promise<string | undefined> {
  const { items } = await admin.list(NODES, {});
  const node = items.find(({ metadata }) => metadata.name === NODE);
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True'
    ? undefined
    : `the node is not ready: ${JSON.stringify(ready ?? 'not registered')}`;
}
