import type {
  KubernetesObject,
  KubeVirt,
  LimitRange,
  Namespace,
  Pod,
  ResourceQuota,
  Vmmrq,
} from '../../domain/objects.ts';
import type { Hook, NetworkMap, Plan, Provider, StorageMap } from '../../domain/live/forklift.ts';
import type { Claim, VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import type { FoundResources } from '../on-target/resources.ts';
import type { KnownNames } from './maps.ts';

/** The objects that a plan refers to, as read. An object that does not exist is undefined. */
export interface PlanView {
  readonly plan: Plan;
  readonly source: Provider | undefined;
  readonly destination: Provider | undefined;
  readonly networks: NetworkMap | undefined;
  readonly storage: StorageMap | undefined;
  /** Networks of both clusters, as `namespace/name`. */
  readonly knownNetworks: KnownNames;
  readonly storageClasses: KnownNames;
  /** Hooks by `namespace/name`. */
  readonly hooks: ReadonlyMap<string, Hook>;
  /** Service accounts that the hooks need, and that the namespace of the plan lacks. */
  readonly missingAccounts: ReadonlySet<string>;
  /** The source; undefined if its provider is not Ready, so that its VMs are not known. */
  readonly sourceCluster: SourceView | undefined;
  readonly targetCluster: TargetView | undefined;
  /** The pods that run each VM on the source, by its uid; empty where the target namespace has no quota and no LimitRange. */
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  /** Instance types and preferences that VMs name, by the uid of the VM; `hidden`: the account may not read them on the source. */
  readonly instanceTypes: ReadonlyMap<string, FoundResources | 'hidden'>;
  /** Secrets and ConfigMaps that VMs name, and that the source lacks, by the uid of the VM. */
  readonly missingResources: ReadonlyMap<string, readonly string[]>;
  /** Labels for the CPU of a guest that no node of the target has together, by the uid of its VM. */
  readonly missingCpus: ReadonlyMap<string, readonly string[]>;
  /** The node of a guest that lacks labels about its CPU, by the uid of the VM. */
  readonly unlabelledNodes: ReadonlyMap<string, string>;
}

interface ClusterView {
  /** The uid of its namespace kube-system. */
  readonly cluster: string;
  readonly kubevirt: KubeVirt | undefined;
}

export interface SourceView extends ClusterView {
  /** The version of the API server: "v1.34.1". */
  readonly version: string;
  /** VMs of the entries of spec.vms, in their order. */
  readonly vms: readonly VmView[];
  /** The VMs that use each claim of the VMs' namespaces, by `namespace/name` of the claim. */
  readonly users: ReadonlyMap<string, readonly ClaimUser[]>;
}

/** A VM that uses a claim. */
export interface ClaimUser {
  readonly uid: string;
  /** The name; left out where the requester may not list the VMs of its namespace. */
  readonly name?: string;
}

export interface VmView {
  /** VMs that fit the entry: one, if all is well. */
  readonly found: readonly VirtualMachine[];
  readonly vmi: Vmi | undefined;
  /** The claims of its volumes by name. */
  readonly claims: ReadonlyMap<string, Claim>;
}

export interface TargetView extends ClusterView {
  /** VMs of the target namespace by name. */
  readonly vms: ReadonlyMap<string, VirtualMachine>;
  /** DataVolumes of the target namespace, and claims without one, by name. */
  readonly volumes: ReadonlyMap<string, KubernetesObject>;
  /** The target namespace, if it has quotas or LimitRanges. */
  readonly namespace: Namespace | undefined;
  readonly quotas: readonly ResourceQuota[];
  /** The VMMRQs that apply in the target namespace. They are read only if it has quotas. */
  readonly vmmrqs: readonly Vmmrq[];
  /** The LimitRanges of the target namespace; left out: the account may not read them. */
  readonly limitRanges?: readonly LimitRange[];
  /** VMs of the whole cluster by their MAC addresses, each as `namespace/name`. Empty if the requester may not list them. */
  readonly macs: ReadonlyMap<string, readonly string[]>;
}
