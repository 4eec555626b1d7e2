import type { Condition, Rule } from './manifest.ts';
import { QUOTA_KEYS_CHANGE } from './keys.ts';
import { IS_OURS } from './users.ts';

/**
 * The rule for quotas. It omits deletions: a deletion by an admin ends the raise, and a deleted quota needs no record. It includes
 * the status, because a write of the status also changes metadata.
 */
export const QUOTA_RULES: readonly Rule[] = [
  {
    apiGroups: [''],
    apiVersions: ['v1'],
    resources: ['resourcequotas'],
    operations: ['CREATE', 'UPDATE'],
    scope: 'Namespaced',
  },
  {
    apiGroups: [''],
    apiVersions: ['v1'],
    resources: ['resourcequotas/status'],
    operations: ['UPDATE'],
    scope: 'Namespaced',
  },
];

const IS_QUOTA_UPDATE = "request.resource.resource == 'resourcequotas' && request.operation == 'UPDATE'";

/** An admin's edit of the spec ends the raise, and the quota controller writes the status with every pod. */
export const QUOTA_KEYS_CHANGED: Condition = {
  name: 'quota-keys-change',
  expression: `!(${IS_QUOTA_UPDATE}) || ${QUOTA_KEYS_CHANGE}`,
};

/** Skips our updates, because an unreachable guard must not prevent the repair. Never skips our CREATE: its refusal is the proof. */
export const NOT_OUR_QUOTA_UPDATE: Condition = {
  name: 'not-our-quota-update',
  expression: `!(${IS_QUOTA_UPDATE} && ${IS_OURS})`,
};
