import { expect, test } from '@jest/globals';
import { invariantOf } from './checker/invariant.ts';
import { KILLING_SEEDS } from './killing-seeds.ts';
import { mutated } from './mutate.ts';
import { MUTATIONS, type Mutation } from './mutations.ts';
import { simulate } from './pool.ts';

test('each mutation has its own name, and finds its text exactly once', () => {
  expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBe(MUTATIONS.length);
  for (const mutation of MUTATIONS) expect(mutated(mutation).size).toBeGreaterThan(0);
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

// If this fails after a change, run `npm run simulate -- --find-seeds`. A mutation without a seed then is a gap in the checker.
test.each(MUTATIONS)('the simulation catches: $name', async ({ name: mutation, breaks }) => {
  const { violations } = await simulate({
    from: KILLING_SEEDS.stored(mutation),
    count: 1,
    mutation,
    workers: 1,
  });
  expect(breaks).toContain(violations[0] === undefined ? 'none' : invariantOf(violations[0].violation));
});
