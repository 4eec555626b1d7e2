import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { INVARIANTS } from '../../simulation/checker/invariant.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const THIS = 'test/contract/static/references.test.ts';
const ARCHITECTURE = 'docs/architecture.md';
const FACTS = 'docs/facts';

interface Page {
  readonly file: string;
  readonly text: string;
}

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const isMarkdown = ({ file }: Page): boolean => file.endsWith('.md');

/** All code, manifests and docs but the recordings, which are data, and this file, which is full of patterns. */
const PAGES = tracked().map((file): Page => ({ file, text: read(file) }));
const MARKDOWN = PAGES.filter(isMarkdown).map((page) => ({ ...page, text: withoutCode(page.text) }));
/** Without the facts, which also cite each other and the documents of other projects, in forms of their own. */
const OURS = PAGES.filter(({ file }) => !file.startsWith(FACTS));

/** By .gitignore, so that a copy without .git will do. */
function tracked(): string[] {
  const ignored = read('.gitignore').matchAll(/^(\S+)\/$/gm);
  const skipped = new Set(['.git', 'recorded', ...[...ignored].map(([, folder]) => folder)]);
  const files = globSync('**/*.{ts,js,mjs,md,yaml}', {
    cwd: ROOT,
    exclude: (path) => skipped.has(path.split('/').at(-1)),
  });
  return files.filter((file) => file !== THIS);
}

/** `file:line: match: problem`, of each match that has one. */
const problems = (
  pages: readonly Page[],
  pattern: RegExp,
  problemOf: (groups: readonly (string | undefined)[], page: Page) => string | undefined,
): string[] =>
  pages.flatMap((page) =>
    [...page.text.matchAll(pattern)].flatMap((match) => {
      const problem = problemOf(match.slice(1), page);
      const line = page.text.slice(0, match.index).split('\n').length;
      return problem === undefined ? [] : [`${page.file}:${String(line)}: ${match[0]}: ${problem}`];
    }),
  );

describe('facts/<page>.md §<section>', () => {
  const SECTION = String.raw`§(?:[A-Z]\d*|\d+)(?:\.\d+)*[a-z]?`;
  const CITED = String.raw`([\w-]+\.md) (${SECTION}(?:(?:, | and |–)${SECTION})*)`;
  const OF_OTHERS = String.raw`(?:RFC \d+|X\.690|HTTP binding) §[\d.]+`;

  /** "## 1.2 Name" is §1.2, "# A. Name" is §A. */
  const sections = new Map(
    readdirSync(join(ROOT, FACTS)).map((page) => {
      const headings = read(`${FACTS}/${page}`).matchAll(/^#+ ([A-Z]|[A-Z]?\d+(?:\.\d+)*[a-z]?)\.? /gm);
      return [page, [...headings].map(([, section = '']) => `§${section}`)];
    }),
  );

  test('the page is there', () => {
    const found = problems(PAGES, /\bfacts\/([\w-]+\.md)/g, ([page = '']) =>
      sections.has(page) ? undefined : `not in ${FACTS}`,
    );
    expect(found).toEqual([]);
  });

  test('the section is a heading of the page', () => {
    const found = problems(PAGES, new RegExp(CITED, 'g'), ([page = '', cited = '']) => {
      const known = sections.get(page) ?? [];
      const unknown = (cited.match(new RegExp(SECTION, 'g')) ?? []).filter((one) => !known.includes(one));
      return unknown.length === 0 ? undefined : `no ${unknown.join(', ')} in ${FACTS}/${page}`;
    });
    expect(found).toEqual([]);
  });

  test('no § is without its page', () => {
    const found = problems(OURS, new RegExp(`(facts/${CITED}|${OF_OTHERS})|§.*`, 'g'), ([complete]) =>
      complete === undefined ? 'of which page?' : undefined,
    );
    expect(found).toEqual([]);
  });
});

test('each ADR that is cited is there', () => {
  const numbers = new Set(readdirSync(join(ROOT, 'docs/adr')).map((file) => Number(file.slice(0, 4))));
  const found = problems(PAGES, /\bADR (\d+)|\badr\/(\d+)/g, ([inWords, inPath]) =>
    numbers.has(Number(inWords ?? inPath)) ? undefined : 'not in docs/adr',
  );
  expect(found).toEqual([]);
});

test('each invariant that is cited is listed in docs/architecture.md, which lists those of the checker', () => {
  const listed = [...read(ARCHITECTURE).matchAll(/^### (I\d) /gm)].map(([, invariant]) => invariant);
  expect(listed).toEqual(INVARIANTS);
  const found = problems(PAGES, /\b(I\d)\b/g, ([invariant]) =>
    listed.includes(invariant) ? undefined : `not in ${ARCHITECTURE}`,
  );
  expect(found).toEqual([]);
});

test('each relative link in Markdown leads to a file, and to a heading of it', () => {
  const found = problems(MARKDOWN, /\]\(([^)\s]+)\)/g, ([to = ''], { file }) => {
    if (/^[a-z]+:/.test(to)) return undefined;
    const [path = '', anchor] = to.split('#');
    return targetProblem(path === '' ? file : join(dirname(file), path), anchor);
  });
  expect(found).toEqual([]);
});

test('each page of docs that is named is there, and so is each heading that code names', () => {
  const found = problems(OURS, /(?<![\w./-])([\w./-]+\.md)(?:#([\w-]+))?/g, ([path = '', anchor], page) => {
    const isFromRoot = path.startsWith('docs/') || (anchor !== undefined && !isMarkdown(page));
    return isFromRoot ? targetProblem(path, anchor) : undefined;
  });
  expect(found).toEqual([]);
});

test('nothing cites a document that is elsewhere', () => {
  const ELSEWHERE = /\bdesign §|\bdesign\.md|\.\.\/shared\/|\bfacts §/gi;
  expect(problems(PAGES, ELSEWHERE, () => 'not in this repository')).toEqual([]);
});

function targetProblem(path: string, anchor: string | undefined): string | undefined {
  if (!existsSync(join(ROOT, path))) return `no ${path}`;
  return anchor === undefined || anchorsOf(path).includes(anchor) ? undefined : `no such heading in ${path}`;
}

/** Of a page's headings, as GitHub makes them. */
function anchorsOf(file: string): string[] {
  const headings = withoutFences(read(file)).matchAll(/^#+ (.*)$/gm);
  const slugs = [...headings].map(([, heading = '']) =>
    heading
      .replace(/\]\([^)]*\)/g, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-'),
  );
  return slugs.map((slug, index) => {
    const before = slugs.slice(0, index).filter((other) => other === slug).length;
    return before === 0 ? slug : `${slug}-${String(before)}`;
  });
}

/** The lines keep their numbers. */
function withoutFences(markdown: string): string {
  return markdown.replace(/^ *```[^]*?^ *```/gm, (block) => block.replace(/.*/g, ''));
}

function withoutCode(markdown: string): string {
  return withoutFences(markdown).replace(/`[^`\n]*`/g, '');
}

describe('files', () => {
  const NAMES = new Set(globSync('test/**/*.test.ts', { cwd: ROOT }).map((file) => basename(file)));

  test('each path from the top of the repository that is mentioned is there', () => {
    const found = problems(
      OURS,
      /(?<![\w./@-])((?:functions|webhook|hack|test|config|sources|docs)\/[\w./-]*\w\.(?:ts|mjs|js|md|yaml|json|sh))\b/g,
      ([path = '']) => (existsSync(join(ROOT, path)) ? undefined : 'not there'),
    );
    expect(found).toEqual([]);
  });

  test('each file of tests that is mentioned is there', () => {
    const found = problems(OURS, /(?<![\w.*])(\w[\w.-]*\.test\.ts)\b/g, ([name = '']) =>
      NAMES.has(name) || globSync(`{functions,webhook,hack}/**/${name}`, { cwd: ROOT }).length > 0
        ? undefined
        : 'not there',
    );
    expect(found).toEqual([]);
  });
});
