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

/** Annotations by their keys; undefined for one that the object is not to have. */
type Wanted = Readonly<Record<string, string | undefined>>;

/** Allows the request, and gives the object these annotations, whatever its writer gave it. */
export function withAnnotations(object: KubernetesObject, wanted: Wanted): Allowed {
  const { annotations } = object.metadata;
  const wrong = Object.entries(wanted).filter(([key, content]) => annotations?.[key] !== content);
  if (wrong.length === 0) return { allowed: true };
  if (annotations === undefined)
    return { allowed: true, patch: [{ op: 'add', path: PATH, value: Object.fromEntries(wrong) }] };
  const patch = wrong.map(([key, value]) => {
    // A JSON pointer (RFC 6901).
    const path = `${PATH}/${key.replaceAll('/', '~1')}`;
    return value === undefined ? ({ op: 'remove', path } as const) : ({ op: 'add', path, value } as const);
  });
  return { allowed: true, patch };
}

const PATH = '/metadata/annotations';

/**
 * Allows the request on a Migration, with this requester. Its clusters stay as `live` wrote them, whose own write does not come here
 * (hack/manifests/admission/live.ts).
 */
export const withMigrationAnnotations = (
  { object, oldObject }: Written,
  requester: string | undefined,
): Allowed =>
  withAnnotations(object, {
    [LIVE_ANNOTATION.requester]: requester,
    [LIVE_ANNOTATION.clusters]: oldObject?.metadata.annotations?.[LIVE_ANNOTATION.clusters],
  });

type Written = Exclude<AdmissionRequest, { operation: 'DELETE' }>;

const specOf = (object: KubernetesObject | null): unknown =>
  object !== null && 'spec' in object ? object.spec : undefined;

/** Whether the request is an update that leaves the spec as it is stored. */
export const hasSameSpec = ({ object, oldObject }: Written): boolean =>
  oldObject !== null && isSame(specOf(object), specOf(oldObject));

/** Allows the request. The user who writes the spec becomes the requester; any other update keeps the stored one. */
export const withRequester = (request: Written): Allowed =>
  withAnnotations(request.object, {
    [LIVE_ANNOTATION.requester]: hasSameSpec(request)
      ? requesterAnnotation(request.oldObject)
      : JSON.stringify(requesterIn(request)),
  });
