import { LOCK_OUTCOME } from '../../functions/domain/names.ts';
import { lastAttemptOf, totalMs } from '../../functions/domain/verdict/attempt.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import type { Attacked, Result } from './adversary.ts';
import { OUTCOMES } from './tenants/outcome.ts';

/** Pads columns to their widest cell: the first is left-aligned, numbers are right-aligned. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return rows.map(line).join('\n');
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;

/** Prints the result of a run: the attempts by shape and outcome, and the figures that decide. */
export function tableOf({ run, admissionMode, attacked, report, pauses, seconds }: Result): string {
  const attempts = Object.entries(report.counts).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const rows = attempts.map(([what, row]) => [
    what,
    ...OUTCOMES.map((outcome) => String(row[outcome] ?? '')),
  ]);
  const total = sum(attempts.flatMap(([, row]) => Object.values(row)));
  const others = Object.entries(report.others).map(([what, answer]) => `  other: ${what}: ${answer}`);
  return [
    `\nthe adversary: ${run.name}; admission mode: ${admissionMode}`,
    aligned([['attempt', ...OUTCOMES], ...rows]),
    ...others,
    ...(run.pauseMs === undefined ? [] : [`kube-controller-manager stood still for ${pauses} target pods`]),
    `${total} attempts in ${seconds.toFixed(1)} s: ${(total / seconds).toFixed(0)} a second`,
    aligned([HEADINGS, ...attacked.map(rowOf)]),
    ...attacked.flatMap(failedLocksOf),
    ...attacked.flatMap(lockedMigrationsOf),
    '',
  ].join('\n');
}

const HEADINGS = [
  'tenant',
  'cycles',
  'through',
  'locks',
  'median ms',
  'raised ms',
  'pod requests',
  'while raised',
  'unproven',
  'outside lock',
  'late',
  'above',
];

function rowOf({ kind, tenant, cycles, evaluation }: Attacked): string[] {
  const { windows, requests, inWindows, podsOutsideLock, late } = evaluation;
  const raisedMs = sum(windows.map(({ from, until }) => until - from));
  const figures = [
    cycles.length,
    cycles.filter(({ isThrough }) => isThrough).length,
    tenant.history.locks().length,
    median(cycles.map(({ ms }) => ms)),
    raisedMs,
    requests,
    inWindows,
    windows.filter(({ isProven }) => !isProven).length,
    podsOutsideLock.length,
    late.length,
    [...podsOutsideLock, ...late].filter(({ isAbove }) => isAbove).length,
  ];
  return [`${tenant.name} (${kind})`, ...figures.map((figure) => figure.toFixed(0))];
}

/** Why locks failed, and for how long these had locked the namespace at most within the budget's window. */
function failedLocksOf({ tenant }: Attacked): string[] {
  const records = tenant.history
    .of(NAMESPACES)
    .flatMap((namespace) => lastAttemptOf(namespace, Infinity) ?? []);
  const failed = new Map(
    records.filter(({ outcome }) => outcome !== LOCK_OUTCOME.admitted).map((record) => [record.at, record]),
  );
  if (failed.size === 0) return [];
  const by = Map.groupBy(failed.values(), ({ reason }) => reason);
  const reasons = [...by].map(([reason, all]) => `${reason} ×${all.length}`);
  const longest = Math.max(...[...failed.values()].map(({ locked }) => totalMs(locked)));
  return [
    `  failed locks: ${tenant.name} ${reasons.join(', ')}; ${(longest / 1_000).toFixed(0)} s locked at most`,
  ];
}

const MAX_LISTED = 10;

/** The first admitted pods, and when the API server received their requests. */
function lockedMigrationsOf({ tenant, evaluation: { late, podsOutsideLock } }: Attacked): string[] {
  const lines = [
    ...late.map((one) => ['LATE', one] as const),
    ...podsOutsideLock.map((one) => ['outside lock', one] as const),
  ].map(
    ([what, { what: name, received, proven, revision, isAbove }]) =>
      `  ${what}: ${tenant.name} ${name} received ${received}, proof answered ${proven ?? 'never'}, revision ${revision}${isAbove ? ', above an original' : ''}`,
  );
  return lines.length > MAX_LISTED
    ? [...lines.slice(0, MAX_LISTED), `  and ${lines.length - MAX_LISTED} more`]
    : lines;
}
