import type { KubernetesObject, Namespace, Pod, ResourceQuota } from '../../../functions/domain/objects.ts';
import { canonicalList } from './canonical.ts';
import { isSame } from './frozen.ts';
import type { Subresource } from './request.ts';

/** How the API server changes an object of a kind before it stores it (its registry's strategy). */
export interface Strategy {
  /** A custom resource's PUT needs a resourceVersion, and its /status changes only the status. */
  readonly isCustom: boolean;
  /** The stored form of a new object, without the client's status. */
  readonly created: (object: KubernetesObject) => KubernetesObject;
  /** The stored form of a changed object: only the fields that this (sub)resource may change; without metadata. */
  readonly updated: (next: KubernetesObject, former: KubernetesObject, by?: Subresource) => KubernetesObject;
  /** Seconds that a deletion waits for the kubelet; undefined: the kind has no grace period. */
  readonly gracePeriod?: (object: KubernetesObject, asked?: number) => number;
}

interface WithParts extends KubernetesObject {
  spec?: unknown;
  status?: unknown;
}

const FINALIZER = 'kubernetes';

type SpecifiedNamespace = Namespace & { spec?: { finalizers?: string[] } };

/** pkg/registry/core/namespace/strategy.go */
const namespaces: Strategy = {
  isCustom: false,
  created: (object) => {
    const { metadata } = object;
    const labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name };
    const spec = { finalizers: [FINALIZER] };
    return { ...object, metadata: { ...metadata, labels }, spec, status: { phase: 'Active' } } as Namespace;
  },
  updated: (next: SpecifiedNamespace, former: SpecifiedNamespace, by) => {
    const { name, labels } = next.metadata;
    const metadata = { ...next.metadata, labels: { ...labels, 'kubernetes.io/metadata.name': name } };
    return {
      ...next,
      metadata,
      spec: by === 'finalize' ? { finalizers: next.spec?.finalizers } : former.spec,
      status: by === 'status' ? next.status : former.status,
    } as SpecifiedNamespace;
  },
};

/** pkg/registry/core/resourcequota/strategy.go; quantities come back in their canonical form. */
const quotas: Strategy = {
  isCustom: false,
  created: (object: WithParts) => ({ ...object, spec: canonicalSpec(object as ResourceQuota), status: {} }),
  updated: (next, former, by) => {
    const [quota, old] = [next as ResourceQuota, former as ResourceQuota];
    return by === 'status'
      ? { ...quota, spec: old.spec, status: canonicalStatus(quota, old) }
      : { ...quota, spec: canonicalSpec(quota, old), status: old.status ?? {} };
  },
};

type Part<T, Name extends keyof T> = Exclude<T[Name], undefined>;

/** An unchanged quantity is already canonical. */
function canonicalSpec(
  { spec }: Partial<ResourceQuota>,
  former?: ResourceQuota,
): Part<ResourceQuota, 'spec'> {
  if (spec !== undefined && spec === former?.spec) return spec;
  return { ...spec, hard: canonicalList(spec?.hard) } as Part<ResourceQuota, 'spec'>;
}

function canonicalStatus({ status }: ResourceQuota, former: ResourceQuota): Part<ResourceQuota, 'status'> {
  if (status !== undefined && status === former.status) return status;
  const [enforced, used] = [canonicalList(status?.hard), canonicalList(status?.used)];
  return { hard: enforced, used } as Part<ResourceQuota, 'status'>;
}

/** pkg/registry/core/pod/strategy.go; only /resize changes a pod's spec. */
const pods: Strategy = {
  isCustom: false,
  created: (object) => {
    const status = { phase: 'Pending', qosClass: qosOf((object as Pod).spec.containers) };
    return { ...object, metadata: { ...object.metadata, generation: 1 }, status } as Pod;
  },
  updated: (next, former, by) => {
    const [old, wanted] = [former as Pod, next as Pod];
    switch (by) {
      case 'resize': {
        const spec = { ...old.spec, containers: resized(old, wanted) };
        return {
          ...old,
          metadata: { ...old.metadata, resourceVersion: next.metadata.resourceVersion },
          spec,
        };
      }
      case 'status':
        return { ...wanted, spec: old.spec };
      case 'finalize':
      case undefined:
        return { ...wanted, spec: old.spec, status: old.status ?? {} };
    }
  },
  gracePeriod: (object, asked) => {
    const { spec, status } = object as Pod & { spec: { terminationGracePeriodSeconds?: number } };
    const isOver = ['Succeeded', 'Failed'].includes(status?.phase ?? '');
    if (spec.nodeName === undefined || isOver) return 0;
    return asked ?? spec.terminationGracePeriodSeconds ?? 30;
  },
};

/** The stored containers with the requested resources. */
const resized = (old: Pod, wanted: Pod): Pod['spec']['containers'] =>
  old.spec.containers.map((container) => {
    const resources = wanted.spec.containers.find(({ name }) => name === container.name)?.resources;
    return { ...container, ...(resources === undefined ? {} : { resources }) };
  });

/** As far as quota scopes need it: whether the pod requests anything. */
function qosOf(containers: Pod['spec']['containers']): string {
  const asked = containers.flatMap(({ resources }) =>
    Object.keys({ ...resources?.requests, ...resources?.limits }),
  );
  return asked.some((name) => name === 'cpu' || name === 'memory') ? 'Burstable' : 'BestEffort';
}

/** The kind has no status, and the model never changes it. */
const events: Strategy = { isCustom: false, created: (object) => object, updated: (next) => next };

/** apiextensions-apiserver/pkg/registry/customresource: strategy.go, status_strategy.go */
const custom = ({ hasStatus }: { hasStatus: boolean }): Strategy => ({
  isCustom: true,
  created: (object: WithParts) => {
    const { status, ...rest } = object;
    const metadata = { ...object.metadata, generation: 1 };
    return hasStatus ? { ...rest, metadata } : { ...rest, metadata, status };
  },
  updated: (next: WithParts, former: WithParts, by) => {
    if (by === 'status') {
      const { resourceVersion } = next.metadata;
      return {
        ...former,
        metadata: { ...former.metadata, resourceVersion },
        status: next.status,
      } as WithParts;
    }
    return hasStatus ? ({ ...next, status: former.status } as WithParts) : next;
  },
});

const withStatus = custom({ hasStatus: true });
const STRATEGIES: Readonly<Record<string, Strategy>> = {
  Namespace: namespaces,
  ResourceQuota: quotas,
  Pod: pods,
  Event: events,
  // Its CRD has no status subresource (test/cluster/kubevirt/crds).
  VirtualMachineInstance: custom({ hasStatus: false }),
};

export const strategyOf = (kind: string): Strategy => STRATEGIES[kind] ?? withStatus;

/** The fields that count as a new generation: all but metadata, and but a status with a subresource. */
export function isNewGeneration(kind: string, next: WithParts, former: WithParts): boolean {
  // Namespaces and quotas have no generation.
  if (!strategyOf(kind).isCustom && kind !== 'Pod') return false;
  const rest = ({ metadata: _, status, ...parts }: WithParts): object =>
    kind === 'VirtualMachineInstance' ? { ...parts, status } : parts;
  return !isSame(rest(next), rest(former));
}
