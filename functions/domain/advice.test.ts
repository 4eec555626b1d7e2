import { describe, expect, test } from '@jest/globals';
import { ADVICE, NO_ACTION, withAdvice } from './advice.ts';
import { REASON } from './names.ts';

describe('ADVICE', () => {
  const sentences = Object.values(ADVICE).filter((advice) => advice !== NO_ACTION);

  test('has an entry for every reason', () => {
    expect(Object.keys(ADVICE)).toEqual(Object.values(REASON));
  });

  test.each(sentences)('is one short sentence: %s', (advice) => {
    expect(advice).toMatch(/^[A-Z][^.]*(?:\.kubevirt[^.]*\.io[^.]*)?\.$/);
    expect(advice.split(' ').length).toBeLessThanOrEqual(16);
  });
});

describe('withAdvice', () => {
  const { NotEnough, Skipped } = ADVICE;
  test.each([
    {
      what: 'appends the advice',
      message: 'a quota is full',
      reasons: [REASON.notEnough],
      want: `a quota is full. ${NotEnough}`,
    },
    {
      what: 'adds no second full stop',
      message: 'it is full.',
      reasons: [REASON.notEnough],
      want: `it is full. ${NotEnough}`,
    },
    {
      what: 'leaves a message without advice as it is',
      message: 'mig0 goes on',
      reasons: [REASON.fits],
      want: 'mig0 goes on',
    },
    {
      what: 'ignores a reason of another version',
      message: 'it failed',
      reasons: ['Later', 'toString'],
      want: 'it failed',
    },
    {
      what: 'repeats no advice, after several lines',
      message: 'mig0: full\nmig1: full\nmig2: skipped',
      reasons: [REASON.notEnough, REASON.notEnough, REASON.skipped],
      want: `mig0: full\nmig1: full\nmig2: skipped\n${NotEnough} ${Skipped}`,
    },
  ])('$what', ({ message, reasons, want }) => {
    expect(withAdvice(message, reasons)).toBe(want);
  });
});
