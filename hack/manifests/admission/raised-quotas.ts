import { ANNOTATION, LABEL, POLICY } from '../../../functions/domain/names.ts';
import { REFUSAL } from '../../../webhook/admission/messages.ts';
import { annotation, hole, label, namespaceLabel, REQUEST_HOLES, text, withHoles } from './cel.ts';
import { AFTER, BEFORE, mayOverride, QUOTA_KEYS, QUOTA_KEYS_CHANGE } from './keys.ts';
import type { Policy } from './manifest.ts';
import { QUOTA_RULES } from './quotas.ts';
import { IS_OURS } from './users.ts';

const IS_RAISED = `oldObject != null && (${label('oldObject', LABEL.raised)}.hasValue()
  || ${annotation('oldObject', ANNOTATION.grant)}.hasValue())`;

/**
 * A raise that is over, but for our keys: there is no lock, and the quota controller has set `status.hard` back. Without the guard and the
 * functions only the user of the break-glass is left to remove them, and raised-pods refuses pods until then.
 */
const IS_LEFT_OVER = `!variables.isLocked && oldObject.?status.hard == oldObject.?spec.hard && ${mayOverride('request.namespace')}`;

/**
 * Reserves our keys on a quota to our accounts. No other user may remove them while the quota is raised or its namespace locked
 * (`kubectl replace` would). The policy allows all other writes: an admin's edit of the spec, a deletion, the quota controller's
 * status. A replaced quota may lose keys that we no longer need.
 */
export const raisedQuotas: Policy = {
  name: POLICY.raisedQuotas,
  rules: QUOTA_RULES,
  // Skips the status writes of the API server and the quota controller, which happen with every pod.
  matchConditions: [
    { name: 'our-keys-change', expression: QUOTA_KEYS_CHANGE },
    { name: 'not-our-update', expression: `!(request.operation == 'UPDATE' && ${IS_OURS})` },
  ],
  variables: [
    // A new quota may have last-release (from a copy or a backup): no lock has its uid.
    {
      name: 'forged',
      expression: `${QUOTA_KEYS}.filter(key, ${AFTER}.hasValue() && ${AFTER} != ${BEFORE}
        && !(oldObject == null && key[1] == ${text(ANNOTATION.lastRelease)})).map(key, key[1])`,
    },
    {
      name: 'removed',
      expression: `${QUOTA_KEYS}.filter(key, !${AFTER}.hasValue() && ${AFTER} != ${BEFORE}).map(key, key[1])`,
    },
    { name: 'isRaised', expression: IS_RAISED },
    { name: 'isLocked', expression: `${namespaceLabel(LABEL.locked)}.hasValue()` },
    { name: 'isLeftOver', expression: IS_LEFT_OVER },
  ],
  validations: [
    {
      expression: 'variables.forged.size() == 0',
      message: 'what managed-tenant-quota keeps on a ResourceQuota may only be written by it',
      messageExpression: withHoles(REFUSAL.forgedKeys.text({ keys: hole("variables.forged.join(', ')") })),
    },
    {
      expression:
        'variables.removed.size() == 0 || !(variables.isRaised || variables.isLocked) || variables.isLeftOver',
      message: 'must wait for a live migration for a few seconds; try again then',
      messageExpression: withHoles(
        REFUSAL.removedKeys.text({
          ...REQUEST_HOLES,
          keys: hole("variables.removed.join(', ')"),
          state: hole("(variables.isRaised ? 'the quota is raised' : 'the namespace is locked')"),
        }),
      ),
    },
  ],
};
