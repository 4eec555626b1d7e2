/** The measurements of a test file, printed as one table at its end. */
export class Measured {
  readonly #columns: readonly string[];
  readonly #rows: (readonly [string, ...number[]])[] = [];

  /** `columns`: titles of a row's numbers, seconds. */
  constructor(...columns: readonly string[]) {
    this.#columns = columns;
  }

  add(name: string, ...seconds: readonly number[]): void {
    this.#rows.push([name, ...seconds]);
  }

  print(): void {
    const width = Math.max(...this.#rows.map(([name]) => name.length), 4);
    const line = (name: string, cells: readonly string[]): string =>
      `${name.padEnd(width)}  ${cells.map((cell, index) => cell.padStart(this.#columns[index]?.length ?? 0)).join('  ')}\n`;
    const rows = this.#rows
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, ...seconds]) =>
        line(
          name,
          seconds.map((each) => `${each.toFixed(2)} s`),
        ),
      );
    process.stdout.write(`\n${line('case', this.#columns)}${rows.join('')}`);
  }
}
