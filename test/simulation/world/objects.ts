import { API_SERVERS, KIND, KUBEVIRT as NAMES } from '../../../functions/domain/names.ts';
import type {
  ClusterVmmrq,
  EndpointSlice,
  KubernetesObject,
  Lease,
  Migration,
  Namespace,
  Node,
  ObjectMeta,
  Pod,
  ResourceList,
  ResourceQuota,
  Vmmrq,
} from '../../../functions/domain/objects.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import {
  ANNOTATIONS,
  MIGRATION_FINALIZER,
  OBSERVED_API_VERSIONS,
} from '../../cluster/kubevirt/objects/names.ts';
import {
  FULL_KUBEVIRTS,
  newKubeVirt,
  newVirtualMachineInstance,
} from '../../cluster/kubevirt/objects/objects.ts';
import type { LauncherPod, Vmi } from '../../cluster/kubevirt/objects/types.ts';

/** The tenant's namespace of a run. */
export const TENANT = 'tenant';
/** Another tenant's namespace, where there are two. */
export const NEIGHBOUR = 'neighbour';
/** The requests of each VM's launcher pod. */
export const LAUNCHER: ResourceList = { cpu: '1', memory: '1Gi' };

const CREATED = '2026-11-21T04:00:00Z';

const meta = (name: string, uid: string): ObjectMeta => ({
  name,
  namespace: TENANT,
  uid,
  resourceVersion: '',
  creationTimestamp: CREATED,
});

export const tenantNamespace = (uid: string, name: string = TENANT): Namespace => {
  const { namespace: _, ...metadata } = meta(name, uid);
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { ...metadata, labels: { 'kubernetes.io/metadata.name': name } },
    status: { phase: 'Active' },
  };
};

const PORT = 6443;

/** The EndpointSlice with these addresses, and a lease for each API server. */
export const published = (hosts: readonly string[], servers: number): readonly KubernetesObject[] => [
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...meta('kubernetes', 'uid-slice'),
      namespace: API_SERVERS.slices.namespace,
      labels: labelsOf(API_SERVERS.slices.labelSelector),
    },
    endpoints: hosts.map((host) => ({ addresses: [host] })),
    ports: [{ name: 'https', port: PORT }],
  } as EndpointSlice,
  ...Array.from({ length: servers }, (_, index): Lease => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...meta(`apiserver-${String(index)}`, `uid-lease-${String(index)}`),
      namespace: API_SERVERS.leases.namespace,
      labels: labelsOf(API_SERVERS.leases.labelSelector),
    },
    // The model does not renew it.
    spec: { renewTime: CREATED, leaseDurationSeconds: 365 * 86_400 },
  })),
];

/** virt-controller's Lease, renewed at `now`, milliseconds. */
export const controllerLease = (now: number): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { ...meta(NAMES.controllerLease, 'uid-lease-kubevirt'), namespace: 'kubevirt' },
  spec: { renewTime: new Date(now).toISOString().replace('Z', '000Z'), leaseDurationSeconds: 15 },
});

/** The KubeVirt object with these limits on parallel migrations. */
export const kubevirt = ({ cluster, node }: { cluster: number; node: number }): KubernetesObject => {
  const settings = { parallelMigrationsPerCluster: cluster, parallelOutboundMigrationsPerNode: node };
  const { apiVersion, kind } = FULL_KUBEVIRTS;
  const { spec } = newKubeVirt(settings);
  return {
    apiVersion,
    kind,
    metadata: { ...meta('kubevirt', 'uid-kubevirt'), namespace: 'kubevirt' },
    spec,
  } as KubernetesObject;
};

/** URL of the API server with the published address `host`. */
export const addressOf = (host: string): string => `https://${host}:${String(PORT)}`;

const labelsOf = (selector: string): Record<string, string> => {
  const [key = '', value = ''] = selector.split('=');
  return { [key]: value };
};

/** It runs, on node1. */
export const vmi = (name: string, uid: string): Vmi => ({
  ...newVirtualMachineInstance({ namespace: TENANT, name }),
  ...KIND.vmi,
  metadata: { ...meta(name, uid), annotations: { ...OBSERVED_API_VERSIONS, [ANNOTATIONS.nonroot]: 'true' } },
  status: { phase: 'Running', nodeName: 'node1' },
});

export const quota = (name: string, uid: string, hard: ResourceList): ResourceQuota => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: meta(name, uid),
  spec: { hard },
});

export const vmmrq = (name: string, uid: string, spec: Vmmrq['spec']): Vmmrq => ({
  apiVersion: 'mtq.kubevirt.io/v1alpha1',
  kind: 'VirtualMachineMigrationResourceQuota',
  metadata: meta(name, uid),
  spec,
});

/** The cluster-wide VMMRQ of a run. */
export const clusterVmmrq = (uid: string, spec: ClusterVmmrq['spec']): ClusterVmmrq => {
  const { namespace: _, ...metadata } = meta('everywhere', uid);
  return { ...KIND.clusterVmmrq, metadata, spec };
};

/** The node that every VM runs on at the beginning. */
export const node = (uid: string, unschedulable: boolean): Node => {
  const { namespace: _, ...metadata } = meta('node1', uid);
  return { apiVersion: 'v1', kind: 'Node', metadata, spec: { unschedulable } };
};

/** The migration as KubeVirt's evacuation controller makes it. */
export const evacuating = ({ metadata, ...rest }: NewMigration): NewMigration => ({
  ...rest,
  metadata: { ...metadata, annotations: { ...metadata.annotations, [NAMES.evacuation]: 'node1' } },
});

export type NewMigration = ReturnType<typeof migration>;

/** A new migration after virt-api and virt-controller have handled it (facts/kubevirt.md §1.7). */
export const migration = (
  name: string,
  vmiName: string,
  namespace: string = TENANT,
): Omit<Migration, 'metadata'> & {
  metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'labels' | 'annotations' | 'finalizers'>;
} => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstanceMigration',
  metadata: {
    name,
    namespace,
    annotations: OBSERVED_API_VERSIONS,
    finalizers: [MIGRATION_FINALIZER],
  },
  spec: { vmiName },
});

/** A launcher pod of this VM; with `migration`, the target pod on another node (facts/kubevirt.md §1.2). */
export function launcherPod(
  { metadata: { name, namespace = TENANT, uid } }: Vmi,
  { migration: of, requests }: { migration?: Migration | undefined; requests: ResourceList },
): Pod {
  const base = { ...meta(`virt-launcher-${name}-source`, `uid-of-launcher-${name}`), namespace };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...base,
      labels: {
        [NAMES.launcherLabel]: NAMES.launcher,
        [NAMES.createdBy]: uid,
        ...(of === undefined ? {} : { [NAMES.migrationJobUID]: of.metadata.uid }),
      },
      ownerReferences: [{ ...KIND.vmi, name, uid, controller: true }],
      ...(of === undefined ? {} : { annotations: { [ANNOTATIONS.migrationJobName]: of.metadata.name } }),
    },
    spec: {
      containers: [{ name: 'compute', resources: { requests } }],
      ...(of === undefined ? {} : { nodeName: `node-of-${of.metadata.name}` }),
    },
  };
}

/** The pod as its creator sends it. */
export function unnamed({ metadata, spec }: Pod): New<LauncherPod> {
  const { name: _, ...rest } = metadata;
  return { metadata: { ...rest, generateName: 'virt-launcher-' }, spec };
}

/** What kind of KubeVirt's pods it is, if any. */
export const appOf = ({ metadata }: KubernetesObject): string | undefined =>
  metadata.labels?.[NAMES.launcherLabel];

/** One of the tenant's own pods. */
export const tenantPod = (
  name: string,
  cpu: string,
): Omit<Pod, 'metadata'> & { metadata: Pick<ObjectMeta, 'name' | 'namespace'> } => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: TENANT },
  spec: { containers: [{ name: 'work', resources: { requests: { cpu, memory: '64Mi' } } }] },
});

/** An existing pod: with node and status. */
export const running = (pod: Pod): Pod => ({
  ...pod,
  spec: { ...pod.spec, nodeName: 'node1' },
  status: { phase: 'Running', qosClass: 'Burstable' },
});

/** A migration after a quota has refused its target pod to virt-controller (facts/kubevirt.md §1.3). */
export const refused = ({ metadata, ...rest }: ReturnType<typeof migration>, uid: string): Migration => ({
  ...rest,
  metadata: { ...meta(metadata.name, uid), ...metadata },
  status: { phase: 'Pending', conditions: [REJECTED] },
});

const REJECTED = {
  type: NAMES.rejectedByQuota,
  status: 'True',
  lastProbeTime: null,
  lastTransitionTime: null,
} as const;
