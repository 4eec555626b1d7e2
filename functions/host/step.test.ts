import { expect, test } from '@jest/globals';
import { REPAIR_MS, LOCK_BUDGET_MS } from '../domain/verdict/attempt.ts';
import { rulesOf } from './step.ts';

const settings = { KUBEVIRT_NAMESPACE: 'kubevirt', STALL_SECONDS: 3, SETTLE_MS: 0 };

test.each([
  ['the default', 30, 30],
  ['the shortest', 5, 5],
  ['more than I7 and the repair allow', 60, (LOCK_BUDGET_MS - REPAIR_MS) / 1_000],
])('lifetime of a new lock: %s', (_, LOCK_SECONDS, held) => {
  expect(rulesOf({ ...settings, LOCK_SECONDS }).lockSeconds).toBe(held);
});
