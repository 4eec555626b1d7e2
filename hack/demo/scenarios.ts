import type { ResourceList } from '../../functions/domain/objects.ts';

export interface Vm {
  readonly name: string;
  /** Cores. Default: 1. */
  readonly cpu?: number;
  /** The guest's memory. Default: 1Gi. */
  readonly memory?: string;
}

export interface Quota {
  readonly name: string;
  readonly hard: ResourceList;
  /** The quota refuses no launcher, so no component may write to it. */
  readonly isNotInTheWay?: boolean;
}

/** A namespace that is too full for a second launcher pod. */
export interface Tenant {
  readonly namespace: string;
  readonly quotas: readonly Quota[];
  readonly vms: readonly Vm[];
  /** The allowance of its VMMRQ. */
  readonly gives: ResourceList;
}

/** The kind of scenario; runners.ts runs it. */
export type ScenarioKind = 'through' | 'notEnough' | 'cancelled' | 'drain' | 'upgrade';

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** A description in one or two sentences. */
  readonly about: string;
  readonly tenants: readonly Tenant[];
  readonly kind: ScenarioKind;
}

/** A drain is about all VMs of a node, an upgrade about all VMs of a cluster: each has a cluster of its own. */
export const needsOwnCluster = ({ kind }: Scenario): boolean => kind === 'drain' || kind === 'upgrade';

// The launcher of a VM with 1 core and 1Gi asks for 1005m and 1380 MB (facts/kubevirt.md §2.1).
const small = { name: 'vm' } as const;

const oneByOne = (namespace: string, hard: ResourceList, gives: ResourceList): Tenant => ({
  namespace,
  quotas: [{ name: 'compute', hard }],
  vms: [small],
  gives,
});

const several = (vms: number, tenant: Tenant): Tenant => ({
  ...tenant,
  vms: ['vm-a', 'vm-b', 'vm-c', 'vm-d'].slice(0, vms).map((name) => ({ name })),
});

/** The tenants of `npm run demo`. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'one-quota',
    title: 'one ResourceQuota, one VM',
    about: 'The quota has headroom for the VM, but not for the second launcher pod of its migration.',
    tenants: [
      oneByOne(
        'one-quota',
        { 'requests.cpu': '1500m', 'requests.memory': '2Gi', pods: '5' },
        { 'requests.cpu': '1', 'requests.memory': '1Gi' },
      ),
    ],
    kind: 'through',
  },
  {
    name: 'several-quotas',
    title: 'several ResourceQuotas, one VM',
    about:
      'Two quotas refuse at once, under different names of the same resource; a third is not in the way and stays.',
    tenants: [
      {
        namespace: 'several-quotas',
        quotas: [
          { name: 'cpu', hard: { cpu: '1200m' } },
          { name: 'memory-and-pods', hard: { 'requests.memory': '1400Mi', pods: '1' } },
          {
            name: 'storage',
            hard: { persistentvolumeclaims: '3', 'requests.storage': '50Gi' },
            isNotInTheWay: true,
          },
        ],
        vms: [small],
        gives: { 'requests.cpu': '1', memory: '1400Mi', pods: '1' },
      },
    ],
    kind: 'through',
  },
  {
    name: 'one-at-a-time',
    title: 'two VMs in one namespace, and a VMMRQ for one at a time',
    about: 'The second waits until the first has succeeded and its source pod has freed its headroom.',
    tenants: [
      {
        namespace: 'one-at-a-time',
        quotas: [{ name: 'compute', hard: { 'requests.cpu': '2100m', 'requests.memory': '2800Mi' } }],
        vms: [{ name: 'vm-a' }, { name: 'vm-b' }],
        gives: { 'requests.cpu': '1', 'requests.memory': '1400Mi' },
      },
    ],
    kind: 'through',
  },
  {
    name: 'three-namespaces',
    title: 'three namespaces at once',
    about: 'Each has its own lock; none waits for another.',
    tenants: [
      oneByOne('red', { 'requests.memory': '1400Mi' }, { 'requests.memory': '1400Mi' }),
      oneByOne('green', { pods: '1' }, { pods: '1' }),
      oneByOne(
        'blue',
        { 'requests.cpu': '1100m', 'limits.memory': '3Gi' },
        { cpu: '2', 'limits.memory': '3Gi' },
      ),
    ],
    kind: 'through',
  },
  {
    name: 'not-enough',
    title: 'a migration that cannot fit its VMMRQ',
    about: 'Nothing is locked, nothing is raised; the tenant reads which resource is short, and by how much.',
    tenants: [
      oneByOne(
        'not-enough',
        { 'requests.cpu': '1500m', 'requests.memory': '2Gi' },
        { 'requests.cpu': '1', 'requests.memory': '256Mi' },
      ),
    ],
    kind: 'notEnough',
  },
  {
    name: 'cancelled',
    title: 'a migration that is cancelled while the quota is raised',
    about:
      'virt-controller is away (an upgrade) when the quota rises; the tenant gives up before the target pod exists.',
    tenants: [
      oneByOne(
        'cancelled',
        { 'requests.cpu': '1500m', 'requests.memory': '2Gi' },
        { 'requests.cpu': '1', 'requests.memory': '1Gi' },
      ),
    ],
    kind: 'cancelled',
  },
  {
    name: 'drain',
    title: 'kubectl drain of a node with six VMs of three full tenants',
    about:
      'KubeVirt refuses every eviction and migrates instead, two VMs of the node at a time; kubectl retries every five seconds until the launchers are gone.',
    tenants: [
      several(2, oneByOne('amber', { 'requests.memory': '2800Mi' }, { 'requests.memory': '1400Mi' })),
      several(2, oneByOne('coral', { pods: '2' }, { pods: '2' })),
      several(2, oneByOne('olive', { 'requests.cpu': '2100m' }, { 'requests.cpu': '1' })),
    ],
    kind: 'drain',
  },
  {
    name: 'upgrade',
    title: 'an upgrade of KubeVirt with twelve VMs of three full tenants',
    about:
      'virt-controller moves every VM to a launcher of the new release, five at a time; the new launchers need 20Mi more.',
    tenants: [
      several(4, oneByOne('amber', { 'requests.memory': '5500Mi' }, { 'requests.memory': '2900Mi' })),
      several(4, oneByOne('coral', { pods: '4' }, { pods: '2' })),
      several(4, oneByOne('olive', { 'requests.cpu': '4100m' }, { 'requests.cpu': '2010m' })),
    ],
    kind: 'upgrade',
  },
];

/** The tenants of the picture of a preflight: headroom for one VM, enough given, and too little given. */
export const PREFLIGHT_TENANTS: readonly Tenant[] = [
  several(2, oneByOne('amber', { 'requests.memory': '4Gi' }, { pods: '1' })),
  several(2, oneByOne('coral', { pods: '2' }, { pods: '2' })),
  several(2, oneByOne('olive', { 'requests.cpu': '2100m' }, { 'requests.cpu': '500m' })),
];
