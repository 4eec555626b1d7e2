import { shown } from '../../functions/domain/foreign-text.ts';

/** A style by meaning, chosen where a cell is made; these are the names of node:util's styleText. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (style: Style, text: string) => string;

/** A text, or one in a colour. The table makes a foreign one safe. */
export type Cell = string | { readonly text: string; readonly style: Style };

const GAP = '   ';

/**
 * Columns as kubectl prints them: headers in capitals, each as wide as its widest cell, three spaces between. The last column
 * is not filled up. Returns the lines.
 */
export function renderTable(
  headers: readonly string[],
  rows: readonly (readonly Cell[])[],
  paint: Paint,
): string[] {
  const lines = [headers, ...rows].map((cells) => cells.map(safe));
  const widths = headers.map((_, column) =>
    Math.max(...lines.map((cells) => cells[column]?.text.length ?? 0)),
  );
  return lines.map((cells) =>
    cells
      .map((cell, column) => fill(cell, widths[column] ?? 0, paint))
      .join(GAP)
      .trimEnd(),
  );
}

interface SafeCell {
  readonly text: string;
  readonly style?: Style;
}

const safe = (cell: Cell): SafeCell =>
  typeof cell === 'object' ? { ...cell, text: shown(cell.text) } : { text: shown(cell) };

/** Fills the cell up before it is painted: control characters have no width. */
const fill = ({ text, style }: SafeCell, width: number, paint: Paint): string =>
  (style === undefined ? text : paint(style, text)) + ' '.repeat(width - text.length);
