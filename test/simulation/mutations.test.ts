import { expect, test } from '@jest/globals';
import { invariantOf } from './checker/invariant.ts';
import { seedThatKills } from './killing-seeds.ts';
import { mutated } from './mutate.ts';
import { MUTATIONS, type Mutation } from './mutations.ts';
import { simulate } from './pool.ts';

test('every name is another, and every mutation finds its place once', () => {
  expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBe(MUTATIONS.length);
  for (const mutation of MUTATIONS) expect(mutated(mutation).size).toBeGreaterThan(0);
});

test('a place that is not there, or twice, is said', () => {
  const edits = (find: string): Mutation => ({
    name: 'none',
    breaks: [],
    edits: [{ file: 'functions/steps.ts', find, replace: '' }],
  });
  expect(() => mutated(edits('nowhere'))).toThrow('0 times in functions/steps.ts');
  expect(() => mutated(edits('import'))).toThrow('times in functions/steps.ts, not once');
});

// Where this fails after a change, the seeds moved: `npm run simulate -- --find-seeds`. One that then finds none is a hole.
test.each(MUTATIONS)('caught: $name', async ({ name: mutation, breaks }) => {
  const { violations } = await simulate({ from: seedThatKills(mutation), count: 1, mutation, workers: 1 });
  expect(breaks).toContain(violations[0] === undefined ? 'none' : invariantOf(violations[0].violation));
});
