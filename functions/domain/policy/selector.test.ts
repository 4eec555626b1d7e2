import { expect, test } from '@jest/globals';
import type { LabelSelector } from '../objects.ts';
import { selects } from './selector.ts';

const LABELS = { team: 'a', tier: 'gold' };
const one = (
  key: string,
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist',
  ...values: string[]
): LabelSelector => ({ matchExpressions: [{ key, operator, values }] });

const CASES: Record<string, readonly [LabelSelector | undefined, boolean]> = {
  'no selector selects none': [undefined, false],
  'an empty selector selects all': [{}, true],
  'a label with this value': [{ matchLabels: { team: 'a' } }, true],
  'a label with another value': [{ matchLabels: { team: 'b' } }, false],
  'one of two labels': [{ matchLabels: { team: 'a', zone: 'x' } }, false],
  'In: one of the values': [one('tier', 'In', 'silver', 'gold'), true],
  'In: another value': [one('tier', 'In', 'silver'), false],
  'In: no such label': [one('zone', 'In', 'x'), false],
  'NotIn: another value': [one('tier', 'NotIn', 'silver'), true],
  'NotIn: this value': [one('tier', 'NotIn', 'gold'), false],
  'NotIn: no such label': [one('zone', 'NotIn', 'x'), true],
  'Exists: it does': [one('team', 'Exists'), true],
  'Exists: it does not': [one('zone', 'Exists'), false],
  'DoesNotExist: it does': [one('team', 'DoesNotExist'), false],
  'DoesNotExist: it does not': [one('zone', 'DoesNotExist'), true],
  'labels and expressions must all hold': [{ matchLabels: { team: 'a' }, ...one('zone', 'Exists') }, false],
  'an operator that does not exist selects none': [one('team', 'Like' as 'In', 'a'), false],
};

test.each(Object.entries(CASES))('%s', (_, [selector, want]) => {
  expect(selects(selector, LABELS)).toBe(want);
});

test('a namespace without labels is selected by an empty selector alone', () => {
  expect([selects({}, undefined), selects({ matchLabels: { team: 'a' } }, undefined)]).toEqual([true, false]);
});
