import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';
import { visible } from '../../functions/domain/foreign-text.ts';
import type { Paint, Sheet, Style } from './table.ts';

const ESCAPE = '\u001b';
/** ANSI: cursor to the top left, then erase to the end of the screen. */
const CLEAR = `${ESCAPE}[H${ESCAPE}[J`;

/** The streams of the process: what a person or a pipe reads. */
export class Terminal {
  readonly #streams: Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>;

  /** Lines of the last redraw. */
  #drawn = 0;

  constructor(streams: Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>) {
    this.#streams = streams;
  }

  /** Marks the end of each painted part in a line. Only this process knows it, so a foreign text paints nothing. */
  readonly #mark = randomUUID();

  readonly paint: Paint = (style, text) => `${this.#mark}${style} ${text}${this.#mark}`;

  /** Whether stdout is a terminal. */
  get isTerminal(): boolean {
    return this.#streams.stdout.isTTY;
  }

  /** Characters in a line. A terminal of unknown size says 0. */
  get columns(): number {
    return (this.isTerminal && this.#streams.stdout.columns) || 80;
  }

  /** Returns the place for tables, by the value of -o: as wide as the terminal; without a limit in a pipe, and for `wide`. */
  sheet(output: string | undefined): Sheet {
    const isWide = output === 'wide';
    return { paint: this.paint, columns: this.isTerminal && !isWide ? this.columns : undefined, isWide };
  }

  /** Prints a line, or several, to stdout. A line feed within a line begins no new one. */
  print(lines: string | readonly string[]): void {
    this.#streams.stdout.write(this.#output(lines));
  }

  /** Prints completions: a tab divides a candidate from its description. */
  printCandidates(lines: readonly string[]): void {
    const texts = lines.map((line) => `${line.split('\t').map(visible).join('\t')}\n`);
    this.#streams.stdout.write(texts.join(''));
  }

  /** Clears a terminal, so that the next text begins at the top of an empty screen; elsewhere prints an empty line. */
  clear(): void {
    this.#streams.stdout.write(this.isTerminal ? CLEAR : '\n');
  }

  /** Replaces the lines of the last call by these lines, on a terminal. */
  redraw(lines: readonly string[]): void {
    const back = this.#drawn === 0 ? '' : `${ESCAPE}[${String(this.#drawn)}F${ESCAPE}[J`;
    this.#streams.stdout.write(back + this.#output(lines));
    this.#drawn = lines.length;
  }

  warn(lines: string | readonly string[]): void {
    this.#streams.stderr.write(this.#output(lines));
  }

  /** A line is one line: what others wrote in it begins no line, moves no cursor, and hides or turns nothing. */
  #output(lines: string | readonly string[]): string {
    return (typeof lines === 'string' ? [lines] : lines).map((line) => `${this.#painted(line)}\n`).join('');
  }

  /** Colours only on a terminal, and not with NO_COLOR (Node checks both). */
  #painted(line: string): string {
    return line
      .split(this.#mark)
      .map((part, index) => {
        if (index % 2 === 0) return visible(part);
        const at = part.indexOf(' ');
        return styleText(part.slice(0, at) as Style, visible(part.slice(at + 1)), {
          stream: this.#streams.stdout,
        });
      })
      .join('');
  }

  /** Asks the question; undefined if stdin is no terminal, so that no answer is possible. */
  async confirm(question: string): Promise<boolean | undefined> {
    const { stdin, stderr } = this.#streams;
    if (!stdin.isTTY) return undefined;
    const asking = createInterface({ input: stdin, output: stderr });
    try {
      return /^y(?:es)?$/i.test((await asking.question(`${visible(question)} [y/N] `)).trim());
    } catch (error) {
      if (isAbort(error)) return false;
      throw error;
    } finally {
      asking.close();
    }
  }
}

/** Whether the user ended the prompt by Ctrl-C, or the input ended. */
const isAbort = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'name' in error && error.name === 'AbortError';
