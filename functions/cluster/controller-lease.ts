import { KUBEVIRT } from '../domain/names.ts';
import type { Lease } from '../domain/objects.ts';
import type { Reader } from '../kubernetes/cluster.ts';
import { isNotFound, isRejected } from '../kubernetes/errors.ts';
import { LEASES } from '../kubernetes/resources.ts';

/** virt-controller's Lease in KubeVirt's namespace; undefined: there is none, or we have no right to read it. */
export async function readControllerLease(
  cluster: Pick<Reader, 'get'>,
  namespace: string,
): Promise<Lease | undefined> {
  try {
    return (await cluster.get(LEASES, { namespace, name: KUBEVIRT.controllerLease })).object;
  } catch (error) {
    if (isNotFound(error) || isRejected(error)) return undefined;
    throw error;
  }
}
