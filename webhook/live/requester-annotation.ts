import { LIVE_ANNOTATION } from '../../functions/domain/live/names.ts';
import type { Requester } from '../../functions/domain/live/requester.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { isSame } from '../../functions/domain/same.ts';
import type { AdmissionRequest, Allowed } from '../admission/admission.ts';

/** Returns the user who sends the request. */
export function requesterIn({ userInfo }: AdmissionRequest): Requester {
  const { username: user, uid, groups, extra } = userInfo;
  return {
    ...{ user, groups },
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
}

/** Returns the annotation as it is stored. */
export const requesterAnnotation = (object: KubernetesObject | null): string | undefined =>
  object?.metadata.annotations?.[LIVE_ANNOTATION.requester];

/** A JSON pointer (RFC 6901). */
const POINTER = `/metadata/annotations/${LIVE_ANNOTATION.requester.replaceAll('/', '~1')}`;

/** Allows the request, and gives the object this annotation, whatever its writer gave it; undefined for none. */
export function withAnnotation(object: KubernetesObject, content: string | undefined): Allowed {
  const { annotations } = object.metadata;
  if (annotations?.[LIVE_ANNOTATION.requester] === content) return { allowed: true };
  if (content === undefined) return { allowed: true, patch: [{ op: 'remove', path: POINTER }] };
  const patch =
    annotations === undefined
      ? { path: '/metadata/annotations', value: { [LIVE_ANNOTATION.requester]: content } }
      : { path: POINTER, value: content };
  return { allowed: true, patch: [{ op: 'add', ...patch }] };
}

type Written = Exclude<AdmissionRequest, { operation: 'DELETE' }>;

const specOf = (object: KubernetesObject | null): unknown =>
  object !== null && 'spec' in object ? object.spec : undefined;

/** Whether the request is an update that leaves the spec as it is stored. */
export const hasSameSpec = ({ object, oldObject }: Written): boolean =>
  oldObject !== null && isSame(specOf(object), specOf(oldObject));

/** Allows the request. The user who writes the spec becomes the requester; any other update keeps the stored one. */
export const withRequester = (request: Written): Allowed =>
  withAnnotation(
    request.object,
    hasSameSpec(request) ? requesterAnnotation(request.oldObject) : JSON.stringify(requesterIn(request)),
  );
