import { describeAmounts } from '../../functions/domain/quantity.ts';
import { formatAge } from '../terminal/age.ts';
import { renderTable, type Cell, type Sheet } from '../terminal/table.ts';
import { VERDICT_STYLE } from '../terminal/verdict-style.ts';
import type { LockStatus, NamespaceStatus, RaisedStatus, StatusReport, WaitingStatus } from './report.ts';

export interface StatusView {
  /** -o wide shows whole tokens, amounts of raised keys and messages too. */
  readonly sheet: Sheet;
  /** The time, in milliseconds. */
  readonly now: number;
}

const NONE = '<none>';

/** Renders up to three tables: cluster-wide VMMRQs, namespaces, waiting migrations. No lines: nothing to show. */
export function renderStatus({ clusterWide, namespaces }: StatusReport, view: StatusView): string[] {
  const waiting = namespaces.flatMap(({ namespace, waiting: each }) =>
    each.map((one) => ({ namespace, ...one })),
  );
  const tables: [readonly string[], Cell[][]][] = [
    [
      ['CLUSTER-WIDE', 'PURPOSES', 'NAMESPACES'],
      clusterWide.map(({ name, purposes, namespaces: count }) => [name, listOf(purposes), String(count)]),
    ],
    [
      ['NAMESPACE', 'VMMRQS', 'LOCK', 'RAISED', 'WAITING'],
      namespaces.map((each) => namespaceRow(each, view)),
    ],
    [
      ['NAMESPACE', 'MIGRATION', 'VERDICT', 'MISSING', ...(view.sheet.isWide ? ['WHY'] : [])],
      waiting.map((each) => waitingRow(each, view)),
    ],
  ];
  return tables
    .filter(([, rows]) => rows.length > 0)
    .flatMap(([headers, rows], index) => [
      ...(index > 0 ? [''] : []),
      ...renderTable(headers, rows, view.sheet),
    ]);
}

const listOf = (names: readonly string[]): string => (names.length === 0 ? NONE : names.join(','));

function namespaceRow(
  { namespace, vmmrqs, lock, raised, waiting }: NamespaceStatus,
  view: StatusView,
): Cell[] {
  const count = String(waiting.length);
  return [
    namespace,
    listOf(vmmrqs),
    lockCell(lock, view),
    raised.length === 0
      ? NONE
      : { text: raised.map((each) => raisedText(each, view)).join(','), style: 'cyan' },
    waiting.length === 0 ? count : { text: count, style: waiting.some(needsPerson) ? 'red' : 'yellow' },
  ];
}

const needsPerson = ({ verdict }: WaitingStatus): boolean => VERDICT_STYLE[verdict] === 'red';

/** A token is a UUID: its first part identifies it for people. */
const SHORT = 8;

function lockCell(lock: LockStatus | undefined, { sheet: { isWide }, now }: StatusView): Cell {
  if (lock === undefined) return NONE;
  if ('problem' in lock) return { text: 'unreadable', style: 'red' };
  const token = isWide ? lock.token : lock.token.slice(0, SHORT);
  const age = formatAge(now - Date.parse(lock.acquiredAt));
  const left = formatAge(Date.parse(lock.expiresAt) - now);
  return lock.isExpired
    ? { text: `${token} for ${age}, expired`, style: 'red' }
    : { text: `${token} for ${age}, ${left} left`, style: 'yellow' };
}

function raisedText({ quota, keys }: RaisedStatus, { sheet: { isWide } }: StatusView): string {
  const amounts = describeAmounts(keys);
  return isWide && amounts.length > 0 ? `${quota}(${amounts.join(',')})` : quota;
}

function waitingRow(
  { namespace, migration, verdict, reason, blocking, message, advice }: WaitingStatus & { namespace: string },
  { sheet: { isWide } }: StatusView,
): Cell[] {
  const byQuota = Map.groupBy(blocking, ({ quota }) => quota);
  const lacks = [...byQuota].map(([quota, keys]) => {
    const amounts = Object.fromEntries(keys.map(({ key, missing }) => [key, missing]));
    return `${quota}: ${describeAmounts(amounts).join(', ')}`;
  });
  return [
    namespace,
    migration,
    { text: reason, style: VERDICT_STYLE[verdict] },
    lacks.length === 0 ? NONE : lacks.join('; '),
    ...(isWide ? [[message, advice].filter((text) => text !== '').join('. ')] : []),
  ];
}
