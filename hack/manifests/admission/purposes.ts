import { POLICY } from '../../../functions/domain/names.ts';
import { MARKS } from '../../../functions/domain/policy/purpose.ts';
import { MIGRATIONS, VMIS } from '../../../functions/kubernetes/resources.ts';
import { REFUSAL } from '../../../webhook/admission/messages.ts';
import { annotation, hole, label, list, oldAnnotation, orNone, withHoles } from './cel.ts';
import type { Policy, Rule } from './manifest.ts';

/** A rule for what only KubeVirt and admins write: functions/domain/policy/purpose.ts derives the purpose of a migration from it. */

const rule = (resource: string, operations: Rule['operations']): Rule => ({
  apiGroups: ['kubevirt.io'],
  apiVersions: ['*'],
  resources: [resource],
  operations,
  scope: 'Namespaced',
});

const isChanged = (annotations: readonly string[]): string =>
  annotations
    .map((key) => `(${annotation('object', key)} != ${oldAnnotation(key)} ? ${list([key])} : [])`)
    .join(' + ');
const labelChange = `(${label('object', MARKS.vmi)} != ${orNone(label('oldObject', MARKS.vmi))} ? ${list([MARKS.vmi])} : [])`;

/** The names of the marks that the request would change. */
const CHANGED = `request.resource.resource == '${VMIS.plural}' ? ${labelChange}
  : ${isChanged(MARKS.migration)}`;

/**
 * The right to drain a node: admins have it, and virt-controller, whose node controller patches nodes. So the policy needs no name of
 * KubeVirt's namespace, and a wrong name cannot stop a cluster's evacuations.
 */
const MAY_DRAIN = "authorizer.group('').resource('nodes').check('patch').allowed()";

/**
 * A VMMRQ may give to evacuations and updates only. No tenant can mark a migration as one, or copy the mark. A VMI may be created
 * with the label, by a backup that is restored: virt-controller corrects it once the VMI runs.
 */
export const purposes: Policy = {
  name: POLICY.purposes,
  rules: [rule(MIGRATIONS.plural, ['CREATE', 'UPDATE']), rule(VMIS.plural, ['UPDATE'])],
  variables: [{ name: 'changed', expression: CHANGED }],
  validations: [
    {
      expression: `variables.changed.size() == 0 || ${MAY_DRAIN}`,
      message: 'only KubeVirt and users who may patch nodes mark a migration as an evacuation or an update',
      messageExpression: withHoles(REFUSAL.purposeMark.text({ keys: hole("variables.changed.join(', ')") })),
    },
  ],
};
