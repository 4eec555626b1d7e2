import { FAULTS, type Fault } from '../world/faults.ts';
import type { Shrunk } from './shrink.ts';

/** How often each fault hit each place: a row for each fault, a column for each place. */
export function hitsTable(hits: ReadonlyMap<string, number>): string {
  const cells = [...hits].map(([hit, times]) => {
    const [fault = '', ...site] = hit.split(' ');
    return { fault, site: site.join(' '), times };
  });
  const sites = [...new Set(cells.map(({ site }) => site))].filter((site) => site !== 'world').sort();
  const groups = [
    sites.filter((site) => site.startsWith('event')),
    sites.filter((site) => site.endsWith('reads')),
    sites.filter((site) => !site.startsWith('event') && !site.endsWith('reads')),
  ];
  const tables = groups.map((group) => tableOf(group, cells));
  const world = cells
    .filter(({ site }) => site === 'world')
    .map(({ fault, times }) => `  ${fault.padEnd(18)}${String(times).padStart(8)}`);
  return [...tables, ['the world around', ...world.sort()].join('\n')].join('\n\n');
}

interface Cell {
  readonly fault: string;
  readonly site: string;
  readonly times: number;
}

function tableOf(sites: readonly string[], cells: readonly Cell[]): string {
  const faults = (Object.keys(FAULTS) as Fault[]).filter((fault) =>
    cells.some((cell) => cell.fault === fault && sites.includes(cell.site)),
  );
  const width = Math.max(12, ...sites.map((site) => site.length + 2));
  const rows = faults.map((fault) => {
    const times = sites.map(
      (site) => cells.find((cell) => cell.fault === fault && cell.site === site)?.times ?? 0,
    );
    return fault.padEnd(14) + times.map((each) => String(each).padStart(width)).join('');
  });
  return [''.padEnd(14) + sites.map((site) => site.padStart(width)).join(''), ...rows].join('\n');
}

/** A readable failure: the seed, the faults that it needs, and the trace. */
export function failureText(seed: number, { scenario, faults, result }: Shrunk): string {
  const { rates: _, ...rest } = scenario;
  return [
    `seed ${String(seed)}: ${result.violation ?? ''}`,
    `scenario ${JSON.stringify(rest)}`,
    `it takes ${String(faults.length)} faults: ${faults.map(({ at, fault }) => `${fault} at ${at}`).join(', ')}`,
    ...result.trace,
  ].join('\n');
}
