import { isDeepStrictEqual } from 'node:util';
import {
  ANNOTATION,
  isReserved,
  KUBEVIRT,
  OUR_KEYS,
  OUR_USERS,
  POD_IDENTITY_LABELS,
} from '../../../functions/domain/names.ts';
import type { Pod } from '../../../functions/domain/objects.ts';
import type { AdmissionRequest } from '../../../webhook/admission/admission.ts';
import {
  changedKeys,
  changedNamespaceKeys,
  setsBreakGlass,
} from '../../../webhook/admission/changed-keys.ts';
import { breakGlassToken } from '../../../functions/domain/break-glass.ts';

export interface MatchCondition {
  /** The exact text of the manifest, without white space. With another text the model does not start. */
  readonly expression: string;
  readonly holds: (request: AdmissionRequest, mayOverride: (user: string) => boolean) => boolean;
}

const isOurs = ({ userInfo }: AdmissionRequest): boolean => OUR_USERS.includes(userInfo.username);

const OUR_USERS_IN_CEL = `request.userInfo.username in [
  'system:serviceaccount:mtq-system:mtq-feasibility',
  'system:serviceaccount:mtq-system:mtq-lock',
  'system:serviceaccount:mtq-system:mtq-raise',
  'system:serviceaccount:mtq-system:mtq-lower',
  'system:serviceaccount:mtq-system:mtq-unlock',
  'system:serviceaccount:mtq-system:mtq-guard']`;

const hasDeadline = (pod: AdmissionRequest['object']): boolean =>
  (pod as Partial<Pod> | null)?.spec?.activeDeadlineSeconds !== undefined;

/** The changed pod may look like an expected target pod, and the old one did not. */
const changesIdentity = ({ object, oldObject }: AdmissionRequest): boolean =>
  POD_IDENTITY_LABELS.some(
    (label) => object?.metadata.labels?.[label] !== oldObject?.metadata.labels?.[label],
  ) ||
  (object?.metadata.labels?.[KUBEVIRT.launcherLabel] !== undefined &&
    !isDeepStrictEqual(object.metadata.ownerReferences, oldObject?.metadata.ownerReferences));

const isQuotaUpdate = ({ resource, operation }: AdmissionRequest): boolean =>
  resource.resource === 'resourcequotas' && operation === 'UPDATE';

const CHANGES = `object.metadata[?key[0]][?key[1]]
  != (oldObject == null ? optional.none() : oldObject.metadata[?key[0]][?key[1]])`;
const IS_LOCKED = `((oldObject == null ? optional.none() : oldObject.metadata[?'annotations'][?'mtq.kubevirt.io/lock']).hasValue()
  || (oldObject == null ? optional.none() : oldObject.metadata[?'labels'][?'mtq.kubevirt.io/locked']).hasValue())`;
const GLASS = "object.metadata[?'annotations'][?'mtq.kubevirt.io/break-glass']";
const GLASS_IS_SET = `${GLASS}.hasValue()
  && ${GLASS} != (oldObject == null ? optional.none() : oldObject.metadata[?'annotations'][?'mtq.kubevirt.io/break-glass'])`;
const TOKEN = `(oldObject == null ? optional.none()
  : oldObject.metadata[?'annotations'][?'mtq.kubevirt.io/token']).orValue('')`;

const breaksGlass = (request: AdmissionRequest): boolean =>
  setsBreakGlass(request) &&
  request.object?.metadata.annotations?.[ANNOTATION.breakGlass] ===
    breakGlassToken(request.oldObject?.metadata.annotations);

/** The CEL of config/webhook in TypeScript, by the conditions' names. */
export const MATCH_CONDITIONS: Readonly<Record<string, MatchCondition>> = {
  'tenant-namespace': {
    expression: `!(request.namespace in ['default', 'mtq-system', 'kubevirt'])
      && !['kube-', 'openshift-', 'knative-'].exists(prefix, request.namespace.startsWith(prefix))`,
    holds: ({ namespace = '' }) => !isReserved({ namespace, kubevirtNamespace: 'kubevirt' }),
  },
  'not-a-harmless-update': {
    expression: `request.operation != 'UPDATE' || request.?subResource.orValue('') != ''
      || (request.resource.resource == 'pods'
      ? object.spec[?'activeDeadlineSeconds'].hasValue() != oldObject.spec[?'activeDeadlineSeconds'].hasValue()
      || ['kubevirt.io', 'kubevirt.io/created-by', 'kubevirt.io/migrationJobUID'].exists(label,
      object.metadata[?'labels'][?label] != oldObject.metadata[?'labels'][?label])
      || object.metadata[?'labels'][?'kubevirt.io'].hasValue()
      && object.metadata[?'ownerReferences'] != oldObject.metadata[?'ownerReferences']
      : request.resource.resource != 'resourceclaims'
      || object.metadata[?'annotations'][?'resource.kubernetes.io/extended-resource-claim']
      != oldObject.metadata[?'annotations'][?'resource.kubernetes.io/extended-resource-claim']
      || object.metadata[?'ownerReferences'] != oldObject.metadata[?'ownerReferences'])`,
    holds: (request) => {
      const { operation, subResource = '', resource, object, oldObject } = request;
      return (
        operation !== 'UPDATE' ||
        subResource !== '' ||
        // The model has no ResourceClaims.
        resource.resource !== 'pods' ||
        hasDeadline(object) !== hasDeadline(oldObject) ||
        changesIdentity(request)
      );
    },
  },
  'quota-keys-change': {
    expression: `!(request.resource.resource == 'resourcequotas' && request.operation == 'UPDATE')
      || [['annotations', 'mtq.kubevirt.io/grant'], ['annotations', 'mtq.kubevirt.io/migrations'],
      ['annotations', 'mtq.kubevirt.io/last-release'], ['labels', 'mtq.kubevirt.io/raised']].exists(key, ${CHANGES})`,
    holds: (request) => !isQuotaUpdate(request) || changedKeys(request, OUR_KEYS.quota).length > 0,
  },
  'not-our-quota-update': {
    expression: `!(request.resource.resource == 'resourcequotas' && request.operation == 'UPDATE'
      && ${OUR_USERS_IN_CEL})`,
    holds: (request) => !(isQuotaUpdate(request) && isOurs(request)),
  },
  'our-keys-change': {
    expression: `[['annotations', 'mtq.kubevirt.io/lock'], ['annotations', 'mtq.kubevirt.io/token'],
      ['annotations', 'mtq.kubevirt.io/migrations'], ['annotations', 'mtq.kubevirt.io/last-attempt'],
      ['labels', 'mtq.kubevirt.io/locked']].exists(key, ${CHANGES}
      && !(oldObject == null && key[1] == 'mtq.kubevirt.io/last-attempt')
      && (object.metadata[?key[0]][?key[1]].hasValue() || ${IS_LOCKED})) || (${GLASS_IS_SET})`,
    holds: (request) => changedNamespaceKeys(request).length > 0,
  },
  'not-ours': {
    expression: `!(${OUR_USERS_IN_CEL})`,
    holds: (request) => !isOurs(request),
  },
  'no-break-glass': {
    expression: `!(${GLASS_IS_SET}
      && ${GLASS} == optional.of((${TOKEN}.matches('^[A-Za-z0-9._-]{1,253}$') ? ${TOKEN} : 'unreadable'))
      && authorizer.group('mtq.kubevirt.io').resource('locks').name(object.metadata.name).check('override').allowed())`,
    holds: (request, mayOverride) => !(breaksGlass(request) && mayOverride(request.userInfo.username)),
  },
};

/** CEL ignores white space between words. */
export const sameExpression = (one: string, other: string): boolean =>
  one.replace(/\s+/g, '') === other.replace(/\s+/g, '');
