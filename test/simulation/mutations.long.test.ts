import { expect, jest, test } from '@jest/globals';
import { invariantOf } from './checker/invariant.ts';
import { KILLING_SEEDS } from './killing-seeds.ts';
import { MUTATIONS } from './mutations.ts';
import { simulate } from './pool.ts';

// Each starts a thread that reads the whole source.
jest.setTimeout(30 * 60_000);

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
