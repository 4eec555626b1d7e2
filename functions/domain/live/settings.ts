import type { Provider } from './forklift.ts';
import type { RunSettings } from './run-snapshot.ts';

/** How long the source VM may take to be proved off, after its guest has arrived. */
const SOURCE_MS = 24 * 3_600_000;

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** `90s`, `30m` or `24h`, in milliseconds; undefined: not set, or no such text. */
function durationOf(text = ''): number | undefined {
  const [, amount, unit = ''] = /^([1-9]\d{0,5})([smh])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (UNITS[unit] ?? NaN);
}

type Settings = Provider['spec']['settings'];

/** By the settings of both providers: the destination's admin says what its clusters take. */
export function runSettings({
  source = {},
  destination = {},
}: {
  readonly source: Settings;
  readonly destination: Settings;
}): RunSettings {
  const settings = { ...source, ...destination };
  return {
    transferMs: durationOf(settings['transferDeadline']),
    sourceMs: durationOf(settings['sourceDeadline']) ?? SOURCE_MS,
    allowOverQuota: destination['allowOverQuota'] === 'true',
  };
}
