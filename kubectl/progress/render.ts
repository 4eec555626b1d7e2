import { cutText } from '../../functions/domain/foreign-text.ts';
import {
  BUCKETS,
  type Bucket,
  type MaintenanceProgress,
  type ProgressState,
  type ProgressStatus,
} from '../../functions/domain/progress/progress-object.ts';
import { describeEntry } from '../../functions/progress/open-status.ts';
import type { Style } from '../terminal/table.ts';
import { barOf, MAX_NAMED, subjectOf } from './bar.ts';
import type { ScreenWidth } from './kind.ts';

const STYLE: Readonly<Record<ProgressState, Style>> = {
  Running: 'cyan',
  Blocked: 'red',
  Completed: 'green',
  Canceled: 'red',
  Superseded: 'red',
  Failed: 'red',
};
/** Buckets of VMs that are blocked, the worst first. */
const STUCK: readonly string[] = ['blocked', 'notMigratable', 'notAutomated', 'failed'];

/** Renders a bar, the buckets, and VMs that are blocked, for a terminal. */
export function renderProgress(
  { metadata, spec, status }: MaintenanceProgress,
  { paint, columns }: ScreenWidth,
): string[] {
  const subject = subjectOf(spec.subject, columns);
  const what = spec.kind === 'Drain' ? `Drain of node ${subject}` : `Upgrade to ${subject}`;
  if (status === undefined) return [cutText(`${what}  ${metadata.name}`, columns)];
  const { state, done, total, message, buckets } = status;
  return [
    `${what}  ${barOf(done, total)} ${String(done)}/${String(total)}  ${paint(STYLE[state], state)}`,
    ...[message, countsOf(buckets), ...stuckAmong(status)]
      .filter((line) => line !== '')
      .map((line) => cutText(`  ${line}`, columns)),
  ];
}

function stuckAmong({ buckets, blocked }: ProgressStatus): string[] {
  const stuck = buckets.filter(({ name }) => STUCK.includes(name));
  const counted = stuck.reduce((sum, { count }) => sum + count, 0);
  // The others wait for a node, for a slot or for KubeVirt, and are the first ones of that bucket.
  const others = Math.max(0, blocked - counted);
  const waiting = buckets.find(({ name }) => name === 'waiting')?.vms.slice(0, others) ?? [];
  const named = [...stuck.flatMap(({ vms }) => vms), ...waiting].slice(0, MAX_NAMED);
  const hidden = counted + others - named.length;
  return [
    ...named.map((entry) => `- ${describeEntry(entry)}`),
    ...(hidden > 0 ? [`  and ${String(hidden)} more`] : []),
  ];
}

/** "not migratable" */
const inWords = (bucket: string): string =>
  bucket.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const countsOf = (buckets: readonly Bucket[]): string =>
  BUCKETS.flatMap((wanted) => {
    const count = buckets.find(({ name }) => name === wanted)?.count ?? 0;
    return count === 0 ? [] : [`${inWords(wanted)} ${String(count)}`];
  }).join(', ');

/** Renders a line for each change, for a pipe. */
export function plainLine({ metadata, status }: MaintenanceProgress): string {
  if (status === undefined) return `${metadata.name} begins`;
  return `${metadata.name} ${status.state} ${status.progress}: ${status.message}`;
}
