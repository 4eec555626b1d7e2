import type { Run } from '../demo/traces.ts';
import { blockedToUnlocked, type Cycle } from './cycle.ts';
import { quantile, type Detail } from './figures.ts';
import { countsOf } from './requests.ts';

/** Details of where the time and the requests of the median cycle go. */
export function detailsOf(what: string, cycles: readonly Cycle[]): Detail[] {
  const median = quantile(cycles.map(blockedToUnlocked), 0.5);
  const distance = (cycle: Cycle): number => Math.abs(blockedToUnlocked(cycle) - median);
  const [typical] = cycles.toSorted((one, other) => distance(one) - distance(other));
  if (typical === undefined) return [];
  return [
    { heading: `${what}, in milliseconds from when it is blocked`, lines: timelineOf(typical) },
    countsDetail(`requests of ${what}`, countsOf(typical.requests)),
  ];
}

export const countsDetail = (heading: string, counts: ReadonlyMap<string, number>): Detail => ({
  heading,
  lines: [...counts].map(([what, count]) => `${String(count).padStart(4)}  ${what}`),
});

/** How often each function ran for each type of event, the most frequent first. */
export function runCountsOf(runs: readonly Run[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { service, eventType } of runs) {
    const key = `${service} ← ${typeOf(eventType)}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return new Map([...counts].toSorted(([, one], [, other]) => other - one));
}

/** The last two parts of a CloudEvent's type. */
const typeOf = (eventType = ''): string => eventType.split('.').slice(-2).join('.');

/** The source's watch may receive an object a few milliseconds before ours. */
const BEFORE_MS = 5;

/** Runs by their start and requests by their arrival, sorted, each with its duration. */
function timelineOf({ timestamps, runs, requests }: Cycle): string[] {
  const { blocked = NaN, succeeded = NaN } = timestamps;
  const entries = [
    ...Object.entries(timestamps).map(([name, at]: [string, number?]) => ({
      at: at ?? NaN,
      text: `── ${name}`,
    })),
    ...runs.map(({ at, service, eventType, start, heldMs, ms, status }) => {
      const held = heldMs >= 1 ? `, held ${heldMs.toFixed(0)} ms` : '';
      return {
        at,
        text: `${service} ← ${typeOf(eventType)}: ${ms.toFixed(1)} ms (${start}${held}) → ${status}`,
      };
    }),
    ...requests.map(({ at, account, what, namespace, code, ms }) => {
      const where = namespace === '' ? ' of the whole cluster' : '';
      return { at, text: `    ${account} ${what}${where} → ${code}: ${ms.toFixed(1)} ms` };
    }),
  ];
  return entries
    .filter(({ at }) => at >= blocked - BEFORE_MS && at <= succeeded)
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, text }) => `${(at - blocked).toFixed(1).padStart(8)}  ${text}`);
}
