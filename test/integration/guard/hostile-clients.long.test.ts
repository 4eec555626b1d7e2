import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  ATTACKS_ON_GUARD,
  measure,
  startAttackedGuard,
  startHostileClient,
  type AttackedGuard,
} from '../../support/faults/hostile.ts';

let guard: AttackedGuard;
beforeAll(async () => {
  guard = await startAttackedGuard();
});
afterAll(async () => {
  await guard.stop();
});

const COUNT = 40;

/** Ten requests a second once lost 59 of 60 reviews, and 56 probes. */
const RATE = { connections: 8, perSecond: 10 };
/** As many requests as are answered once lost all. */
const FLOOD = { connections: 64, perSecond: 0 };
const ATTACKS = [
  ...ATTACKS_ON_GUARD.map((attack) => ({ ...RATE, ...attack })),
  ...['empty objects', 'reviews', 'reviews in parts of a byte'].map((shape) => ({
    ...FLOOD,
    shape,
    port: 'tlsPort' as const,
  })),
  { ...FLOOD, shape: 'dead letters in parts of a byte', port: 'healthPort' as const },
];

test.each(ATTACKS)(
  '$shape, $connections connections, $perSecond a second: no real review and no probe is lost',
  async ({ port, ...attack }) => {
    const client = await startHostileClient({ ...attack, port: guard.replica[port] });
    const { work, liveness } = await measure(guard.real, COUNT).finally(() => client.stop());
    expect({ work: lost(work), liveness: lost(liveness) }).toEqual({ work: 0, liveness: 0 });
  },
);

const lost = (latencies: readonly number[]): number => latencies.filter((one) => one === Infinity).length;
