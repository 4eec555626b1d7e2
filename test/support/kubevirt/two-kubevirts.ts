import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { BUNDLE, CONFIG_MAPS, EXTERNAL, TRUSTED } from '../../cluster/kubevirt/decentralized/authorities.ts';
import { SynchronizationNetwork } from '../../cluster/kubevirt/decentralized/network.ts';
import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import { Transfers } from '../../cluster/kubevirt/decentralized/transfers.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import { deploy, reportAddresses } from '../../cluster/kubevirt/operator.ts';
import { RELEASE } from '../../cluster/kubevirt/objects/release.ts';
import { startKubeVirt, type KubeVirtOptions, type KubeVirtStandIn } from '../../cluster/kubevirt/start.ts';
import { newAuthority } from '../../cluster/serving-certificate.ts';
import { startClusters, type MemberCluster } from '../../cluster/several-clusters.ts';
import { freshControlPlane } from '../environment/control-plane.ts';
import { createNamespace } from './harness.ts';
import { recordHistory, type Recording } from './history.ts';
import { PAIR_KINDS, type KubeVirtPair, type PairSide } from './pair.ts';

const SIDES = ['source', 'target'] as const;
const ADDRESSES = { source: '10.8.0.1:9185', target: '10.8.0.2:9185' };
const HOME = 'kubevirt';
/** Far longer than needed, so that a slow machine causes no failure. */
const WITHIN_MS = 90_000;

/** Two control planes, each with a KubeVirt stand-in, that reach each other. */
export interface TwoKubeVirts {
  readonly network: SynchronizationNetwork;
  readonly transfers: Transfers;
  readonly members: Readonly<Record<Side, MemberCluster>>;
  /** Works in one new namespace of each cluster, `<namespace>-<side>`; the two do not trust each other afterwards. `work` sees every version in them. */
  within<T>(namespace: string, work: (pair: KubeVirtPair) => Promise<T>): Promise<T>;
  /** Both stand-ins; the control planes go on. */
  stopKubeVirts(): Promise<void>;
  stop(): Promise<void>;
}

export interface PairOptions {
  /** "one cluster" is the source and the target, each with namespaces of its own. */
  readonly of?: 'two clusters' | 'one cluster';
  readonly keepsSides?: boolean;
  /** How many nodes each cluster has; one when left out, so that a second pod gets the same node, as in the recordings. */
  readonly nodes?: number;
}

export async function startTwoKubeVirts(
  timings: KubeVirtOptions['timings'] = {},
  { of = 'two clusters', keepsSides = false, nodes: count = 1 }: PairOptions = {},
): Promise<TwoKubeVirts> {
  const homes: Readonly<Record<Side, Side>> = {
    source: 'source',
    target: of === 'one cluster' ? 'source' : 'target',
  };
  const clusters = await startClusters([...new Set(Object.values(homes))], freshControlPlane);
  const members = { source: clusters.members[homes.source], target: clusters.members[homes.target] };
  const network = new SynchronizationNetwork();
  const transfers = new Transfers({ keepsSides });
  const authorities = { source: newAuthority(), target: newAuthority() };
  const standIns = new Map<Side, KubeVirtStandIn>();
  const stopKubeVirts = async (): Promise<void> => {
    const running = [...standIns.values()];
    standIns.clear();
    await Promise.all(running.map((standIn) => standIn.stop()));
  };
  const stop = async (): Promise<void> => {
    await stopKubeVirts();
    await clusters.stop();
  };
  const start = async (side: Side): Promise<void> => {
    const authority = authorities[side];
    const acrossClusters = { network, transfers, address: ADDRESSES[side], authority };
    const cluster = await installedIn(members[side], ADDRESSES[side]);
    const nodes = Array.from({ length: count }, (_, index) => `${side}-node${String(index + 1)}`);
    standIns.set(side, await startKubeVirt({ cluster, nodes, acrossClusters, timings }));
  };
  try {
    await Promise.all([...new Set(Object.values(homes))].map(start));
    const sideIn = (side: Side, namespace: string, { versions }: Recording): PairSide => ({
      admin: members[side].admin,
      namespace: `${namespace}-${side}`,
      versions,
      address: ADDRESSES[homes[side]],
      restartSynchronization: async () => standIns.get(homes[side])?.restartSynchronization(),
      stopSynchronization: async () => standIns.get(homes[side])?.stopSynchronization(),
    });
    return {
      network,
      transfers,
      members,
      stopKubeVirts,
      stop,
      async within(namespace, work) {
        const recordings = await Promise.all(
          SIDES.map(async (side) => {
            await distrust(members[side].admin, authorities[homes[side]]);
            await createNamespace(members[side].admin, `${namespace}-${side}`);
            const { admin, controlPlane } = members[side];
            const wasAway = (): boolean => controlPlane.wasAway;
            return recordHistory(admin, `${namespace}-${side}`, { kinds: PAIR_KINDS, wasAway });
          }),
        );
        const [from, to] = recordings as [Recording, Recording];
        try {
          const pair = {
            source: sideIn('source', namespace, from),
            target: sideIn('target', namespace, to),
            until: untilIn(recordings),
            network,
            transfers,
          };
          return await work(pair);
        } finally {
          await Promise.all(recordings.map((recording) => recording.stop()));
        }
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Resolves with the account of virt-controller. */
async function installedIn({ admin, controlPlane }: MemberCluster, address: string): Promise<Cluster> {
  await installKubeVirt(admin);
  await deploy(admin, {}, RELEASE);
  await reportAddresses(admin, [address]);
  return connect(await controlPlane.kubeconfigFor({ namespace: HOME, name: 'kubevirt-controller' }));
}

/** Its KubeVirt trusts no other cluster any more. */
async function distrust(admin: Cluster, authority: string): Promise<void> {
  for (const [name, bundle] of [
    [EXTERNAL, ''],
    [TRUSTED, authority],
  ] as const) {
    const merge = { data: { [BUNDLE]: bundle } };
    await admin.patch(CONFIG_MAPS, { namespace: HOME, name }, { merge });
  }
}

/** A condition that asks the API server is asked again at once; any other one with every new version. */
const untilIn =
  (recordings: readonly Recording[]): KubeVirtPair['until'] =>
  async (what, holds) => {
    const giveUp = AbortSignal.timeout(WITHIN_MS);
    const isOver = new Promise<void>((resolve) => giveUp.addEventListener('abort', () => resolve()));
    for (;;) {
      const next = recordings.map((recording) => recording.next());
      const answer = holds();
      if (await answer) return;
      if (giveUp.aborted) throw new Error(`not within ${String(WITHIN_MS)} ms: ${what}`);
      if (typeof answer === 'boolean') await Promise.race([...next, isOver]);
    }
  };
