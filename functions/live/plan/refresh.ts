import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Cluster, ResourceType } from '../../kubernetes/cluster.ts';
import { isConflict } from '../../kubernetes/errors.ts';
import { getOrUndefined } from '../read/get.ts';

/** Whether a user asks to look at the object again: after a change that brings no event, such as one in another cluster. */
export const isRefreshAsked = ({ metadata }: KubernetesObject): boolean =>
  metadata.annotations?.[LIVE_ANNOTATION.refresh] !== undefined;

/** Removes the annotation that was there before the look. One with another value stays: its event is still to come. */
export async function endRefresh<T extends KubernetesObject>(
  hub: Pick<Cluster, 'get' | 'replace'>,
  type: ResourceType<T>,
  asked: T,
): Promise<void> {
  const value = asked.metadata.annotations?.[LIVE_ANNOTATION.refresh];
  const { namespace = '', name } = asked.metadata;
  if (value === undefined) return;
  const object = await getOrUndefined(hub.get(type, { namespace, name }));
  const { [LIVE_ANNOTATION.refresh]: now, ...annotations } = object?.metadata.annotations ?? {};
  if (object === undefined || now !== value) return;
  try {
    await hub.replace(type, { ...object, metadata: { ...object.metadata, annotations } });
  } catch (error) {
    // The event of the change that was first has the annotation still.
    if (!isConflict(error)) throw error;
  }
}
