import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import type { AdmissionRequest } from '../../../webhook/admission.ts';
import type { Phase, Subresource } from './request.ts';

/** A write, as admission looks at it (apiserver/pkg/admission, Attributes). */
export interface Attributes {
  readonly user: string;
  readonly type: ResourceType;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly subresource: Subresource | undefined;
  /** A Namespace's is its own name. */
  readonly namespace: string | undefined;
  readonly name: string;
  /** What it would become; null for DELETE. */
  readonly object: KubernetesObject | null;
  /** What it is now; null for CREATE. */
  readonly oldObject: KubernetesObject | null;
  readonly dryRun: boolean;
  /** Where the request waits until it may go on. */
  readonly park: (phase: Phase) => Promise<void>;
}

/** What a webhook is asked. */
export function toReview(attributes: Attributes, uid: string): AdmissionRequest {
  const { user, type, operation, subresource, namespace, name, object, oldObject, dryRun } = attributes;
  const [group = '', version = ''] = type.apiVersion.includes('/')
    ? type.apiVersion.split('/')
    : ['', type.apiVersion];
  return {
    uid,
    kind: { group, version, kind: type.kind },
    resource: { group, version, resource: type.plural },
    ...(subresource === undefined ? {} : { subResource: subresource }),
    name,
    ...(namespace === undefined ? {} : { namespace }),
    operation,
    userInfo: { username: user, groups: ['system:authenticated'] },
    object,
    oldObject,
    dryRun,
  };
}
