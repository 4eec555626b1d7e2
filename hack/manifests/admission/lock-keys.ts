import { POLICY } from '../../../functions/domain/names.ts';
import { REFUSAL } from '../../../webhook/admission/messages.ts';
import { hole, withHoles } from './cel.ts';
import {
  BREAK_GLASS_TOKEN,
  BREAKS_GLASS,
  CHANGED_NAMESPACE_KEYS,
  IS_LOCKED,
  NAMESPACE_KEYS_CHANGE,
} from './keys.ts';
import type { Condition, Policy, Rule } from './manifest.ts';
import { IS_OURS } from './users.ts';

/** The rule has no selector: a selector sees the new labels, so a write that removes the label would pass. */
export const NAMESPACE_RULE: Rule = {
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: ['namespaces', 'namespaces/status', 'namespaces/finalize'],
  operations: ['CREATE', 'UPDATE'],
  scope: 'Cluster',
};

export const KEYS_CONDITIONS: readonly Condition[] = [
  { name: 'our-keys-change', expression: NAMESPACE_KEYS_CHANGE },
  { name: 'not-ours', expression: `!(${IS_OURS})` },
  { name: 'no-break-glass', expression: `!(${BREAKS_GLASS})` },
];

const PARTS = {
  keys: hole("variables.changed.join(', ')"),
  namespace: hole('object.metadata.name'),
  token: hole('variables.token'),
};

/** The same as the webhook keys.mtq.kubevirt.io: it refuses every request that meets its conditions. */
export const lockKeys: Policy = {
  name: POLICY.lockKeys,
  rules: [NAMESPACE_RULE],
  matchConditions: KEYS_CONDITIONS,
  variables: [
    { name: 'changed', expression: CHANGED_NAMESPACE_KEYS },
    { name: 'token', expression: BREAK_GLASS_TOKEN },
    { name: 'isLocked', expression: IS_LOCKED },
  ],
  validations: [
    {
      expression: 'variables.changed.size() == 0',
      message: 'what managed-tenant-quota keeps on a Namespace may only be changed by it',
      messageExpression: `variables.isLocked ? ${withHoles(REFUSAL.namespaceKeys.text(PARTS))}
        : ${withHoles(REFUSAL.namespaceRecords.text(PARTS))}`,
    },
  ],
};
