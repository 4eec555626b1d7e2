import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { startGuards, type Guards, type Replica } from '../../support/environment/guards.ts';
import { ownAddress, publish } from '../../support/environment/published.ts';
import { TO_HEALTH, TO_REVIEWS } from '../../support/faults/hostile-client.ts';
import { measure, reviewsFrom, startHostileClient, type Latencies } from '../../support/faults/hostile.ts';

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

jest.setTimeout(3_600_000);

const COUNT = 400;
const RATE = { connections: 8, perSecond: 10 };
const WITHIN_MS = 1_000;
const SHAPES = [
  ...Object.keys(TO_REVIEWS).map((shape) => ({ shape, port: 'tlsPort' as const })),
  ...Object.keys(TO_HEALTH).map((shape) => ({ shape, port: 'healthPort' as const })),
];

test('ten hostile requests a second of any shape leave reviews and probes within a second', async () => {
  const alone = p99(await measure(real, COUNT));
  process.stdout.write(`${row('alone', alone)}\n`);
  for (const { shape, port } of SHAPES) {
    const client = await startHostileClient({ ...RATE, shape, port: replica[port] });
    const own = p99(await measure(real, COUNT).finally(() => client.stop()));
    process.stdout.write(`${row(shape, own, alone)}\n`);
    expect(Math.max(own.work, own.liveness)).toBeLessThan(WITHIN_MS);
  }
});

interface Percentiles {
  readonly work: number;
  readonly liveness: number;
}

const p99 = ({ work, liveness }: Latencies): Percentiles => ({
  work: percentile(work),
  liveness: percentile(liveness),
});

const percentile = (latencies: readonly number[]): number =>
  latencies.toSorted((one, other) => one - other)[Math.floor(latencies.length * 0.99)] ?? Infinity;

/** Milliseconds, and their ratio to those without the client. */
function row(what: string, { work, liveness }: Percentiles, alone?: Percentiles): string {
  const cell = (ms: number, base: number | undefined): string =>
    `${ms.toFixed(0)} ms${base === undefined ? '' : ` (${(ms / base).toFixed(1)})`}`;
  const cells = [`reviews ${cell(work, alone?.work)}`, `liveness ${cell(liveness, alone?.liveness)}`];
  return `${what.padEnd(28)} p99: ${cells.join(', ')}`;
}
