import { readFileSync } from 'node:fs';

/** One line of the table in docs/incumbent.md. */
export interface Row {
  /** "F1". */
  readonly failure: string;
  readonly tests: readonly NamedTest[];
  /** Files of tests that it mentions without a name: nobody would check that they ran. */
  readonly unnamed: readonly string[];
  /** Says that something of it is not done yet. */
  readonly open: boolean;
  /** Says why no test can show it. */
  readonly documented: boolean;
}

export interface NamedTest {
  /** Its path from the root of the repository. */
  readonly file: string;
  /** Its name with those of the blocks it is in, or the name of a block: " › " between them. */
  readonly name: string;
}

/** How one test ended: Jest's `passed`, or anything else. */
export interface Ran extends NamedTest {
  readonly status: string;
}

/** How many ways to fail the incumbent has: F1 to F45 (facts/peers.md §1). */
const FAILURES = 45;
const TEST = /`(test\/[^`]+?|functions\/[^`]+?|webhook\/[^`]+?|local\/[^`]+?) › ([^`]+)`/g;
/** In backticks, and nothing but the file. */
const FILE = /`([^`\s]+\.test\.ts)`/g;
const OPEN = /\*\*open\*\*/i;

export const readRows = (file: string): Row[] => rowsIn(readFileSync(file, 'utf8'));

/** Rows start with "| F<number>"; a test is written as `file › name`. */
export function rowsIn(markdown: string): Row[] {
  const lines = markdown.split('\n').filter((line) => /^\| F\d+ /.test(line));
  return lines.map((line) => ({
    failure: /F\d+/.exec(line)?.[0] ?? '',
    tests: [...line.matchAll(TEST)].map(([, file = '', name = '']) => ({ file, name })),
    unnamed: [...line.matchAll(FILE)].map(([, file = '']) => file),
    open: OPEN.test(line),
    documented: / Documented: /.test(line),
  }));
}

/** Every failure has its row, and what a row mentions of tests has a name. */
export function tableProblems(rows: readonly Row[]): string[] {
  const wanted = Array.from({ length: FAILURES }, (_, index) => `F${String(index + 1)}`);
  const found = rows.map(({ failure }) => failure);
  const unnamed = rows.flatMap((row) =>
    row.unnamed.map((file) => `${row.failure}: no test of ${file} is named, as \`file › name\``),
  );
  return found.join() === wanted.join()
    ? unnamed
    : [`the rows are ${found.join(' ')}, not F1 to F${String(FAILURES)}`, ...unnamed];
}

/** The named tests that were not there, or did not pass. `files`: only those of these are judged. */
export function namedTestProblems(
  rows: readonly Row[],
  ran: readonly Ran[],
  files: ReadonlySet<string>,
): string[] {
  return rows.flatMap(({ failure, tests }) =>
    tests
      .filter(({ file }) => files.has(file))
      .flatMap((test) => {
        const matching = ran.filter((one) => isNamed(one, test));
        const bad = matching.filter(({ status }) => status !== 'passed');
        if (matching.length === 0) return [`${failure}: there is no test ${test.file} › ${test.name}`];
        return bad.map((one) => `${failure}: ${one.status}: ${one.file} › ${one.name}`);
      }),
  );
}

const isNamed = (one: NamedTest, wanted: NamedTest): boolean =>
  one.file === wanted.file && (one.name === wanted.name || one.name.startsWith(`${wanted.name} › `));
