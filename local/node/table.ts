/** What is told of a pod at the end. */
export interface Row {
  readonly pod: string;
  readonly readyAfterMs: number;
  readonly uid: number;
  readonly rssMiB: number;
  /** What it was asked, or what it answered. */
  readonly answer: string;
}

const HEAD = ['pod', 'ready after', 'uid', 'RSS', 'event'];

/** In columns; the first to be ready first. */
export function tableOf(rows: readonly Row[]): string {
  const cells = rows
    .toSorted((one, other) => one.readyAfterMs - other.readyAfterMs)
    .map(({ pod, readyAfterMs, uid, rssMiB, answer }) => [
      pod,
      `${(readyAfterMs / 1_000).toFixed(1)} s`,
      String(uid),
      `${rssMiB.toFixed(0)} MiB`,
      answer,
    ]);
  const all = [HEAD, ...cells];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
