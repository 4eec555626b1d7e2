/** A style by meaning, chosen where a cell is made; these are the names of node:util's styleText. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (style: Style, text: string) => string;

/** A text, or one in a colour. */
export type Cell = string | { readonly text: string; readonly style: Style };

const GAP = '   ';

/**
 * Columns as kubectl prints them: headers in capitals, each as wide as its widest cell, three spaces between. The last column
 * is not filled up.
 */
export function renderTable(
  headers: readonly string[],
  rows: readonly (readonly Cell[])[],
  paint: Paint,
): string {
  const lines = [headers, ...rows];
  const widths = headers.map((_, column) => Math.max(...lines.map((cells) => textOf(cells[column]).length)));
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => fill(cell, widths[column] ?? 0, paint))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

const textOf = (cell: Cell | undefined): string => (typeof cell === 'object' ? cell.text : (cell ?? ''));

/** Fills the cell up before it is painted: control characters have no width. */
function fill(cell: Cell, width: number, paint: Paint): string {
  const filling = ' '.repeat(width - textOf(cell).length);
  return (typeof cell === 'object' ? paint(cell.style, cell.text) : cell) + filling;
}
