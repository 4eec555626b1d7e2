import { describe, expect, test } from '@jest/globals';
import type { LiveCondition, Plan } from '../../functions/domain/live/forklift.ts';
import { aPlan } from '../../test/support/builders/live.ts';
import { planReport, planTable } from './plan-report.ts';

const condition = (
  type: string,
  category: LiveCondition['category'],
  more: Partial<LiveCondition> = {},
): LiveCondition => ({
  ...{ type, category, status: 'True', lastTransitionTime: '2026-11-25T00:00:00Z' },
  ...more,
});
const READY = condition('Ready', 'Required');
const SUCCEEDED = condition('Succeeded', 'Advisory');
const MISSING = condition('VMNotFound', 'Critical', {
  items: ['vms/web'],
  message: 'The VM is not there.',
  suggestion: 'Correct spec.vms.',
});
const WARNING = condition('ConnectionInsecure', 'Warn', {
  items: ['vms/db'],
  message: 'It is another one.',
});
const FULL = condition('OverQuota', 'Warn', { items: ['vms/web: ResourceQuota q lacks pods=1'] });

function looked(conditions: LiveCondition[], different: Partial<Plan> = {}): Plan {
  const plan = aPlan();
  return {
    ...plan,
    metadata: { ...plan.metadata, generation: 2 },
    status: { observedGeneration: 2, conditions },
    ...different,
  };
}

describe('the answer', () => {
  test.each<[string, Plan, string[]]>([
    ['it is ready', looked([READY]), ['Ready']],
    ['a warning stops nothing', looked([READY, WARNING]), ['Ready', 'warns ConnectionInsecure']],
    [
      'a full quota holds VMs',
      looked([READY, WARNING, FULL]),
      ['Held', 'holds OverQuota', 'warns ConnectionInsecure'],
    ],
    [
      'without an address no VM moves',
      looked([READY, condition('NoAddress', 'Warn', { items: ['destination'] })]),
      ['Held', 'holds NoAddress'],
    ],
    [
      'what stops it comes first',
      looked([WARNING, FULL, MISSING]),
      ['NotReady', 'stops VMNotFound', 'holds OverQuota', 'warns ConnectionInsecure'],
    ],
    ['nobody has looked', looked([], { status: {} }), ['CannotTell']],
    [
      'it has changed since',
      looked([], { status: { observedGeneration: 1, conditions: [READY] } }),
      ['CannotTell'],
    ],
    [
      'it is archived',
      looked([], { status: { observedGeneration: 1 }, spec: { ...aPlan().spec, archived: true } }),
      ['NotReady'],
    ],
    [
      'its VMs have moved',
      looked([], { status: { observedGeneration: 1, conditions: [READY, SUCCEEDED] } }),
      ['NotReady'],
    ],
    ['a cold plan', looked([READY], { spec: { ...aPlan().spec, type: 'cold' } }), ['CannotTell']],
  ])('%s', (_, plan, wanted) => {
    const { answer, findings } = planReport(plan);
    expect([answer, ...findings.map(({ weight, condition: type }) => `${weight} ${type}`)]).toEqual(wanted);
  });
});

test('the table has a row for each finding, and says what to do', () => {
  const text = planTable(planReport(looked([MISSING])), { paint: (_, plain) => plain, isWide: false });
  expect(text).toContain('stops    VMNotFound   vms/web   The VM is not there. Correct spec.vms.');
  expect(text.at(-1)).toMatch(/^plan tenant\/\S+: no Migration of it starts\.$/);
});
