import { expect, test } from '@jest/globals';
import { mutated } from '../seeds/mutate.ts';
import { MUTATIONS as OF_LIVE } from '../live/seeds/mutations.ts';
import { MUTATIONS, type Mutation } from '../seeds/mutations.ts';

test.each([
  ['the protocol', MUTATIONS],
  ['live', OF_LIVE],
])('each mutation of %s has its own name, and finds its text exactly once', (_of, mutations) => {
  expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length);
  for (const mutation of mutations) expect(mutated(mutation).size).toBeGreaterThan(0);
});

test('a mutation whose text is missing or occurs twice is an error', () => {
  const edits = (find: string): Mutation => ({
    name: 'none',
    breaks: [],
    edits: [{ file: 'functions/steps.ts', find, replace: '' }],
  });
  expect(() => mutated(edits('nowhere'))).toThrow('0 times in functions/steps.ts');
  expect(() => mutated(edits('import'))).toThrow('times in functions/steps.ts, not once');
});
