/** As much of process.stdout as a teller needs. */
export interface Out {
  readonly isTTY?: boolean;
  /** Of a terminal: characters in a line. */
  readonly columns?: number;
  write(text: string): unknown;
}

type Colour = (text: string) => string;

export interface Colours {
  readonly bold: Colour;
  readonly dim: Colour;
  readonly good: Colour;
  readonly bad: Colour;
  readonly accent: Colour;
}

const coded =
  (code: number): Colour =>
  (text) =>
    text === '' ? '' : `\u001B[${code}m${text}\u001B[0m`;

const plain: Colour = (text) => text;

/** Colours on a terminal only, and not where NO_COLOR asks for none (https://no-color.org). */
export function coloursFor({ isTTY }: Out, env: NodeJS.ProcessEnv = process.env): Colours {
  if (isTTY !== true || (env['NO_COLOR'] ?? '') !== '') {
    return { bold: plain, dim: plain, good: plain, bad: plain, accent: plain };
  }
  return { bold: coded(1), dim: coded(2), good: coded(32), bad: coded(31), accent: coded(36) };
}
