import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import {
  ATTACKS_ON_GUARD,
  measure,
  startAttackedGuard,
  startHostileClient,
  type AttackedGuard,
} from '../../support/faults/hostile.ts';
import { p99, rowOf } from '../../support/faults/percentiles.ts';

let guard: AttackedGuard;
beforeAll(async () => {
  guard = await startAttackedGuard();
});
afterAll(async () => {
  await guard.stop();
});

jest.setTimeout(3_600_000);

const COUNT = 400;
const RATE = { connections: 8, perSecond: 10 };
const WITHIN_MS = 1_000;

test('ten hostile requests a second of any shape leave reviews and probes within a second', async () => {
  const alone = p99(await measure(guard.real, COUNT));
  process.stdout.write(`${rowOf('alone', alone)}\n`);
  for (const { shape, port } of ATTACKS_ON_GUARD) {
    const client = await startHostileClient({ ...RATE, shape, port: guard.replica[port] });
    const own = p99(await measure(guard.real, COUNT).finally(() => client.stop()));
    process.stdout.write(`${rowOf(shape, own, alone)}\n`);
    expect(Math.max(own.work, own.liveness)).toBeLessThan(WITHIN_MS);
  }
});
