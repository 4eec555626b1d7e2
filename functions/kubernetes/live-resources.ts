import type { Hook, NetworkMap, Plan, PlanMigration, Provider, StorageMap } from '../domain/live/forklift.ts';
import type {
  Claim,
  ClaimProperties,
  ConfigMap,
  ControllerRevision,
  DataVolume,
  Job,
  VirtualMachine,
  Vmi,
  Vmim,
} from '../domain/live/kubevirt.ts';
import { FORKLIFT_KIND, LIVE_KIND } from '../domain/live/names.ts';
import { SYSTEM_NAMESPACE, WEBHOOK } from '../domain/names.ts';
import type { KubernetesObject } from '../domain/objects.ts';
import type { ResourceType } from './cluster.ts';
import { CLAIMS, MIGRATIONS, VMIS } from './resources.ts';

/** The kinds of live migrations between clusters. */

const namespaced = { namespaced: true };

export const PLANS: ResourceType<Plan> = { ...FORKLIFT_KIND.plan, ...namespaced, plural: 'plans' };
export const PLAN_MIGRATIONS: ResourceType<PlanMigration> = {
  ...FORKLIFT_KIND.migration,
  ...namespaced,
  plural: 'migrations',
};
export const PROVIDERS: ResourceType<Provider> = {
  ...FORKLIFT_KIND.provider,
  ...namespaced,
  plural: 'providers',
};
export const STORAGE_MAPS: ResourceType<StorageMap> = {
  ...FORKLIFT_KIND.storageMap,
  ...namespaced,
  plural: 'storagemaps',
};
export const NETWORK_MAPS: ResourceType<NetworkMap> = {
  ...FORKLIFT_KIND.networkMap,
  ...namespaced,
  plural: 'networkmaps',
};
export const HOOKS: ResourceType<Hook> = { ...FORKLIFT_KIND.hook, ...namespaced, plural: 'hooks' };

/** core/v1 Secret. */
export interface Secret extends KubernetesObject {
  type?: string;
  /** Base64. */
  data?: Record<string, string>;
}

/** cdi.kubevirt.io StorageProfile: of the storage class of its name. */
export interface StorageProfile extends KubernetesObject {
  status?: { claimPropertySets?: ClaimProperties[] };
}

export const VIRTUAL_MACHINES: ResourceType<VirtualMachine> = {
  ...LIVE_KIND.vm,
  ...namespaced,
  plural: 'virtualmachines',
};
export const WHOLE_VMIS = VMIS as ResourceType<Vmi>;
export const VMIMS = MIGRATIONS as ResourceType<Vmim>;
export const WHOLE_CLAIMS = CLAIMS as ResourceType<Claim>;
export const DATA_VOLUMES: ResourceType<DataVolume> = {
  ...LIVE_KIND.dataVolume,
  ...namespaced,
  plural: 'datavolumes',
};
export const SECRETS: ResourceType<Secret> = { ...LIVE_KIND.secret, ...namespaced, plural: 'secrets' };
export const CONFIG_MAPS: ResourceType<ConfigMap> = {
  ...LIVE_KIND.configMap,
  ...namespaced,
  plural: 'configmaps',
};
export const INSTANCETYPES: ResourceType = {
  ...LIVE_KIND.instancetype,
  ...namespaced,
  plural: 'virtualmachineinstancetypes',
};
export const PREFERENCES: ResourceType = {
  ...LIVE_KIND.preference,
  ...namespaced,
  plural: 'virtualmachinepreferences',
};
export const CLUSTER_INSTANCETYPES: ResourceType = {
  ...LIVE_KIND.clusterInstancetype,
  plural: 'virtualmachineclusterinstancetypes',
  namespaced: false,
};
export const CLUSTER_PREFERENCES: ResourceType = {
  ...LIVE_KIND.clusterPreference,
  plural: 'virtualmachineclusterpreferences',
  namespaced: false,
};
export const CONTROLLER_REVISIONS: ResourceType<ControllerRevision> = {
  ...LIVE_KIND.revision,
  ...namespaced,
  plural: 'controllerrevisions',
};
export const JOBS: ResourceType<Job> = { ...LIVE_KIND.job, ...namespaced, plural: 'jobs' };
export const STORAGE_PROFILES: ResourceType<StorageProfile> = {
  apiVersion: 'cdi.kubevirt.io/v1beta1',
  kind: 'StorageProfile',
  plural: 'storageprofiles',
  namespaced: false,
};
export const SERVICE_ACCOUNTS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  ...namespaced,
};
export const STORAGE_CLASSES: ResourceType = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  namespaced: false,
};
export const NETWORK_ATTACHMENTS: ResourceType = {
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  plural: 'network-attachment-definitions',
  namespaced: true,
};
/** Forklift's own configuration: where there is one, Forklift runs the plans. */
export const FORKLIFT_CONTROLLERS: ResourceType = {
  apiVersion: 'forklift.konveyor.io/v1beta1',
  kind: 'ForkliftController',
  plural: 'forkliftcontrollers',
  namespaced: true,
};

/** The guard's, by which the requester is written on each object. */
export const REVIEWS: {
  readonly at: { readonly name: string };
  readonly type: ResourceType;
} = {
  at: { name: WEBHOOK.liveConfiguration },
  type: {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    plural: 'mutatingwebhookconfigurations',
    namespaced: false,
  },
};

/** apps/v1 Deployment. */
interface Deployment extends KubernetesObject {
  spec: { replicas: number };
}

/** The process that watches the clusters of VMs that move: scaled up by `live`, and down by the guard. */
export const LIVE_WATCHER: {
  readonly at: { readonly namespace: string; readonly name: string };
  readonly type: ResourceType<Deployment>;
} = {
  at: { namespace: SYSTEM_NAMESPACE, name: 'mtq-live-watcher' },
  type: { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments', ...namespaced },
};
