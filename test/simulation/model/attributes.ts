import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import type { AdmissionRequest, Change } from '../../../webhook/admission/admission.ts';
import type { Phase, Subresource } from './request.ts';

/** A write, as admission sees it (apiserver/pkg/admission, Attributes). */
export type Attributes = Change & {
  readonly user: string;
  readonly type: ResourceType;
  readonly subresource: Subresource | undefined;
  /** A Namespace's is its own name. */
  readonly namespace: string | undefined;
  readonly name: string;
  readonly dryRun: boolean;
  /** Where the request waits until it may continue. */
  readonly suspend: (phase: Phase) => Promise<void>;
};

/** The review request for a webhook. */
export function toReview(attributes: Attributes, uid: string): AdmissionRequest {
  const { user, type, subresource, namespace, name, dryRun, suspend: _, ...change } = attributes;
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
    userInfo: { username: user, groups: ['system:authenticated'] },
    dryRun,
    ...change,
  };
}
