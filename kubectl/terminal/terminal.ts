import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';
import type { Paint } from './table.ts';

const ESCAPE = '\u001b';
/** ANSI: cursor to the top left, then erase to the end of the screen. */
const CLEAR = `${ESCAPE}[H${ESCAPE}[J`;

/**
 * Control characters but line feeds and tabs, and escape sequences but colours: a tenant's Event or annotation must not move the
 * cursor of an admin's terminal.
 */
const UNSAFE = new RegExp(`(?!${ESCAPE}\\[[0-9;]*m)[^\\P{Cc}\\n\\t]`, 'gu');
const safe = (text: string): string => text.replaceAll(UNSAFE, '');

/** The streams of the process: what a person or a pipe reads. */
export class Terminal {
  readonly #streams: Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>;

  /** Lines of the last redraw. */
  #drawn = 0;

  constructor(streams: Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>) {
    this.#streams = streams;
  }

  /** Colours only on a terminal, and not with NO_COLOR (Node checks both). */
  readonly paint: Paint = (style, text) => styleText(style, text, { stream: this.#streams.stdout });

  /** Whether stdout is a terminal. */
  get isTerminal(): boolean {
    return this.#streams.stdout.isTTY;
  }

  /** Characters in a line. A terminal of unknown size says 0. */
  get columns(): number {
    return (this.isTerminal && this.#streams.stdout.columns) || 80;
  }

  /** Prints a line, or several, to stdout. */
  print(text: string): void {
    this.#streams.stdout.write(`${safe(text)}\n`);
  }

  /** Clears a terminal, so that the next text begins at the top of an empty screen; elsewhere prints an empty line. */
  clear(): void {
    this.#streams.stdout.write(this.isTerminal ? CLEAR : '\n');
  }

  /** Replaces the lines of the last call by these lines, on a terminal. */
  redraw(lines: readonly string[]): void {
    const back = this.#drawn === 0 ? '' : `${ESCAPE}[${String(this.#drawn)}F${ESCAPE}[J`;
    this.#streams.stdout.write(back + lines.map((line) => `${safe(line)}\n`).join(''));
    this.#drawn = lines.length;
  }

  warn(text: string): void {
    this.#streams.stderr.write(`${safe(text)}\n`);
  }

  /** Asks the question; undefined if stdin is no terminal, so that no answer is possible. */
  async confirm(question: string): Promise<boolean | undefined> {
    const { stdin, stderr } = this.#streams;
    if (!stdin.isTTY) return undefined;
    const asking = createInterface({ input: stdin, output: stderr });
    try {
      return /^y(?:es)?$/i.test((await asking.question(`${safe(question)} [y/N] `)).trim());
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
