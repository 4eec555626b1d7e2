import { ignoreNotFound, isForbidden, isNotFound } from '../../kubernetes/errors.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Read, ReadList } from '../../kubernetes/cluster.ts';

/** undefined: the API server says that there is no object of the name. That it does not serve the kind is no such answer: rejects. */
export async function getOrUndefined<T>(read: Promise<Read<T>>): Promise<T | undefined> {
  try {
    return (await read).object;
  } catch (error) {
    if (isNotFound(error) && error.status.details?.name !== undefined) return undefined;
    throw error;
  }
}

/** As `found`, of a kind that a cluster may do without, such as CDI's. */
export const getIfServed = async <T>(read: Promise<Read<T>>): Promise<T | undefined> =>
  (await ignoreNotFound(read))?.object;

/** The objects; none of a kind that the cluster does not serve. */
export async function listIfServed<T extends KubernetesObject>(list: Promise<ReadList<T>>): Promise<T[]> {
  return (await ignoreNotFound(list))?.items ?? [];
}

/** `otherwise` where the account may not read it. */
export const unlessForbidden = async <T, F>(read: Promise<T>, otherwise: F): Promise<T | F> =>
  read.catch((error: unknown) => {
    if (isForbidden(error)) return otherwise;
    throw error;
  });
