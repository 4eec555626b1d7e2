import { ignoreNotFound, isForbidden, isNotFound } from '../../kubernetes/errors.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Read, ReadList } from '../../kubernetes/cluster.ts';

/** Resolves with undefined if the API server answers that there is no object of the name. Rejects if it does not serve the kind. */
export async function getOrUndefined<T>(read: Promise<Read<T>>): Promise<T | undefined> {
  try {
    return (await read).object;
  } catch (error) {
    if (isNotFound(error) && error.status.details?.name !== undefined) return undefined;
    throw error;
  }
}

/** Resolves with undefined also if the cluster does not serve the kind, such as CDI's. */
export const getIfServed = async <T>(read: Promise<Read<T>>): Promise<T | undefined> =>
  (await ignoreNotFound(read))?.object;

/** Resolves with the objects; none if the cluster does not serve the kind. */
export async function listIfServed<T extends KubernetesObject>(list: Promise<ReadList<T>>): Promise<T[]> {
  return (await ignoreNotFound(list))?.items ?? [];
}

/** Resolves with `otherwise` if the account may not read it. */
export const unlessForbidden = async <T, F>(read: Promise<T>, otherwise: F): Promise<T | F> =>
  read.catch((error: unknown) => {
    if (isForbidden(error)) return otherwise;
    throw error;
  });
