import { expect, jest, test } from '@jest/globals';
import { measureWriteCosts, table } from '../../support/policies/write-cost.ts';

/** An object of some 400 KB; its writes take 0.1 to 0.5 s of CPU. */
const KEYS = 20_000;
/** On an idle machine 2. A loop over the keys made it 16 (4.2 s), which is longer than our client waits. */
const MAX_RATIO = 3;

/** Writes of a second each and a control plane of its own: 38 s alone, more than four minutes at load 20. */
jest.setTimeout(900_000);

test('the policies cost the API server as much as the write itself, however many keys an object has', async () => {
  const costs = await measureWriteCosts(KEYS);
  process.stdout.write(`${table(costs)}\n`);
  expect(costs.filter(({ without, withPolicies }) => withPolicies > MAX_RATIO * without)).toEqual([]);
});
