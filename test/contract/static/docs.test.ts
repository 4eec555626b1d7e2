import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

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
/** 14,000 for the cycle, 1,500 for cluster-wide VMMRQs, drains and upgrades, 1,000 for live migration between clusters. */
const MAX_WORDS = 16_500;
const MAX_TABLE_LINE = 140;

/** Phrases that hide the subject, and words that docs/glossary.md replaces. Names that users see are in backticks. */
const FORBIDDEN = [
  'told',
  'whoever',
  'anew',
  'of ours',
  'lets? go of',
  'in vain',
  'stands',
  'is said',
  'is asked of',
  'is taken for',
  "nobody's fault",
  'comes? to it',
  'puts? back',
  'putting back',
  'gives? way',
  'giving way',
  'happenings?',
  'strangers?',
  'walls?',
  'rehears(?:al|ed)',
  'patience',
  'closer look',
  'veto',
  'obstacles?',
  'breach(?:es)?',
  'tear-out',
  'liar',
  'sweeps?',
  'at rest',
  'woken',
  'wakes?',
];

const PAGES = globSync('docs/*.md', { cwd: ROOT }).sort();
const PROSE = [
  ...PAGES,
  ...globSync('docs/adr/*.md', { cwd: ROOT }),
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
];

/** `file:line: text` of each line that has the problem. */
const linesWith = (hasProblem: (line: string) => boolean, files = PROSE): string[] =>
  files.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => (hasProblem(line) ? [`${file}:${String(index + 1)}: ${line}`] : [])),
  );

test('docs/ has these files, and no others', () => {
  expect(readdirSync(join(ROOT, 'docs')).sort()).toEqual(ENTRIES);
});

test('the pages of docs/ have at most 16,500 words in total', () => {
  const words = PAGES.map((file) => [file, read(file).match(/\S+/g)?.length ?? 0] as const);
  expect(words.reduce((sum, [, count]) => sum + count, 0)).toBeLessThanOrEqual(MAX_WORDS);
});

/** As git writes it, and as the formatter changes that in Markdown. */
const CONFLICT = /^\s*(?:<{7}|\\?={7}$|(?:> ?){7})/;

test('no page has a conflict of a merge', () => {
  expect(linesWith((line) => CONFLICT.test(line))).toEqual([]);
});

test('no line of a table is longer than 140 characters', () => {
  expect(linesWith((line) => line.startsWith('|') && line.length > MAX_TABLE_LINE)).toEqual([]);
});

describe('words', () => {
  const pattern = new RegExp(String.raw`\b(?:${FORBIDDEN.join('|')})\b`, 'i');

  test('of the docs are those of docs/glossary.md', () => {
    expect(linesWith((line) => pattern.test(line.replaceAll(/`[^`]*`/g, '')))).toEqual([]);
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
