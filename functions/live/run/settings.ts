import type { Provider } from '../../domain/live/forklift.ts';
import type { RunSettings } from './snapshot.ts';

/** The default limit for the proof that the source VM is off, after its guest has arrived. */
const SOURCE_MS = 24 * 3_600_000;

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Parses `90s`, `30m` or `24h` into milliseconds; undefined if the text is unset or different. */
function durationOf(text = ''): number | undefined {
  const [, amount, unit = ''] = /^([1-9]\d{0,5})([smh])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (UNITS[unit] ?? NaN);
}

type Settings = Provider['spec']['settings'];

const isDuration = (text: string): boolean => durationOf(text) !== undefined;
const isSwitch = (text: string): boolean => ['true', 'false'].includes(text);

/** Settings that `live` uses, or that Forklift uses, with their valid values. */
const SETTINGS: Readonly<
  Record<string, { readonly isGood: (text: string) => boolean; readonly wanted: string }>
> = {
  transferDeadline: { isGood: isDuration, wanted: 'is a time such as 90s, 30m or 2h' },
  sourceDeadline: { isGood: isDuration, wanted: 'is a time such as 90s, 30m or 2h' },
  allowOverQuota: { isGood: isSwitch, wanted: 'is "true" or "false"' },
  localMigration: { isGood: isSwitch, wanted: 'is "true" or "false"' },
  submariner: {
    isGood: (text) => text !== 'true',
    wanted: 'is not supported: the synchronization controllers must reach each other without it',
  },
};

/** Returns the problems of a provider's settings, in words. Other settings are Forklift's, for other types of plans. */
export const settingProblems = (settings: Settings = {}): string[] =>
  Object.entries(SETTINGS).flatMap(([name, { isGood, wanted }]) => {
    const text = settings[name];
    return text === undefined || isGood(text) ? [] : [`${name} ${wanted}`];
  });

/** Returns the settings of the run by those of both providers: the destination's admin says what its clusters accept. */
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
    localMigration: destination['localMigration'] === 'true',
  };
}
