import { expect, test } from '@jest/globals';
import { REASON } from '../names.ts';
import { parseQuantity } from '../quantity.ts';
import type { Verdict } from './verdict.ts';
import { verdictText } from './verdict-text.ts';

const shortfalls = [
  { key: 'requests.cpu', missing: parseQuantity('605m') },
  { key: 'requests.memory', missing: parseQuantity('1314Mi') },
];
const quota = (name: string): Verdict['blocking'][number] => ({ quota: { name, uid: name }, shortfalls });
const NO_FIT: Verdict = {
  migration: { name: 'mig0', uid: 'uid-of-mig0' },
  verdict: 'NoFit',
  reason: REASON.notEnough,
  message: 'x'.repeat(4_000),
  blocking: [quota('quota')],
};

test('a verdict about quotas names each, and what is missing of each key', () => {
  expect(JSON.parse(verdictText(NO_FIT))).toEqual({
    reason: 'NotEnough',
    quotas: [{ name: 'quota', missing: { 'requests.cpu': '605m', 'requests.memory': '1314Mi' } }],
  });
});

test('another verdict has the begin of its message', () => {
  expect(JSON.parse(verdictText({ ...NO_FIT, blocking: [] }))).toEqual({
    reason: 'NotEnough',
    message: `${'x'.repeat(299)}…`,
  });
});

test('at most five quotas are named', () => {
  const blocking = Array.from({ length: 50 }, (_, index) => quota(String(index)));
  expect(JSON.parse(verdictText({ ...NO_FIT, blocking }))).toMatchObject({ quotas: { length: 5 } });
});
