import { describe, expect, test } from '@jest/globals';
import { seconds } from '../../../test/support/builders/object.ts';
import { critical, findingOf, has, nextConditions, withReady, type Finding } from './conditions.ts';
import type { LiveCondition } from './forklift.ts';

const [BEFORE, NOW] = [seconds(-60), seconds(0)];
const GONE = critical('VMNotFound', 'NotFound', { message: 'VM not found.', items: ['vms/web'] });
const EXECUTING: Finding = {
  type: 'Executing',
  category: 'Advisory',
  durable: true,
  message: 'The plan is EXECUTING.',
};
const wait = (reason: string): Finding => ({ type: 'Waiting', category: 'Advisory', reason });
const stored = (finding: Finding): LiveCondition => ({
  ...finding,
  status: 'True',
  lastTransitionTime: BEFORE,
});

describe('nextConditions', () => {
  test.each<[string, LiveCondition[], Finding[], LiveCondition[]]>([
    ['a new one has its time', [], [GONE], [{ ...stored(GONE), lastTransitionTime: NOW }]],
    ['one that still holds keeps its time', [stored(GONE)], [GONE], [stored(GONE)]],
    [
      'one that says more keeps its time',
      [stored(GONE)],
      [{ ...GONE, items: ['vms/web', 'vms/db'] }],
      [{ ...stored(GONE), items: ['vms/web', 'vms/db'] }],
    ],
    [
      'one with another reason has another time',
      [stored(GONE)],
      [{ ...GONE, reason: 'NotUnique' }],
      [{ ...stored(GONE), reason: 'NotUnique', lastTransitionTime: NOW }],
    ],
    ['one that does not hold goes', [stored(GONE)], [], []],
    ['a durable one stays', [stored(EXECUTING)], [], [stored(EXECUTING)]],
    [
      'a durable one is replaced by its like',
      [stored(EXECUTING)],
      [{ ...EXECUTING, message: 'again' }],
      [{ ...stored(EXECUTING), message: 'again' }],
    ],
    [
      'two of a type are one, with the items and texts of both',
      [],
      [
        { ...GONE, suggestion: 'Create it.' },
        { ...GONE, reason: 'NotUnique', message: 'Another.', items: ['vms/web', 'vms/db'] },
        { ...GONE, suggestion: 'Create it.' },
      ],
      [
        {
          ...stored(GONE),
          ...{ message: 'VM not found. Another.', suggestion: 'Create it.', items: ['vms/web', 'vms/db'] },
          lastTransitionTime: NOW,
        },
      ],
    ],
    [
      'of two of a type one that blocks comes first',
      [],
      [{ ...GONE, category: 'Warn', reason: 'Moved', message: 'Another.' }, GONE],
      [{ ...stored(GONE), message: 'VM not found. Another.', lastTransitionTime: NOW }],
    ],
    [
      'two that a text or an item is missing of are one',
      [],
      [{ type: 'VMNotFound', category: 'Warn' }, GONE, { type: 'VMNotFound', category: 'Warn' }],
      [{ ...stored(GONE), lastTransitionTime: NOW }],
    ],
    [
      'two waits are two',
      [],
      [wait('ClusterUnknown'), wait('HookRuns')],
      [wait('ClusterUnknown'), wait('HookRuns')].map((one) => ({ ...stored(one), lastTransitionTime: NOW })),
    ],
  ])('%s', (_what, ...[before, findings, after]) => {
    expect(nextConditions(before, findings, NOW)).toEqual(after);
  });
});

test('an object is Ready unless a finding blocks it', () => {
  const ready = { type: 'Ready', category: 'Required', message: 'It is ready.' };
  const warning: Finding = { type: 'ConnectionInsecure', category: 'Warn', message: 'x' };
  expect(withReady([warning], 'It is ready.')).toEqual([warning, ready]);
  expect(withReady([GONE], 'It is ready.')).toEqual([GONE]);
});

test('a problem that nothing has is none', () => {
  const problem = { type: 'VMNotFound', reason: 'NotFound', message: 'm', suggestion: 's' } as const;
  expect(findingOf([], problem)).toEqual([]);
  expect(findingOf(['a'], problem)).toEqual([{ ...problem, category: 'Critical', items: ['a'] }]);
});

test('a status without conditions has none', () => {
  expect(has(undefined, 'Ready')).toBe(false);
  expect(has({ conditions: [stored(EXECUTING)] }, 'Executing')).toBe(true);
});
