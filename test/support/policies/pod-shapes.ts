import type { Container, Pod, PodAffinityTerm, ResourceList } from '../../../functions/domain/objects.ts';
import type { Cluster, New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { KUBEVIRT } from '../../../functions/domain/names.ts';

const clusterScoped = (apiVersion: string, kind: string, plural: string): ResourceType => ({
  apiVersion,
  kind,
  plural,
  namespaced: false,
});

const PRIORITY_CLASSES = clusterScoped('scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses');
const RUNTIME_CLASSES = clusterScoped('node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses');

/** The overhead of RuntimeClass `kata` for each of its pods. */
const OVERHEAD: ResourceList = { cpu: '250m', memory: '120Mi' };

/** The classes of the shapes below. */
export async function installClasses(admin: Cluster): Promise<void> {
  for (const [name, value] of [
    ['high', 1000],
    ['low', 10],
  ] as const) {
    const priority = { metadata: { name }, value };
    await admin.create(PRIORITY_CLASSES, priority);
  }
  const kata = { metadata: { name: 'kata' }, handler: 'kata', overhead: { podFixed: OVERHEAD } };
  await admin.create(RUNTIME_CLASSES, kata);
}

type Spec = Partial<Pod['spec']> & { restartPolicy?: string };

interface Wants {
  readonly requests?: ResourceList;
  readonly limits?: ResourceList;
}

/** A container with both requests and limits, so that the API server fills in nothing. */
const container = (name: string, { requests, limits }: Wants = {}): Container =>
  ({
    name,
    image: 'registry.example/launcher:1',
    resources: {
      ...(requests === undefined ? {} : { requests }),
      ...(limits === undefined ? {} : { limits }),
    },
  }) as Container;

const sidecar = (name: string, wants: Wants): Container => ({
  ...container(name, wants),
  restartPolicy: 'Always',
});

const both = (list: ResourceList): Wants => ({ requests: list, limits: list });
const GIB = { cpu: '1005m', memory: '1412828864' };
const LIMITED: Wants = { requests: GIB, limits: { cpu: '2', memory: '2Gi' } };

const antiAffinityTo = (term: PodAffinityTerm): Spec['affinity'] => {
  const whole = {
    labelSelector: { matchLabels: { a: 'b' } },
    topologyKey: 'kubernetes.io/hostname',
    ...term,
  };
  return { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [whole] } };
};

/** All shapes that KubeVirt, its configuration, an injector or an admission plugin gives to a launcher. */
export const SHAPES: Readonly<Record<string, Spec>> = {
  'nothing asked for': { containers: [container('compute')] },
  'requests only': { containers: [container('compute', { requests: GIB })] },
  'requests and limits': { containers: [container('compute', LIMITED)] },
  'two containers, one without limits': {
    containers: [
      container('compute', LIMITED),
      container('injected', { requests: { cpu: '10m', memory: '1M' } }),
    ],
  },
  'the console log as a sidecar': {
    containers: [container('compute', LIMITED)],
    initContainers: [
      sidecar('guest-console-log', {
        requests: { cpu: '5m', memory: '35M' },
        limits: { cpu: '15m', memory: '60M' },
      }),
    ],
  },
  'init containers before and after a sidecar': {
    containers: [container('compute', LIMITED)],
    initContainers: [
      container('first', both({ cpu: '3', memory: '1Mi' })),
      sidecar('log', both({ cpu: '500m', memory: '512Mi' })),
      container('second', both({ cpu: '2700m', memory: '1900Mi' })),
    ],
  },
  'the overhead of its RuntimeClass': {
    containers: [container('compute', LIMITED)],
    runtimeClassName: 'kata',
  },
  'overhead without limits': {
    containers: [container('compute', { requests: GIB, limits: { memory: '2Gi' } })],
    runtimeClassName: 'kata',
  },
  'asked for as a whole': {
    containers: [container('compute', { requests: { cpu: '100m' } })],
    resources: { requests: { cpu: '3', memory: '3Gi' }, limits: { cpu: '4', memory: '4Gi' } },
    runtimeClassName: 'kata',
  },
  'hugepages, devices and ephemeral storage': {
    containers: [
      container('compute', {
        requests: {
          ...GIB,
          'ephemeral-storage': '50M',
          'hugepages-2Mi': '64Mi',
          'devices.kubevirt.io/tun': '1',
          'nvidia.com/gpu': '2',
        },
        limits: {
          cpu: '2',
          memory: '2Gi',
          'ephemeral-storage': '60M',
          'hugepages-2Mi': '64Mi',
          'devices.kubevirt.io/tun': '1',
          'nvidia.com/gpu': '2',
        },
      }),
    ],
  },
  'only ephemeral storage': {
    containers: [container('compute', { requests: { 'ephemeral-storage': '1Gi' } })],
  },
  'a deadline': {
    containers: [container('compute', LIMITED)],
    activeDeadlineSeconds: 3600,
    restartPolicy: 'Never',
  },
  'a high priority': { containers: [container('compute', LIMITED)], priorityClassName: 'high' },
  'a low priority and nothing asked for': { containers: [container('compute')], priorityClassName: 'low' },
  'apart from pods of its own namespace': {
    containers: [container('compute', LIMITED)],
    affinity: antiAffinityTo({}) ?? {},
  },
  'apart from pods of any namespace': {
    containers: [container('compute', LIMITED)],
    affinity: antiAffinityTo({ namespaceSelector: {} }) ?? {},
  },
  'apart from pods of one other namespace': {
    containers: [container('compute')],
    affinity: antiAffinityTo({ namespaces: ['default'] }) ?? {},
  },
};

/** A launcher of this shape, as KubeVirt creates it. */
export const podOfShape = (namespace: string, shape: Spec): New<Pod> => ({
  metadata: {
    generateName: 'virt-launcher-vm0-',
    namespace,
    labels: { [KUBEVIRT.launcherLabel]: KUBEVIRT.launcher },
  },
  spec: { automountServiceAccountToken: false, ...shape } as Pod['spec'],
});
