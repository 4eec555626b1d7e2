import {
  BUCKETS,
  type Bucket,
  type MaintenanceProgress,
  type ProgressState,
} from '../../functions/domain/progress/progress-object.ts';
import { describeEntry } from '../../functions/domain/progress/standing.ts';
import type { Paint, Style } from '../terminal/table.ts';

const STYLE: Readonly<Record<ProgressState, Style>> = {
  Running: 'cyan',
  Blocked: 'red',
  Completed: 'green',
  Canceled: 'red',
  Superseded: 'red',
  Failed: 'red',
};
const BAR = 30;
/** VMs of which a line says what they wait for. */
const MAX_NAMED = 8;
/** Those that do not get on by themselves, the worst first. */
const STUCK: readonly string[] = ['blocked', 'notMigratable', 'notAutomated', 'failed'];

/** Characters beside the subject in a line with a bar. */
const BESIDE = BAR + 40;

/** For a terminal: a bar, the buckets, and VMs that do not get on. No line is longer than `columns`, unless they are few. */
export function renderProgress(
  { metadata, spec, status }: MaintenanceProgress,
  { paint, columns }: { readonly paint: Paint; readonly columns: number },
): string[] {
  const subject = cut(spec.subject, Math.max(10, columns - BESIDE));
  const what = spec.kind === 'Drain' ? `Drain of node ${subject}` : `Upgrade to ${subject}`;
  if (status === undefined) return [cut(`${what}  ${metadata.name}`, columns)];
  const { state, done, total, message, buckets } = status;
  return [
    `${what}  ${barOf(done, total)} ${String(done)}/${String(total)}  ${paint(STYLE[state], state)}`,
    ...[message, countsOf(buckets), ...stuckAmong(buckets)]
      .filter((line) => line !== '')
      .map((line) => cut(`  ${line}`, columns)),
  ];
}

function stuckAmong(buckets: readonly Bucket[]): string[] {
  const stuck = buckets.filter(({ name }) => STUCK.includes(name));
  const named = stuck.flatMap(({ vms }) => vms).slice(0, MAX_NAMED);
  const hidden = stuck.reduce((sum, { count }) => sum + count, 0) - named.length;
  return [
    ...named.map((entry) => `- ${describeEntry(entry)}`),
    ...(hidden > 0 ? [`  and ${String(hidden)} more`] : []),
  ];
}

/** `done` of `total`; full where there is nothing to do. */
export function barOf(done: number, total: number): string {
  const filled = total === 0 ? BAR : Math.floor((done / total) * BAR);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}]`;
}

const countsOf = (buckets: readonly Bucket[]): string =>
  BUCKETS.flatMap((wanted) => {
    const count = buckets.find(({ name }) => name === wanted)?.count ?? 0;
    return count === 0 ? [] : [`${wanted} ${String(count)}`];
  }).join(', ');

const cut = (line: string, columns: number): string =>
  line.length > columns ? `${line.slice(0, Math.max(0, columns - 1))}…` : line;

/** For a pipe: one line for each change. */
export function plainLine({ metadata, status }: MaintenanceProgress): string {
  if (status === undefined) return `${metadata.name} begins`;
  return `${metadata.name} ${status.state} ${status.progress}: ${status.message}`;
}
