/** The part of process.stdout that a renderer needs. */
export interface Out {
  readonly isTTY?: boolean;
  /** Characters in a line of a terminal. */
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

/** Colours only on a terminal, and none with NO_COLOR (https://no-color.org). */
export function coloursFor({ isTTY }: Out, env: NodeJS.ProcessEnv = process.env): Colours {
  if (isTTY !== true || (env['NO_COLOR'] ?? '') !== '') {
    return { bold: plain, dim: plain, good: plain, bad: plain, accent: plain };
  }
  return { bold: coded(1), dim: coded(2), good: coded(32), bad: coded(31), accent: coded(36) };
}
