import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { BUNDLE, CONFIG_MAPS, EXTERNAL, TRUSTED } from '../../cluster/kubevirt/decentralized/authorities.ts';
import type { SynchronizationNetwork } from '../../cluster/kubevirt/decentralized/network.ts';
import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import type { Transfers } from '../../cluster/kubevirt/decentralized/transfers.ts';
import {
  FULL_CLAIMS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  RECORDED_EVENTS,
  VMS,
} from '../../cluster/kubevirt/objects/objects.ts';
import type { Version } from './history.ts';

/** One of two clusters with a KubeVirt each, and one namespace in it. */
export interface PairSide {
  readonly admin: Cluster;
  readonly namespace: string;
  /** Every version of the namespace's objects so far, of the kinds below. */
  readonly versions: readonly Version[];
  /** Of its synchronization controller. */
  readonly address: string;
  restartSynchronization(): Promise<void>;
  /** As a lost lease without another replica, until the restart. */
  stopSynchronization(): Promise<void>;
}

/** On real API servers, or in virtual time. */
export type KubeVirtPair = Readonly<Record<Side, PairSide>> & {
  readonly network: SynchronizationNetwork;
  readonly transfers: Transfers;
  /** Resolves when it holds; rejects after a long time, with what was waited for. */
  until(what: string, holds: () => boolean | Promise<boolean>): Promise<void>;
};

export const PAIR_KINDS: readonly ResourceType[] = [
  VMS,
  FULL_VMIS,
  FULL_MIGRATIONS,
  LAUNCHER_PODS,
  RESOURCE_QUOTAS,
  FULL_CLAIMS,
  RECORDED_EVENTS,
];

const HOME = 'kubevirt';

export const bundleOf = async ({ admin }: PairSide): Promise<string> =>
  (await admin.get(CONFIG_MAPS, { namespace: HOME, name: TRUSTED })).object.data?.[BUNDLE] ?? '';

/** Each cluster's bundle goes into the other's external one, as an admin does it (facts/cross-cluster.md C3). */
export async function exchangeTrust(pair: KubeVirtPair): Promise<void> {
  const bundles = { source: await bundleOf(pair.source), target: await bundleOf(pair.target) };
  for (const [side, other] of [
    ['source', 'target'],
    ['target', 'source'],
  ] as const) {
    const merge = { data: { [BUNDLE]: bundles[other] } };
    await pair[side].admin.patch(CONFIG_MAPS, { namespace: HOME, name: EXTERNAL }, { merge });
    await pair.until(`${side} trusts ${other}`, async () =>
      (await bundleOf(pair[side])).includes(bundles[other]),
    );
  }
}
