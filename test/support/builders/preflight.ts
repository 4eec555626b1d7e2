import type { KubeVirt, ResourceQuota, VirtualMachineInstance } from '../../../functions/domain/objects.ts';
import type { ClusterFacts, NamespaceFacts } from '../../../kubectl/preflight/facts.ts';
import { aLauncher, aVmi } from './kubevirt.ts';
import { aNamespace } from './namespace.ts';
import { metadata, NOW, type Change } from './object.ts';
import { aQuota, hard, used } from './quota.ts';
import { RULES } from './snapshot.ts';

export const protectedBy =
  (evictionStrategy: string): Change<VirtualMachineInstance> =>
  (vmi) => ({ ...vmi, spec: { ...vmi.spec, evictionStrategy } });

/** A running VM that a drain moves. */
export const aVm = (name = 'vm0', node = 'node1'): VirtualMachineInstance =>
  protectedBy('LiveMigrate')(aVmi(name, node));

type Configuration = NonNullable<NonNullable<KubeVirt['spec']>['configuration']>;

export const aKubeVirt = (
  configuration: Configuration = {},
  workloadUpdateMethods: readonly string[] = ['LiveMigrate'],
): KubeVirt => ({
  metadata: { ...metadata('kubevirt'), namespace: 'kubevirt' },
  spec: { configuration, workloadUpdateStrategy: { workloadUpdateMethods } },
});

/** Counts two launchers, and has headroom for both targets. */
export const ROOMY = aQuota(
  hard({ pods: '10', 'requests.cpu': '10' }),
  used({ pods: '2', 'requests.cpu': '2010m' }),
);

/** Counts two launchers, and has headroom for so many thousandths of a CPU. */
export const tight = (headroom: number): ResourceQuota =>
  aQuota(hard({ 'requests.cpu': `${String(2010 + headroom)}m` }), used({ 'requests.cpu': '2010m' }));

/** Two VMs on node1, each with a launcher, in a quota with headroom for both. */
export const aTenant = (different: Partial<NamespaceFacts> = {}): NamespaceFacts => ({
  namespace: aNamespace(),
  quotas: [ROOMY],
  vmmrqs: [],
  pods: [aLauncher('vm0'), aLauncher('vm1')],
  vmis: [aVm('vm0'), aVm('vm1')],
  migrations: [],
  limitRanges: [],
  claims: [],
  events: [],
  ...different,
});

export const clusterFacts = (
  namespaces: readonly NamespaceFacts[],
  different: Partial<ClusterFacts['state']> = {},
): ClusterFacts => ({
  now: NOW,
  rules: RULES,
  onlyOutdated: false,
  nodes: new Map(),
  namespaces,
  state: {
    kubevirt: aKubeVirt(),
    migrations: [],
    held: [],
    nodes: new Map(),
    vmmrqs: [],
    clusterVmmrqs: [],
    incumbents: new Map(),
    configurations: new Map(),
    ...different,
  },
});
