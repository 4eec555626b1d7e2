import { connect } from '../../../functions/kubernetes/client.ts';
import type { LocalClusterOptions } from '../../cluster/cluster.ts';
import { clusterIdOf, type MemberCluster } from '../../cluster/several-clusters.ts';
import { WITH_WEBHOOKS } from '../admission-mode.ts';
import { freshControlPlane } from '../control-plane.ts';
import { askUntil } from '../eventually.ts';
import { exchangeTrust, type KubeVirtPair } from '../kubevirt/pair.ts';
import { startTwoKubeVirts, type TwoKubeVirts } from '../kubevirt/two-kubevirts.ts';
import { CLUSTER_ROLE_BINDINGS } from '../roles.ts';
import { startTestEnvironment, type TestEnvironment } from '../test-environment.ts';
import {
  conditionsOf,
  installForkliftKinds,
  installLiveAccount,
  LIVE_USER,
  PlannedMove,
  prepareMember,
} from './crossing.ts';
import { runWatcherDeployment, type WatcherDeployment } from './watcher-deployment.ts';

/** The component on a hub of its own, with a source and a target: source, Broker, function, guard and watcher are processes with their own accounts. */
export interface Installed {
  readonly clusters: TwoKubeVirts;
  /** Of the hub. */
  readonly environment: TestEnvironment;
  readonly watcher: WatcherDeployment;
  /** The kubeconfigs with the tokens of its providers. */
  readonly tokens: readonly string[];
  /** Of VM `web`, whose plan is ready, with providers whose tokens have the rights of docs/live-migration.md, and no others. */
  readyMove(namespace: string, pair: KubeVirtPair): Promise<PlannedMove>;
  stop(): Promise<void>;
}

export async function startInstalled(options: LocalClusterOptions = {}): Promise<Installed> {
  const clusters = await startTwoKubeVirts({ runMs: 100, migrationMs: 500 });
  const { members } = clusters;
  await prepareMember(members.source.admin, 'fast');
  await prepareMember(members.target.admin, 'gold');
  const access = {
    source: await installProviderAccount(members.source),
    target: await installProviderAccount(members.target),
  };
  const controlPlane = await freshControlPlane();
  await installForkliftKinds(connect(controlPlane.adminKubeconfig, 'admin'));
  const environment = await startTestEnvironment({
    ...{ controlPlane, admissionMode: WITH_WEBHOOKS, components: ['live-migration'] },
    ...options,
    env: { LIVE_MIGRATION: 'loopback', ...options.env },
  });
  const watcher = await runWatcherDeployment(environment.cluster);
  return {
    ...{ clusters, environment, watcher, tokens: Object.values(access) },
    readyMove: async (namespace, pair) => {
      const { admin } = environment;
      const hub = { name: 'hub', id: await clusterIdOf(admin), controlPlane, admin };
      const move = new PlannedMove({ ...{ hub, members, pair, access }, namespace });
      await exchangeTrust(pair);
      await move.createVm('web');
      await move.createPlan([{ name: 'web' }]);
      await askUntil(
        'the plan is ready',
        () => move.plan(),
        (plan) => conditionsOf(plan).includes('Ready'),
      );
      return move;
    },
    stop: async () => {
      await watcher.stop();
      await environment.stop();
      await clusters.stop();
    },
  };
}

const RBAC = 'rbac.authorization.k8s.io';

/** Resolves with the kubeconfig of an account with the rights of `live`, and those of the watcher. */
async function installProviderAccount(member: MemberCluster): Promise<string> {
  const kubeconfig = await installLiveAccount(member);
  await member.admin.create(CLUSTER_ROLE_BINDINGS, {
    metadata: { name: 'provider-watches' },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'managed-tenant-quota-live-watcher' },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: LIVE_USER }],
  });
  return kubeconfig;
}
