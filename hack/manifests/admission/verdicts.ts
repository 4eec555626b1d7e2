import { ANNOTATION, POLICY } from '../../../functions/domain/names.ts';
import { REFUSAL } from '../../../webhook/admission/messages.ts';
import { annotation, withHoles } from './cel.ts';
import type { Policy } from './manifest.ts';
import { IS_OURS } from './users.ts';

const VERDICT = annotation('object', ANNOTATION.verdict);

/**
 * Kubernetes lets every editor of a namespace write Events. The guard's reports on drains and upgrades come from the verdicts on them,
 * so without this policy a tenant could hide what blocks a drain, or put any text into the admin's reports. No other user may write
 * such an Event at all: any write makes an old verdict the newest, or moves it to another migration.
 */
export const verdicts: Policy = {
  name: POLICY.verdicts,
  rules: [
    {
      apiGroups: ['', 'events.k8s.io'],
      apiVersions: ['*'],
      resources: ['events'],
      operations: ['CREATE', 'UPDATE'],
      scope: 'Namespaced',
    },
  ],
  matchConditions: [{ name: 'verdict', expression: `${VERDICT}.hasValue()` }],
  validations: [
    {
      expression: IS_OURS,
      message: 'only managed-tenant-quota writes verdicts on Events',
      messageExpression: withHoles(REFUSAL.forgedKeys.text({ keys: ANNOTATION.verdict })),
    },
  ],
};
