import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startGuards, type Guards, type Replica } from '../../support/environment/guards.ts';
import { ownAddress, publish } from '../../support/environment/published.ts';
import { TO_HEALTH, TO_REVIEWS } from '../../support/faults/hostile-client.ts';
import { measure, reviewsFrom, startHostileClient } from '../../support/faults/hostile.ts';

let guards: Guards;
let replica: Replica;
/** What the API server and a kubelet send. */
let real: Parameters<typeof measure>[0];
beforeAll(async () => {
  guards = await startGuards({});
  // Its reviews are served before those of others.
  await publish(guards.admin, guards.controlPlane.apiServers);
  replica = await guards.start('guard');
  real = { ask: reviewsFrom(ownAddress(), replica.tlsPort), healthPort: replica.healthPort };
});
afterAll(async () => {
  await guards.stop();
});

const COUNT = 40;

/** Ten requests a second once lost 59 of 60 reviews, and 56 probes. */
const RATE = { connections: 8, perSecond: 10 };
/** As many requests as are answered once lost all. */
const FLOOD = { connections: 64, perSecond: 0 };
const ATTACKS = [
  ...Object.keys(TO_REVIEWS).map((shape) => ({ ...RATE, shape, port: 'tlsPort' as const })),
  ...Object.keys(TO_HEALTH).map((shape) => ({ ...RATE, shape, port: 'healthPort' as const })),
  ...['empty objects', 'reviews'].map((shape) => ({ ...FLOOD, shape, port: 'tlsPort' as const })),
];

test.each(ATTACKS)(
  '$shape, $connections connections, $perSecond a second: no real review and no probe is lost',
  async ({ port, ...attack }) => {
    const client = await startHostileClient({ ...attack, port: replica[port] });
    const { work, liveness } = await measure(real, COUNT).finally(() => client.stop());
    expect({ work: lost(work), liveness: lost(liveness) }).toEqual({ work: 0, liveness: 0 });
  },
);

const lost = (latencies: readonly number[]): number => latencies.filter((one) => one === Infinity).length;
