import { expect, jest, test } from '@jest/globals';
import { KILLING_SEEDS } from '../seeds/killing-seeds.ts';
import { LIVE_KILLING_SEEDS } from '../live/seeds/killing-seeds.ts';
import { MUTATIONS as OF_LIVE } from '../live/seeds/mutations.ts';
import { MUTATIONS } from '../seeds/mutations.ts';

// Each starts a thread that reads the whole source.
jest.setTimeout(30 * 60_000);

// If one fails after a change, run `npm run simulate -- --find-seeds`, or `simulate:live`. A mutation without a seed then is a gap in the
// checker.
test.each([
  ...MUTATIONS.map((mutation) => ({ ...mutation, of: 'the steps', seeds: KILLING_SEEDS })),
  ...OF_LIVE.map((mutation) => ({ ...mutation, of: 'live', seeds: LIVE_KILLING_SEEDS })),
])('the simulation of $of catches: $name', async ({ name, breaks, seeds }) => {
  expect(breaks).toContain(await seeds.brokenRule(name));
});
