import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import {
  ATTACKS_ON_GUARD,
  measure,
  startAttackedGuard,
  startHostileClient,
  type AttackedGuard,
  type Latencies,
} from '../../support/faults/hostile.ts';

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
  process.stdout.write(`${row('alone', alone)}\n`);
  for (const { shape, port } of ATTACKS_ON_GUARD) {
    const client = await startHostileClient({ ...RATE, shape, port: guard.replica[port] });
    const own = p99(await measure(guard.real, COUNT).finally(() => client.stop()));
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
