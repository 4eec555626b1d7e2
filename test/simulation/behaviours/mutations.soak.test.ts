import { expect, jest, test } from '@jest/globals';
import { KILLING_SEEDS } from '../seeds/killing-seeds.ts';
import { LIVE_KILLING_SEEDS } from '../live/seeds/killing-seeds.ts';

jest.setTimeout(60 * 60_000);

test.each([
  ['the steps', KILLING_SEEDS],
  ['live', LIVE_KILLING_SEEDS],
])('every mutation of %s is caught by some seed, searched from the first one on', async (_of, seeds) => {
  const { missing } = await seeds.find((line) => void process.stdout.write(`${line}\n`));
  expect(missing).toEqual([]);
});
