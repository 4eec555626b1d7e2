import {
  CONDITION,
  listed,
  NAMED,
  OBJECT,
  SIZE_IN_ANNOTATIONS,
  SIZE_IN_SPEC,
  SIZE_IN_STATUS,
} from '../../functions/cluster/listed.ts';
import { ANNOTATION, KUBEVIRT } from '../../functions/domain/names.ts';
import type {
  KubernetesObject,
  ResourceQuota,
  VirtualMachineInstance,
} from '../../functions/domain/objects.ts';
import type { ListedType } from '../../functions/kubernetes/cluster.ts';
import { RESOURCE_QUOTAS, VMIS } from '../../functions/kubernetes/resources.ts';

/* What preflight keeps of lists of the whole cluster, which may have 10,000 VMs. */

/** Whether a VM can be migrated, and what its target's size depends on. */
export const LISTED_VMIS_TO_PLAN = listed<VirtualMachineInstance>(VMIS, {
  ...OBJECT,
  metadata: { ...NAMED, labels: { [KUBEVIRT.outdatedLauncher]: true }, annotations: SIZE_IN_ANNOTATIONS },
  status: {
    phase: true,
    nodeName: true,
    activePods: false,
    ...SIZE_IN_STATUS,
    evacuationNodeName: false,
    conditions: [{ ...CONDITION, reason: true, message: true, lastProbeTime: false }],
    migrationState: false,
  },
  spec: {
    evictionStrategy: true,
    terminationGracePeriodSeconds: false,
    priorityClassName: false,
    ...SIZE_IN_SPEC,
  },
});

export const LISTED_QUOTAS_TO_CHARGE = listed<ResourceQuota>(RESOURCE_QUOTAS, {
  ...OBJECT,
  metadata: {
    ...NAMED,
    labels: true,
    annotations: { [ANNOTATION.grant]: true, [ANNOTATION.skip]: true },
  },
  spec: { hard: true, scopes: true, scopeSelector: true },
  status: { hard: true, used: true },
});

/** Lists only objects of these namespaces. */
export const inNamespaces = <T extends KubernetesObject>(
  type: ListedType<T>,
  namespaces: ReadonlySet<string>,
): ListedType<T> => ({
  ...type,
  trim: (whole) => (namespaces.has(whole.metadata.namespace ?? '') ? type.trim(whole) : undefined),
});
