import { KIND } from '../domain/names.ts';
import type {
  ClusterVmmrq,
  EndpointSlice,
  KubernetesEvent,
  KubeVirt,
  Lease,
  LimitRange,
  Migration,
  Namespace,
  Node,
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  VirtualMachineInstance,
  Vmmrq,
} from '../domain/objects.ts';
import type { MaintenanceProgress } from '../domain/progress/progress-object.ts';
import type { ResourceType } from './cluster.ts';

const core = { apiVersion: 'v1', namespaced: true };

export const NAMESPACES: ResourceType<Namespace> = {
  apiVersion: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
};
export const RESOURCE_QUOTAS: ResourceType<ResourceQuota> = {
  ...KIND.quota,
  namespaced: true,
  plural: 'resourcequotas',
};
export const PODS: ResourceType<Pod> = { ...core, kind: 'Pod', plural: 'pods' };
export const EVENTS: ResourceType<KubernetesEvent> = { ...core, kind: 'Event', plural: 'events' };
export const LIMIT_RANGES: ResourceType<LimitRange> = { ...core, kind: 'LimitRange', plural: 'limitranges' };
export const CLAIMS: ResourceType<PersistentVolumeClaim> = {
  ...core,
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
};
export const MIGRATIONS: ResourceType<Migration> = {
  ...KIND.migration,
  namespaced: true,
  plural: 'virtualmachineinstancemigrations',
};
export const VMIS: ResourceType<VirtualMachineInstance> = {
  ...KIND.vmi,
  namespaced: true,
  plural: 'virtualmachineinstances',
};
export const MTQS: ResourceType = {
  apiVersion: 'mtq.kubevirt.io/v1alpha1',
  kind: 'MTQ',
  plural: 'mtqs',
  namespaced: false,
};
export const WEBHOOK_CONFIGURATIONS: ResourceType = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
};
export const DEFINITIONS: ResourceType = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
export const ENDPOINT_SLICES: ResourceType<EndpointSlice> = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
};
export const LEASES: ResourceType<Lease> = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
};
export const KUBEVIRTS: ResourceType<KubeVirt> = {
  ...KIND.kubevirt,
  namespaced: true,
  plural: 'kubevirts',
};
export const NODES: ResourceType<Node> = { ...KIND.node, namespaced: false, plural: 'nodes' };
export const PROGRESSES: ResourceType<MaintenanceProgress> = {
  ...KIND.progress,
  namespaced: false,
  plural: 'maintenanceprogresses',
};
export const VMMRQS: ResourceType<Vmmrq> = {
  ...KIND.vmmrq,
  namespaced: true,
  plural: 'virtualmachinemigrationresourcequotas',
};
export const CLUSTER_VMMRQS: ResourceType<ClusterVmmrq> = {
  ...KIND.clusterVmmrq,
  namespaced: false,
  plural: 'clustervirtualmachinemigrationresourcequotas',
};
