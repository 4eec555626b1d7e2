import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { AdmissionRequest } from '../../webhook/admission.ts';

/** Alice creates a pod in the tenant's namespace, unless told otherwise. */
export function aRequest(different: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    uid: 'request-1',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    resource: { group: '', version: 'v1', resource: 'pods' },
    namespace: 'tenant',
    operation: 'CREATE',
    userInfo: { username: 'alice', groups: ['system:authenticated'] },
    object: null,
    oldObject: null,
    dryRun: false,
    ...different,
  };
}

/** Of this resource ("pods", "pods/resize"). */
export function about(path: string): Pick<AdmissionRequest, 'resource' | 'subResource'> {
  const [resource = '', subResource] = path.split('/');
  return {
    resource: { group: '', version: 'v1', resource },
    ...(subResource === undefined ? {} : { subResource }),
  };
}

export const by = (username: string): Pick<AdmissionRequest, 'userInfo'> => ({
  userInfo: { username, groups: ['system:authenticated'] },
});

/** A namespace changes from the one to the other. */
export const fromTo = (
  oldObject: KubernetesObject | null,
  object: KubernetesObject | null,
): Pick<AdmissionRequest, 'object' | 'oldObject'> => ({ oldObject, object });
