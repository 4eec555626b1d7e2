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

/** How many ways to fail the incumbent has: F1 to F45 (facts/peers.md §1). */
const FAILURES = 45;
const TEST = /`(test\/[^`]+?|functions\/[^`]+?|webhook\/[^`]+?|hack\/[^`]+?) › ([^`]+)`/g;
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

const QUOTED = String.raw`'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|\x60((?:[^\x60\\]|\\.)*)\x60`;
/** Every title: a call's first argument, a row's first cell, a table's key. */
const TITLES = new RegExp(String.raw`(?<=[([]\s*)(?:${QUOTED})|(?:${QUOTED})(?=:\s)`, 'g');
/** What Jest, or a template, puts in at its place. */
const PLACEHOLDER = /%[sdipjo]|\$\{[^}]*\}|\$[a-zA-Z.]+/;
/** A title that says less by itself ("%s") is found by nothing but its row. */
const MIN_LETTERS = 8;

/** Whether the source of a file of tests has a title for each part of this name, rows of tables and templates included. */
export function hasTest(source: string, name: string): boolean {
  const titles = [...source.matchAll(TITLES)].map(([, ...quoted]) => quoted.join(''));
  const plain = new Set(titles.map((title) => title.replaceAll(/\\(.)/g, '$1')));
  const patterns = titles.filter((title) => PLACEHOLDER.test(title)).flatMap(patternOf);
  return name.split(' › ').every((part) => plain.has(part) || patterns.some((pattern) => pattern.test(part)));
}

function patternOf(title: string): RegExp[] {
  const pieces = title.split(new RegExp(PLACEHOLDER, 'g'));
  if (pieces.join('').length < MIN_LETTERS) return [];
  return [new RegExp(`^${pieces.map(escaped).join('.+')}$`)];
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
