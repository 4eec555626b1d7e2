import { expect, jest, test } from '@jest/globals';
import { ruleOf } from './checker.ts';
import { LIVE_KILLING_SEEDS } from './killing-seeds.ts';
import { MUTATIONS } from './mutations.ts';
import { simulateLive } from './pool.ts';

// Each starts a thread that reads the whole source.
jest.setTimeout(30 * 60_000);

// If this fails after a change, run `npm run simulate:live -- --find-seeds`. A mutation without a seed then is a gap in the checker.
test.each(MUTATIONS)('the simulation catches: $name', async ({ name: mutation, breaks }) => {
  const { violations } = await simulateLive({
    from: LIVE_KILLING_SEEDS.stored(mutation),
    count: 1,
    mutation,
    workers: 1,
  });
  expect(breaks).toContain(ruleOf(violations[0]?.violation ?? 'none'));
});
