import stringWidth from 'string-width';
import { shown } from '../../functions/domain/foreign-text.ts';

/** A style by meaning, chosen where a cell is made; these are the names of node:util's styleText. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (style: Style, text: string) => string;

/** A text, or one in a colour. The table makes a foreign one safe. */
export type Cell = string | { readonly text: string; readonly style: Style };

/** A place for tables. */
export interface Sheet {
  readonly paint: Paint;
  /** Columns of the terminal, which no line exceeds. Left out: each row is one line, however long; for pipes and -o wide. */
  readonly columns?: number | undefined;
  /** Whether everything is asked for: -o wide. */
  readonly isWide: boolean;
}

const GAP = '   ';
/** The width that a column keeps at least, and that the last one, which is wrapped, keeps as long as others can be cut. */
const MIN_WIDTH = { cut: 8, wrapped: 30 } as const;

/**
 * Columns as kubectl prints them: headers in capitals, each as wide as its widest cell, three spaces between. The last column is not filled
 * up. Where the lines are too long for the terminal, the last column is wrapped, and the widest of the others are cut. Returns the lines.
 */
export function renderTable(
  headers: readonly string[],
  rows: readonly (readonly Cell[])[],
  { paint, columns = Infinity }: Omit<Sheet, 'isWide'>,
): string[] {
  const cells = [headers, ...rows].map((row) => row.map(safe));
  const widths = headers.map((_, column) =>
    Math.max(...cells.map((row) => stringWidth(row[column]?.text ?? ''))),
  );
  const minima = headers.map((header) => Math.max(MIN_WIDTH.cut, stringWidth(header)));
  const narrowed = fitted(widths, minima, columns);
  return cells.flatMap((row) => linesOf(row, narrowed, paint));
}

/** The widths, narrowed until a line fits into so many columns: first the last one, then the widest of the others. */
function fitted(natural: readonly number[], minima: readonly number[], columns: number): number[] {
  const widths = [...natural];
  const last = widths.length - 1;
  const at = (column: number): number => widths[column] ?? 0;
  const excess = (): number => widths.reduce((sum, width) => sum + width, GAP.length * last) - columns;
  const narrow = (column: number, min: number): void => {
    widths[column] = Math.max(Math.min(at(column), min), at(column) - Math.max(0, excess()));
  };
  narrow(last, MIN_WIDTH.wrapped);
  while (excess() > 0) {
    const spare = minima.slice(0, last).map((min, column) => (at(column) > min ? at(column) : 0));
    const widest = spare.indexOf(Math.max(...spare));
    if ((spare[widest] ?? 0) === 0) break;
    widths[widest] = at(widest) - 1;
  }
  narrow(last, MIN_WIDTH.cut);
  return widths;
}

interface SafeCell {
  readonly text: string;
  readonly style?: Style;
}

const safe = (cell: Cell): SafeCell =>
  typeof cell === 'object' ? { ...cell, text: shown(cell.text) } : { text: shown(cell) };

/** The lines of a row: one, and more where its last cell is wrapped. */
function linesOf(row: readonly SafeCell[], widths: readonly number[], paint: Paint): string[] {
  const wrapped = wrap(row.at(-1)?.text ?? '', widths.at(-1) ?? 0);
  return wrapped.map((end, index) =>
    row
      .map(({ text, style }, column) => {
        const isLast = column === row.length - 1;
        const width = widths[column] ?? 0;
        const part = isLast ? end : index === 0 ? cut(text, width) : '';
        return fill(style === undefined ? { text: part } : { text: part, style }, width, paint);
      })
      .join(GAP)
      .trimEnd(),
  );
}

/** Fills the cell up before it is painted: control characters have no width. */
const fill = ({ text, style }: SafeCell, width: number, paint: Paint): string =>
  (style === undefined || text === '' ? text : paint(style, text)) +
  ' '.repeat(Math.max(0, width - stringWidth(text)));

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The beginning of a text that is as wide as that, ending with "…" if it is not all. */
function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  for (const { segment } of graphemes.segment(text)) {
    if (stringWidth(kept + segment) >= width) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** The text in lines of at most that width, divided at spaces. A longer word is cut; it is whole with -o wide. */
function wrap(text: string, width: number): string[] {
  if (stringWidth(text) <= width) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && stringWidth(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(cut(word, width));
  }
  return lines;
}
