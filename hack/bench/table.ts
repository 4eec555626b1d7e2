import { summaryOf, type Figure, type Unit } from './figures.ts';

const HEAD = ['', 'value', 'least', 'most', 'n', 'target', ''];

/** A table with a line for each figure, below the heading of its group. */
export function tableOf(figures: readonly Figure[]): string {
  const groups = Map.groupBy(figures, ({ group }) => group);
  const rows = [...groups].map(([group, members]) => ({ group, rows: members.map(rowOf) }));
  const all = [HEAD, ...rows.flatMap((each) => each.rows)];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `  ${cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')}`.trimEnd();
  const blocks = rows.map(({ group, rows: lines }) => [group, ...lines.map(line)].join('\n'));
  return [line(HEAD), ...blocks].join('\n') + '\n';
}

function rowOf(figure: Figure): string[] {
  const { name, unit, share, target } = figure;
  const { value, min, max, count, isMet } = summaryOf(figure);
  const write = (amount: number): string => written(amount, unit);
  const what = share === undefined ? name : `${name}, p${Math.round(share * 100)}`;
  return [
    what,
    `${write(value)} ${unit}`,
    write(min),
    write(max),
    String(count),
    target === undefined ? '' : `≤ ${write(target)}`,
    isMet === undefined ? '' : isMet ? 'met' : 'MISSED',
  ];
}

function written(amount: number, unit: Unit): string {
  if (!Number.isFinite(amount)) return '–';
  if (unit === '×') return amount.toFixed(2);
  return amount.toFixed(unit === 'ms' && amount < 10 ? 1 : 0);
}
