import { connect } from '../../functions/kubernetes/client.ts';
import type { Cluster, Reader } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { startControlPlane, type ControlPlane } from './controlplane/start.ts';

/** One of several clusters: etcd, API server, users and tokens of its own. */
export interface MemberCluster {
  readonly name: string;
  /** What tells it from any other cluster (`clusterIdOf`). */
  readonly id: string;
  /** With its kubeconfig. */
  readonly controlPlane: ControlPlane;
  readonly admin: Cluster;
}

export interface SeveralClusters<Name extends string> {
  readonly members: Readonly<Record<Name, MemberCluster>>;
  stop(): Promise<void>;
}

/** A cluster is the uid of its kube-system namespace, whatever URL it has. */
export const clusterIdOf = async (cluster: Pick<Reader, 'get'>): Promise<string> =>
  (await cluster.get(NAMESPACES, { name: 'kube-system' })).object.metadata.uid;

/** Starts a cluster for each name, all at once. `start`: how to get each control plane. Rejects, leaving nothing behind. */
export async function startClusters<Name extends string>(
  names: readonly Name[],
  start: () => Promise<ControlPlane> = startControlPlane,
): Promise<SeveralClusters<Name>> {
  const started = await Promise.allSettled(names.map(() => start()));
  const controlPlanes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(controlPlanes.map((controlPlane) => controlPlane.stop()));
  };
  try {
    for (const one of started) if (one.status === 'rejected') throw one.reason;
    const members = await Promise.all(
      controlPlanes.map(async (controlPlane, index): Promise<MemberCluster> => {
        const admin = connect(controlPlane.adminKubeconfig, 'admin');
        return { name: names[index] ?? '', id: await clusterIdOf(admin), controlPlane, admin };
      }),
    );
    const byName = Object.fromEntries(members.map((member) => [member.name, member]));
    return { members: byName as Record<Name, MemberCluster>, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
