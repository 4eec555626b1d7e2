import { connect } from '../../../functions/kubernetes/client.ts';
import type { LocalClusterOptions } from '../../cluster/cluster.ts';
import { clusterIdOf } from '../../cluster/several-clusters.ts';
import { WITH_WEBHOOKS } from '../environment/admission-mode.ts';
import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import { freshControlPlane } from '../environment/control-plane.ts';
import { askUntil } from '../eventually.ts';
import { exchangeTrust, type KubeVirtPair } from '../kubevirt/pair.ts';
import { startTwoKubeVirts, type TwoKubeVirts } from '../kubevirt/two-kubevirts.ts';
import { startTestEnvironment, type TestEnvironment } from '../environment/test-environment.ts';
import {
  conditionsOf,
  installForkliftKinds,
  installMemberAccount,
  PlannedMove,
  prepareMember,
  type VmDetails,
} from './crossing.ts';
import { runWatcherDeployment, type WatcherDeployment } from './watcher-deployment.ts';

/** The component on a hub, with a source and a target: source, Broker, function, guard and watcher are processes with their own accounts. */
export interface Installed {
  readonly clusters: TwoKubeVirts;
  /** Of the hub. */
  readonly environment: TestEnvironment;
  readonly watcher: WatcherDeployment;
  /** The kubeconfigs with the tokens of its providers. */
  readonly tokens: readonly string[];
  /** Of VM `web`, whose plan is ready, with providers whose tokens have the rights of docs/live-migration.md, and no others. */
  readyMove(namespace: string, pair: KubeVirtPair, vm?: VmDetails): Promise<PlannedMove>;
  stop(): Promise<void>;
}

export interface InstalledOptions extends LocalClusterOptions {
  /** Left out: a third cluster. */
  readonly hub?: 'target';
}

export async function startInstalled(options: InstalledOptions = {}): Promise<Installed> {
  const clusters = await startTwoKubeVirts({ runMs: 100, migrationMs: 500 });
  try {
    return await installBeside(clusters, options);
  } catch (error) {
    await clusters.stop();
    throw error;
  }
}

async function installBeside(
  clusters: TwoKubeVirts,
  { hub, ...options }: InstalledOptions,
): Promise<Installed> {
  const { members } = clusters;
  for (const { admin } of Object.values(members)) await prepareMember(admin);
  const access: Partial<Record<Side, string>> = {};
  for (const side of SIDES.filter((one) => one !== hub))
    access[side] = await installMemberAccount(members[side]);
  const controlPlane = hub === undefined ? await freshControlPlane() : members[hub].controlPlane;
  await installForkliftKinds(connect(controlPlane.adminKubeconfig, 'admin'));
  const environment = await startTestEnvironment({
    ...{ controlPlane, admissionMode: WITH_WEBHOOKS, components: ['live-migration'] },
    ...(hub === undefined ? {} : { kubevirt: 'is there' }),
    ...options,
    env: { LIVE_MIGRATION: 'loopback', ...options.env },
  });
  const watcher = await runWatcherDeployment(environment.cluster);
  return {
    ...{ clusters, environment, watcher, tokens: Object.values(access) },
    readyMove: async (namespace, pair, vm) => {
      const { admin } = environment;
      const own = { name: 'hub', id: await clusterIdOf(admin), controlPlane, admin };
      const move = new PlannedMove({ ...{ hub: own, members, pair, access }, namespace });
      await exchangeTrust(pair);
      await move.createVm('web', vm);
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
      await clusters.stopKubeVirts();
      await environment.stop();
      await clusters.stop();
    },
  };
}

const SIDES: readonly Side[] = ['source', 'target'];
