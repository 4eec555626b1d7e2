import { KUBEVIRT, POD_IDENTITY_LABELS } from '../../../functions/domain/names.ts';
import { annotation, label, list, text } from './cel.ts';
import { IS_CONTROLLER } from './users.ts';
import type { Condition, Rule, Variable } from './manifest.ts';

/** The resources that a quota counts like pods, and the identity of a pod. */

export const POD_RULES: readonly Rule[] = [
  {
    apiGroups: [''],
    apiVersions: ['v1'],
    resources: ['pods'],
    operations: ['CREATE', 'UPDATE'],
    scope: 'Namespaced',
  },
  {
    apiGroups: [''],
    apiVersions: ['v1'],
    resources: ['pods/resize'],
    operations: ['UPDATE'],
    scope: 'Namespaced',
  },
];

/**
 * The rule for ResourceClaims. Quotas charge them to requests.<device> like pods, where a device class says so. Not every API server
 * serves them.
 */
export const CLAIM_RULE: Rule = {
  apiGroups: ['resource.k8s.io'],
  apiVersions: ['*'],
  resources: ['resourceclaims'],
  operations: ['CREATE', 'UPDATE'],
  scope: 'Namespaced',
};

const differs = (field: (of: string) => string): string => `${field('object')} != ${field('oldObject')}`;
const OWNERS = differs((of) => `${of}.metadata[?'ownerReferences']`);
const DEADLINE = differs((of) => `${of}.spec[?'activeDeadlineSeconds'].hasValue()`);
const LABEL_KEYS = `${list(POD_IDENTITY_LABELS)}.exists(label, ${differs((of) => `${of}.metadata[?'labels'][?label]`)})`;
const OF_A_POD = differs((of) => annotation(of, 'resource.kubernetes.io/extended-resource-claim'));

/**
 * The relevant updates are those after which a quota counts more (a pod gets a deadline, and so another scope; a ResourceClaim no
 * longer belongs to a pod that is charged already), and those that give a pod the identity of the lock's pod.
 */
export const NOT_A_HARMLESS_UPDATE: Condition = {
  name: 'not-a-harmless-update',
  expression: `request.operation != 'UPDATE' || request.?subResource.orValue('') != ''
    || (request.resource.resource == 'pods'
    ? ${DEADLINE} || ${LABEL_KEYS} || ${label('object', KUBEVIRT.launcherLabel)}.hasValue() && ${OWNERS}
    : request.resource.resource != 'resourceclaims' || ${OF_A_POD} || ${OWNERS})`,
};

/**
 * Identity of the pod, `<migration uid>/<vmi uid>`, as functions/domain/lock.ts makes it; empty: of no migration. It has two UIDs, because
 * a launcher has all labels of its VMI, and KubeVirt sets created-by last (docs/adr/0019). An attachment pod has no labels of its VM
 * and no labels that a tenant chose.
 */
export const POD_IDENTITY: readonly Variable[] = [
  {
    name: 'migration',
    expression: `object == null ? '' : ${label('object', KUBEVIRT.migrationJobUID)}.orValue('')`,
  },
  {
    name: 'of',
    expression: `object == null ? ''
      : ${label('object', KUBEVIRT.launcherLabel)}.orValue('') == ${text(KUBEVIRT.attachment)} ? ${text(KUBEVIRT.attachment)}
      : ${label('object', KUBEVIRT.createdBy)}.orValue('')`,
  },
];

/** The pod identities in ANNOTATION.migrations of an object. */
export const identitiesOf = (migrations: string): Variable => ({
  name: 'migrations',
  expression: `${migrations}.orValue('').split(',')`,
});

/** Whether the pod's identity is one of `variables.migrations`, and KubeVirt's controller sends the request. */
export const IS_POD_OF_LOCK = `request.resource.resource == 'pods' && ${IS_CONTROLLER}
  && variables.migration != '' && variables.of != ''
  && variables.migration + '/' + variables.of in variables.migrations`;
