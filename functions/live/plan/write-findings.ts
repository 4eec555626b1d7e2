import { nextConditions, type Finding } from '../../domain/live/conditions.ts';
import type { LiveCondition } from '../../domain/live/forklift.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { isSame } from '../../domain/same.ts';
import type { Cluster, ResourceType } from '../../kubernetes/cluster.ts';
import type { LiveContext } from '../context.ts';

interface WithStatus extends KubernetesObject {
  status?: { conditions?: LiveCondition[]; observedGeneration?: number };
}

/** Writes the status if it has changed. Rejects with a conflict if the object has changed. */
export async function putStatus<T extends KubernetesObject & { status?: object }>(
  hub: Cluster,
  type: ResourceType<T>,
  { object, status }: { readonly object: T; readonly status: T['status'] },
): Promise<T> {
  if (isSame(object.status, status)) return object;
  return (await hub.replace(type, { ...object, status }, { subresource: 'status' })).object;
}

interface Findings<T extends WithStatus> {
  readonly object: T;
  readonly findings: readonly Finding[];
  readonly more?: Partial<T['status']>;
}

/** Writes the findings of an object, and other fields of its status. */
export async function writeFindings<T extends WithStatus>(
  type: ResourceType<T>,
  { object, findings, more = {} }: Findings<T>,
  { hub, clock }: Pick<LiveContext, 'hub' | 'clock'>,
): Promise<T> {
  const { generation } = object.metadata;
  const status = {
    ...object.status,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    conditions: nextConditions(object.status?.conditions ?? [], findings, clock.now().toISOString()),
    ...more,
  };
  return putStatus(hub, type, { object, status });
}

/**
 * Writes what the requester of a provider or a map lacks, and takes all else out of the status. Without its generation the object is
 * checked again after each write to it, also of a label: the user may have got the rights since.
 */
export async function writeRefusal<T extends WithStatus>(
  type: ResourceType<T>,
  { object, findings, more = {} }: Findings<T>,
  { hub, clock }: Pick<LiveContext, 'hub' | 'clock'>,
): Promise<T> {
  const conditions = nextConditions(object.status?.conditions ?? [], findings, clock.now().toISOString());
  return putStatus(hub, type, { object, status: { ...more, conditions } });
}
