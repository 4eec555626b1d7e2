import type { Latencies } from './hostile.ts';

/** Milliseconds. */
export interface Percentiles {
  readonly work: number;
  readonly liveness: number;
}

export const p99 = ({ work, liveness }: Latencies): Percentiles => ({
  work: percentile(work),
  liveness: percentile(liveness),
});

const percentile = (latencies: readonly number[]): number =>
  latencies.toSorted((one, other) => one - other)[Math.floor(latencies.length * 0.99)] ?? Infinity;

/** Milliseconds, and their ratio to those without the client. */
export function rowOf(what: string, { work, liveness }: Percentiles, alone?: Percentiles): string {
  const cell = (ms: number, base: number | undefined): string =>
    `${ms.toFixed(0)} ms${base === undefined ? '' : ` (${(ms / base).toFixed(1)})`}`;
  const cells = [`reviews ${cell(work, alone?.work)}`, `liveness ${cell(liveness, alone?.liveness)}`];
  return `${what.padEnd(28)} p99: ${cells.join(', ')}`;
}
