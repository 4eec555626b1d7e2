import { expect, jest, test } from '@jest/globals';
import { KILLING_SEEDS } from './killing-seeds.ts';

jest.setTimeout(60 * 60_000);

test('every mutation is caught by some seed, searched from the first one on', async () => {
  const { missing } = await KILLING_SEEDS.find((line) => void process.stdout.write(`${line}\n`));
  expect(missing).toEqual([]);
});
