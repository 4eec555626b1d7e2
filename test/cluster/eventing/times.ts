import { setTimeout as sleep } from 'node:timers/promises';

/** Waits; ends early, without an error, when the signal aborts. Tests give one of their own that does not wait. */
export type Delay = (ms: number, signal: AbortSignal) => Promise<void>;

export const realDelay: Delay = async (ms, signal) => {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

const DURATION = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;

/** An ISO 8601 duration ("PT0.2S", "PT1M30S") in milliseconds. Throws for anything else: months have no length. */
export function parseDuration(text: string): number {
  const parts = DURATION.exec(text);
  if (parts === null || text.endsWith('P') || text.endsWith('T')) {
    throw new Error(`${JSON.stringify(text)} is no ISO 8601 duration such as PT0.2S or PT1M30S`);
  }
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts.slice(1).map((part) => Number(part || 0));
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000;
}

/** Now, as Go's RFC3339Nano writes it: up to nine digits, without the zeros at the end. */
export function nowRfc3339Nano(): string {
  const nanoseconds = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1_000)) * 1_000n;
  const seconds = new Date(Number(nanoseconds / 1_000_000n)).toISOString().slice(0, 19);
  const fraction = String(nanoseconds % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return fraction === '' ? `${seconds}Z` : `${seconds}.${fraction}Z`;
}
