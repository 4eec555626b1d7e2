import { randomInt } from 'node:crypto';
import type { ResourceQuota } from '../../../../functions/domain/objects.ts';
import type { New } from '../../../../functions/kubernetes/cluster.ts';
import { sideOf } from '../decentralized/sides.ts';
import { computeResources, overheadInBytes } from './compute-resources.ts';
import { ANNOTATIONS, LABELS, LAUNCHER, OBSERVED_API_VERSIONS, UNPAUSED } from './names.ts';
import type { Configuration } from './objects.ts';
import { controllerOf } from './pods.ts';
import { RELEASE, type Release } from './release.ts';
import type { LauncherPod, Vmi, Vmim } from './types.ts';

export interface LauncherOf {
  readonly vmi: Vmi;
  /** Set for the target pod of a migration. */
  readonly migration?: Vmim;
  readonly configuration: Configuration;
  /** All of the namespace: their limits.* keys give the launcher limits of its own. */
  readonly quotas: readonly ResourceQuota[];
  /** As the namespace's label says it; 2 when left out. */
  readonly autoMemoryRatio?: number;
  /** Of virt-controller; the first one when left out. */
  readonly release?: Release;
}

/** A virt-launcher pod as virt-controller renders it (facts/kubevirt.md §1.2, §2.1; fields from test/recorded). */
export function renderLauncherPod(of: LauncherOf): New<LauncherPod> {
  const { vmi, migration } = of;
  return {
    metadata: {
      generateName: `virt-launcher-${vmi.metadata.name}-`,
      namespace: namespaceOf(vmi),
      labels: labels(vmi, migration),
      annotations: annotations(of),
      ownerReferences: [controllerOf(vmi)],
    },
    spec: {
      volumes: VOLUMES.map((name) => ({ name, emptyDir: {} })),
      initContainers: [consoleLog(of)],
      containers: [compute(of)],
      ...PLACEMENT,
      ...(migration === undefined ? {} : { affinity: awayFromSource(vmi, migration) }),
      nodeSelector: nodeSelector(of),
      hostname: vmi.metadata.name,
      securityContext: isNonRoot(vmi) ? { ...USER_107, fsGroup: 107 } : { runAsUser: 0, fsGroup: 107 },
      terminationGracePeriodSeconds: gracePeriod(vmi) + 30,
    } as LauncherPod['spec'],
  };
}

export const isNonRoot = (vmi: Vmi): boolean => vmi.metadata.annotations?.[ANNOTATIONS.nonroot] === 'true';

const VOLUMES = [
  'private',
  'public',
  'sockets',
  'virt-bin-share-dir',
  'libvirt-runtime',
  'ephemeral-disks',
  'hotplug-disks',
];

const PLACEMENT = {
  restartPolicy: 'Never',
  automountServiceAccountToken: false,
  readinessGates: [{ conditionType: UNPAUSED }],
  enableServiceLinks: false,
};

const USER_107 = { runAsUser: 107, runAsGroup: 107, runAsNonRoot: true };

const namespaceOf = ({ metadata }: Vmi): string => metadata.namespace ?? 'default';

const gracePeriod = ({ spec }: Vmi): number => spec.terminationGracePeriodSeconds ?? 30;

const labels = ({ metadata }: Vmi, migration: Vmim | undefined): Record<string, string> => ({
  ...metadata.labels,
  [LABELS.app]: LAUNCHER,
  [LABELS.createdBy]: metadata.uid,
  [LABELS.vmName]: metadata.name,
  [LABELS.vmiId]: metadata.name,
  ...(migration === undefined ? {} : { [LABELS.migrationJobUid]: migration.metadata.uid }),
});

function annotations(of: LauncherOf): Record<string, string> {
  const { vmi, migration } = of;
  const { name, annotations: own = {} } = vmi.metadata;
  const kept = Object.entries(own).filter(([key]) => !(key in OBSERVED_API_VERSIONS));
  const freezer = (what: string): string =>
    `["/usr/bin/virt-freezer", "${what}", "--name", "${name}", "--namespace", "${namespaceOf(vmi)}"]`;
  return {
    ...Object.fromEntries(kept),
    [ANNOTATIONS.domain]: name,
    [ANNOTATIONS.memoryOverhead]: overheadInBytes(of),
    [ANNOTATIONS.migrationTransportUnix]: 'true',
    ...(migration === undefined ? {} : { [ANNOTATIONS.migrationJobName]: migration.metadata.name }),
    'descheduler.alpha.kubernetes.io/request-evict-only': '',
    'kubectl.kubernetes.io/default-container': 'compute',
    'istio.io/reroute-virtual-interfaces': 'k6t-eth0',
    'traffic.sidecar.istio.io/kubevirtInterfaces': 'k6t-eth0',
    'pre.hook.backup.velero.io/container': 'compute',
    'pre.hook.backup.velero.io/command': freezer('--freeze'),
    'pre.hook.backup.velero.io/timeout': '60s',
    'post.hook.backup.velero.io/container': 'compute',
    'post.hook.backup.velero.io/command': freezer('--unfreeze'),
  };
}

function nodeSelector({ vmi, migration }: LauncherOf): Record<string, string> {
  const { architecture, domain } = vmi.spec;
  // A guest with the host's own CPU can only move to a CPU of the same make.
  const sameCpu = migration !== undefined && domain.cpu.model === 'host-passthrough';
  return {
    'kubernetes.io/arch': architecture,
    'kubevirt.io/schedulable': 'true',
    [`machine-type.node.kubevirt.io/${domain.machine.type}`]: 'true',
    ...(sameCpu ? { 'cpu-vendor.node.kubevirt.io/Intel': 'true' } : {}),
  };
}

/** A source in another cluster has no pod here to stay away from: its node's name stands for it, whatever node that is here. */
const awayFromSource = (vmi: Vmi, migration: Vmim): unknown =>
  sideOf(migration) === undefined
    ? notBesideTheSource(vmi)
    : notOn(vmi.status?.migrationState?.sourceState?.node);

const notOn = (node = ''): unknown => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: [node] }] },
      ],
    },
  },
});

const notBesideTheSource = ({ metadata }: Vmi): unknown => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      {
        labelSelector: { matchLabels: { [LABELS.createdBy]: metadata.uid } },
        topologyKey: 'kubernetes.io/hostname',
      },
    ],
  },
});

const PRIVATE = '/var/run/kubevirt-private';

/** The guest's serial console as the pod's log: a sidecar since KubeVirt 1.6. */
const consoleLog = ({ vmi, release = RELEASE }: LauncherOf): LauncherPod['spec']['containers'][number] => {
  const { metadata } = vmi;
  const container = {
    name: 'guest-console-log',
    image: release.launcherImage,
    imagePullPolicy: 'IfNotPresent',
    restartPolicy: 'Always',
    command: ['/usr/bin/virt-tail'],
    args: ['--logfile', `${PRIVATE}/${metadata.uid}/virt-serial0-log`],
    env: [{ name: 'VIRT_LAUNCHER_LOG_VERBOSITY', value: '2' }],
    resources: { requests: { cpu: '5m', memory: '35M' }, limits: { cpu: '15m', memory: '60M' } },
    volumeMounts: [{ name: 'private', readOnly: true, mountPath: PRIVATE }],
    securityContext: {
      capabilities: { drop: ['ALL'] },
      runAsUser: 107,
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
    },
  };
  return container;
};

function compute(of: LauncherOf): LauncherPod['spec']['containers'][number] {
  const { vmi, release = RELEASE } = of;
  const nonRoot = isNonRoot(vmi);
  const container = {
    name: 'compute',
    image: release.launcherImage,
    imagePullPolicy: 'IfNotPresent',
    command: ['/usr/bin/virt-launcher-monitor'],
    args: monitorArguments(vmi, nonRoot),
    env: [
      ...(nonRoot ? HOME_OF_107 : []),
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ],
    resources: computeResources(of),
    volumeMounts: MOUNTS,
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: nonRoot
      ? {
          capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
          ...USER_107,
          allowPrivilegeEscalation: false,
        }
      : {
          capabilities: { add: ['NET_BIND_SERVICE', 'SYS_NICE'] },
          runAsUser: 0,
          runAsNonRoot: false,
        },
  };
  return container;
}

const HOME_OF_107 = [
  { name: 'XDG_CACHE_HOME', value: PRIVATE },
  { name: 'XDG_CONFIG_HOME', value: PRIVATE },
  { name: 'XDG_RUNTIME_DIR', value: '/var/run' },
];

const MOUNTS = [
  { name: 'private', mountPath: PRIVATE },
  { name: 'public', mountPath: '/var/run/kubevirt' },
  { name: 'ephemeral-disks', mountPath: '/var/run/kubevirt-ephemeral-disks' },
  { name: 'libvirt-runtime', mountPath: '/var/run/libvirt' },
  { name: 'sockets', mountPath: '/var/run/kubevirt/sockets' },
  {
    name: 'hotplug-disks',
    mountPath: '/var/run/kubevirt/hotplug-disks',
    mountPropagation: 'HostToContainer',
  },
];

function monitorArguments(vmi: Vmi, nonRoot: boolean): string[] {
  const values = {
    // KubeVirt spreads it at random, so that many launchers do not give up at the same moment.
    'qemu-timeout': `${240 + randomInt(60)}s`,
    name: vmi.metadata.name,
    uid: vmi.metadata.uid,
    namespace: namespaceOf(vmi),
    'kubevirt-share-dir': '/var/run/kubevirt',
    'ephemeral-disk-dir': '/var/run/kubevirt-ephemeral-disks',
    'container-disk-dir': '/var/run/kubevirt/container-disks',
    'grace-period-seconds': String(gracePeriod(vmi) + 15),
    'hook-sidecars': '0',
    'ovmf-path': '/usr/share/edk2/ovmf',
    'disk-memory-limit': '2097152000',
    hypervisor: 'kvm',
  };
  const flags = ['--image-volume', '--upgrade-ordinal-ifaces', '--allow-emulation'];
  return [
    ...Object.entries(values).flatMap(([flag, value]) => [`--${flag}`, value]),
    ...(nonRoot ? ['--run-as-nonroot'] : []),
    ...flags,
  ];
}
