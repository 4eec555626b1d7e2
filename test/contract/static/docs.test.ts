import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { generatedSections } from '../../../hack/reference/render.ts';
import { FORBIDDEN } from './forbidden-words.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** The files of docs/: one page for each purpose, which a newcomer reaches from README.md in two steps. */
const ENTRIES = [
  'adr',
  'architecture.md',
  'cycle-dark.svg',
  'cycle-light.svg',
  'development.md',
  'events',
  'facts',
  'glossary.md',
  'incumbent.md',
  'installing.md',
  'live-migration.md',
  'maintenance.md',
  'operations.md',
  'preflight-dark.svg',
  'preflight-light.svg',
  'reference.md',
  'scale.md',
  'security.md',
];
/** Of the pages and the ADRs together; the facts do not count. */
const MAX_WORDS = 24_000;
const MAX_ADR_WORDS = 600;
const MAX_TABLE_LINE = 140;
const MAX_PROSE_LINE = 120;

const PAGES = globSync('docs/*.md', { cwd: ROOT }).sort();
const ADRS = globSync('docs/adr/*.md', { cwd: ROOT }).sort();
const PROSE = [...PAGES, ...ADRS, 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];

/** `file:line: text` of each line that has the problem. */
const linesWith = (hasProblem: (line: string) => boolean, files = PROSE, textOf = read): string[] =>
  files.flatMap((file) =>
    textOf(file)
      .split('\n')
      .flatMap((line, index) => (hasProblem(line) ? [`${file}:${String(index + 1)}: ${line}`] : [])),
  );

test('docs/ has these files, and no others', () => {
  expect(readdirSync(join(ROOT, 'docs')).sort()).toEqual(ENTRIES);
});

const wordsIn = (file: string): number => read(file).match(/\S+/g)?.length ?? 0;

test('the pages of docs/ and the ADRs have at most 24,000 words in total', () => {
  expect([...PAGES, ...ADRS].reduce((sum, file) => sum + wordsIn(file), 0)).toBeLessThanOrEqual(MAX_WORDS);
});

test('an ADR has at most 600 words', () => {
  expect(
    ADRS.map((file) => [file, wordsIn(file)] as const).filter(([, words]) => words > MAX_ADR_WORDS),
  ).toEqual([]);
});

/** As git writes it, and as the formatter changes that in Markdown. */
const CONFLICT = /^\s*(?:<{7}|\\?={7}$|(?:> ?){7})/;

test('no page has a conflict of a merge', () => {
  expect(linesWith((line) => CONFLICT.test(line))).toEqual([]);
});

test('no line of a table is longer than 140 characters', () => {
  expect(linesWith((line) => line.startsWith('|') && line.length > MAX_TABLE_LINE)).toEqual([]);
});

/** Lines that `npm run reference` writes. */
const GENERATED = new Set(
  [...generatedSections(read('functions/domain/names.ts')).values()].flatMap((text) => text.split('\n')),
);
/** A table, a picture, a heading, and what has no space at which it could be wrapped: one long link, path or command. */
const UNWRAPPABLE = /^(?:\||\s*<|#)|^\s*(?:[-*] |\d+\. )?(?:\S+|\[[^\]]*\]\(\S+|`[^`]*`[.,:;]?)$/;

test('no line of prose is longer than 120 characters', () => {
  const isProse = (line: string): boolean => !GENERATED.has(line) && !UNWRAPPABLE.test(line);
  const textOf = (file: string): string => withoutFences(read(file));
  expect(linesWith((line) => line.length > MAX_PROSE_LINE && isProse(line), PROSE, textOf)).toEqual([]);
});

/** Blanks out code blocks; line numbers stay the same. */
function withoutFences(markdown: string): string {
  return markdown.replace(/^ *```[^]*?^ *```/gm, (block) => block.replace(/.*/g, ''));
}

describe('words', () => {
  test('of the docs are those of docs/glossary.md', () => {
    expect(linesWith((line) => FORBIDDEN.test(line.replaceAll(/`[^`]*`/g, '')))).toEqual([]);
  });

  test('of docs/glossary.md are in alphabetical order, one on each line', () => {
    const [, ...lines] = read('docs/glossary.md').trim().split('\n').filter(Boolean);
    const terms = lines.map((line) => /^- \*\*(.+?)\*\*: .+\.$/.exec(line)?.[1] ?? line);
    expect(terms).toEqual(terms.toSorted((one, other) => one.localeCompare(other, 'en')));
    expect(lines.filter((line) => !/^- \*\*(.+?)\*\*: .+\.$/.test(line))).toEqual([]);
  });
});

test('the pictures of README.md exist', () => {
  const pictures = [...read('README.md').matchAll(/(?:srcset|src)="([^"]+)"/g)].map(([, path = '']) => path);
  expect(pictures.map((path) => path.replace('docs/', '')).sort()).toEqual(
    ENTRIES.filter((name) => name.endsWith('.svg')),
  );
});
