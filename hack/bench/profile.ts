import { blockedToUnlocked, type Cycle } from './cycle.ts';
import { quantile, type Detail } from './figures.ts';
import { countsOf } from './requests.ts';

/** Where the time and the requests of the median cycle go. */
export function detailsOf(what: string, cycles: readonly Cycle[]): Detail[] {
  const median = quantile(cycles.map(blockedToUnlocked), 0.5);
  const distance = (cycle: Cycle): number => Math.abs(blockedToUnlocked(cycle) - median);
  const [typical] = cycles.toSorted((one, other) => distance(one) - distance(other));
  if (typical === undefined) return [];
  const counts = [...countsOf(typical.requests)];
  return [
    { heading: `${what}, in milliseconds from when it is blocked`, lines: timelineOf(typical) },
    {
      heading: `requests of ${what}`,
      lines: counts.map(([request, count]) => `${String(count).padStart(4)}  ${request}`),
    },
  ];
}

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
    ...runs.map(({ at, service, eventType = '', start, heldMs, ms, status }) => {
      const held = heldMs >= 1 ? `, held ${heldMs.toFixed(0)} ms` : '';
      const event = eventType.split('.').slice(-2).join('.');
      return { at, text: `${service} ← ${event}: ${ms.toFixed(1)} ms (${start}${held}) → ${status}` };
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
