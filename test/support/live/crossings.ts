import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import { exchangeTrust } from '../kubevirt/pair.ts';
import type { MemberCluster } from '../../cluster/several-clusters.ts';
import { REVIEWS } from '../../../functions/kubernetes/live-resources.ts';
import { startTwoKubeVirts, type PairOptions, type TwoKubeVirts } from '../kubevirt/two-kubevirts.ts';
import {
  Crossing,
  installForkliftKinds,
  installLiveAccount,
  prepareMember,
  type CrossingOptions,
} from './crossing.ts';

export interface CrossingSettings extends Pick<CrossingOptions, 'author' | 'maxVmsInFlight'> {
  /** The cluster of the plans; left out: the source. */
  readonly hub?: Side;
  /** Left out: the clusters trust each other. */
  readonly trust?: false;
}

/** Two clusters, in which each test has namespaces and plans of its own. */
export interface Crossings {
  readonly clusters: TwoKubeVirts;
  /** Namespaces `<name>-source` and `<name>-target`, and `plans-<name>` on the hub. Prints the end of the log where `work` fails. */
  within(
    name: string,
    work: (crossing: Crossing) => Promise<void>,
    settings?: CrossingSettings,
  ): Promise<void>;
  stop(): Promise<void>;
}

/** `of`: "one cluster" is both of them, which trusts itself. */
export async function startCrossings(
  of: 'two clusters' | 'one cluster' = 'two clusters',
  options: Pick<PairOptions, 'keepsSides' | 'nodes'> = {},
): Promise<Crossings> {
  const clusters = await startTwoKubeVirts({ runMs: 100, migrationMs: 500 }, { of, ...options });
  const { members } = clusters;
  const kubeconfigOf = new Map<MemberCluster, string>();
  for (const member of new Set(Object.values(members))) {
    await prepareMember(member.admin);
    await installForkliftKinds(member.admin);
    kubeconfigOf.set(member, await installLiveAccount(member));
    // Without a webhook: no guard answers here, and the crossings write the user themselves.
    await member.admin.create(REVIEWS.type, { metadata: REVIEWS.at });
  }
  return {
    clusters,
    stop: () => clusters.stop(),
    within: (name, work, { hub = 'source', trust, ...settings } = {}) =>
      clusters.within(name, async (pair) => {
        if (trust !== false && of !== 'one cluster') await exchangeTrust(pair);
        const crossing = new Crossing({
          ...{ hub: members[hub], kubeconfig: kubeconfigOf.get(members[hub]) ?? '', members, pair },
          namespace: `plans-${name}`,
          ...settings,
        });
        try {
          await work(crossing);
        } catch (error) {
          const lines = crossing.lines.slice(-20).map((line) => JSON.stringify(line));
          process.stdout.write(`${lines.join('\n')}\n`);
          throw error;
        }
      }),
  };
}
