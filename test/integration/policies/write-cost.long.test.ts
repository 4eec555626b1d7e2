import { expect, jest, test } from '@jest/globals';
import { measureWriteCosts, table } from '../../support/policies/write-cost.ts';

/**
 * An object of some 400 KB, with the managed fields of its keys. With 50,000 keys (1 MB) our client waits too short to
 * create a migration.
 */
const KEYS = 20_000;
/**
 * The API server converts the object up to four times for each policy that a write meets; the expressions cost next to
 * nothing. A loop over 20,000 keys made it 16 (4.2 s), which is longer than our client waits.
 */
const MAX_RATIO = 2;

/** Writes of a second each and a control plane of its own: more than four minutes at load 20. */
jest.setTimeout(900_000);

test('the policies cost the API server as much as the write itself, however many keys an object has', async () => {
  const costs = await measureWriteCosts(KEYS);
  process.stdout.write(`${table(costs)}\n`);
  expect(costs.filter(({ without, withPolicies }) => withPolicies > MAX_RATIO * without)).toEqual([]);
});
