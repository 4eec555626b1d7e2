import { expect, test } from '@jest/globals';
import { isName, PORTS } from '../support/fuzz/ports.ts';
import { fuzzPort, statusOf } from '../support/fuzz/requests.ts';

const RUNS = 500;
const HEALTH = { method: 'GET', path: '/health/liveness', headers: [], body: '' };

test.each(PORTS)(
  '%s answers whatever any pod sends, lets no text in that is no name, and goes on',
  async (name, open) => {
    const { port, asked, close } = await open();
    await fuzzPort(name, port, RUNS);
    expect(asked.filter((text) => !isName(text))).toEqual([]);
    expect(await statusOf(port, HEALTH)).toBe(200);
    await close();
  },
);
