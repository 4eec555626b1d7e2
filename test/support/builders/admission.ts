import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { AdmissionRequest, Change } from '../../../webhook/admission/admission.ts';
import { metadata } from './object.ts';

type Different = Partial<Omit<AdmissionRequest, keyof Change>> & {
  readonly [K in keyof Change]?: Change[K];
};

/**
 * By default Alice creates a pod in the tenant's namespace. The request has the objects of its operation, plain
 * ones by default.
 */
export function aRequest({ operation, object, oldObject, ...different }: Different = {}): AdmissionRequest {
  return {
    uid: 'request-1',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    resource: { group: '', version: 'v1', resource: 'pods' },
    namespace: 'tenant',
    userInfo: { username: 'alice', groups: ['system:authenticated'] },
    dryRun: false,
    ...different,
    ...changed(operation ?? 'CREATE', object ?? PLAIN, oldObject ?? PLAIN),
  };
}

const PLAIN: KubernetesObject = { metadata: metadata('plain') };

function changed(
  operation: Change['operation'],
  object: KubernetesObject,
  oldObject: KubernetesObject,
): Change {
  switch (operation) {
    case 'CREATE':
      return { operation, object, oldObject: null };
    case 'UPDATE':
      return { operation, object, oldObject };
    case 'DELETE':
      return { operation, object: null, oldObject };
  }
}

/** For this resource ("pods", "pods/resize"). */
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

/** A namespace changes from the first to the second; from null: it is created. */
export const fromTo = (oldObject: KubernetesObject | null, object: KubernetesObject): Change =>
  oldObject === null ? changed('CREATE', object, PLAIN) : changed('UPDATE', object, oldObject);
