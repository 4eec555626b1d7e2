import { expect, jest, test } from '@jest/globals';
import { isName, PORTS } from '../support/fuzz/ports.ts';
import { fuzzPort } from '../support/fuzz/requests.ts';

const RUNS = 20_000;
jest.setTimeout(3_600_000);

test.each(PORTS)('%s answers 20,000 requests of any kind', async (name, open) => {
  const { port, asked, close } = await open();
  await fuzzPort(name, port, RUNS);
  expect(asked.filter((text) => !isName(text))).toEqual([]);
  await close();
});
