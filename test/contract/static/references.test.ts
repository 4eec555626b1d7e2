import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { INVARIANTS } from '../../simulation/checker/invariant.ts';
import { RULES } from '../../simulation/live/rule.ts';

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

/** All code, manifests and docs, except the recordings, which are data, and this file, which has patterns. */
const PAGES = tracked().map((file): Page => ({ file, text: read(file) }));
const MARKDOWN = PAGES.filter(isMarkdown).map((page) => ({ ...page, text: withoutCode(page.text) }));
/** Without the facts, which also cite each other and other projects' documents in other forms. */
const OURS = PAGES.filter(({ file }) => !file.startsWith(FACTS));

/** Selects files by .gitignore, so that a copy without .git works too. */
function tracked(): string[] {
  const ignored = read('.gitignore').matchAll(/^\/?([^\s/]+)\/?$/gm);
  const skipped = new Set(['.git', 'recorded', ...[...ignored].map(([, folder]) => folder)]);
  const files = globSync('**/*.{ts,js,mjs,md,yaml}', {
    cwd: ROOT,
    exclude: (path) => skipped.has(path.split('/').at(-1)),
  });
  return files.filter((file) => file !== THIS);
}

/** `file:line: match: problem` for each match with a problem. */
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

  test('cites an existing page', () => {
    const found = problems(PAGES, /\bfacts\/([\w-]+\.md)/g, ([page = '']) =>
      sections.has(page) ? undefined : `not in ${FACTS}`,
    );
    expect(found).toEqual([]);
  });

  test('cites a heading of the page', () => {
    const found = problems(PAGES, new RegExp(CITED, 'g'), ([page = '', cited = '']) => {
      const known = sections.get(page) ?? [];
      const unknown = (cited.match(new RegExp(SECTION, 'g')) ?? []).filter((one) => !known.includes(one));
      return unknown.length === 0 ? undefined : `no ${unknown.join(', ')} in ${FACTS}/${page}`;
    });
    expect(found).toEqual([]);
  });

  test('always has its page with the §', () => {
    const found = problems(OURS, new RegExp(`(facts/${CITED}|${OF_OTHERS})|§.*`, 'g'), ([complete]) =>
      complete === undefined ? 'of which page?' : undefined,
    );
    expect(found).toEqual([]);
  });
});

test('each cited ADR exists', () => {
  const numbers = new Set(readdirSync(join(ROOT, 'docs/adr')).map((file) => Number(file.slice(0, 4))));
  const found = problems(PAGES, /\bADR (\d+)|\badr\/(\d+)/g, ([inWords, inPath]) =>
    numbers.has(Number(inWords ?? inPath)) ? undefined : 'not in docs/adr',
  );
  expect(found).toEqual([]);
});

describe('docs/architecture.md', () => {
  const listedBy = (heading: RegExp): (string | undefined)[] =>
    [...read(ARCHITECTURE).matchAll(heading)].map(([, invariant]) => invariant);

  test('lists each cited invariant of a cycle, and those of the checker', () => {
    const listed = listedBy(/^### (I\d) /gm);
    expect(listed).toEqual(INVARIANTS);
    const found = problems(PAGES, /\b(I\d)\b/g, ([invariant]) =>
      listed.includes(invariant) ? undefined : `not in ${ARCHITECTURE}`,
    );
    expect(found).toEqual([]);
  });

  test('lists each cited invariant of a move, and those of the checker', () => {
    const listed = listedBy(/^### (L\d) /gm);
    expect(listed).toEqual(RULES);
    // Facts may name a layer of the network so.
    const found = problems(OURS, /\b(L\d)\b/g, ([invariant]) =>
      listed.includes(invariant) ? undefined : `not in ${ARCHITECTURE}`,
    );
    expect(found).toEqual([]);
  });

  test('names functions of the checker below each invariant of a move', () => {
    const checker = ['checker', 'after-move']
      .map((file) => read(`test/simulation/live/${file}.ts`))
      .join('\n');
    const named = [...read(ARCHITECTURE).matchAll(/^### L\d [^]*?(?=^#)/gm)].map(([section]) =>
      [...section.matchAll(/^- (`\w+`(?:, `\w+`)*)/gm)].flatMap(
        ([, names = '']) => names.match(/\w+/g) ?? [],
      ),
    );
    expect(named.filter((names) => names.length === 0)).toEqual([]);
    expect(
      named
        .flat()
        .filter((name) => !new RegExp(`^(?:export )?(?:const|function) ${name}\\b`, 'm').test(checker)),
    ).toEqual([]);
  });
});

test('each relative link in Markdown leads to a file, and to a heading of it', () => {
  const found = problems(MARKDOWN, /\]\(([^)\s]+)\)/g, ([to = ''], { file }) => {
    if (/^[a-z]+:/.test(to)) return undefined;
    const [path = '', anchor] = to.split('#');
    return targetProblem(path === '' ? file : join(dirname(file), path), anchor);
  });
  expect(found).toEqual([]);
});

test('each named page of docs exists, and so does each heading that code names', () => {
  const found = problems(OURS, /(?<![\w./-])([\w./-]+\.md)(?:#([\w-]+))?/g, ([path = '', anchor], page) => {
    const isFromRoot = path.startsWith('docs/') || (anchor !== undefined && !isMarkdown(page));
    return isFromRoot ? targetProblem(path, anchor) : undefined;
  });
  expect(found).toEqual([]);
});

test('no file cites a document outside the repository', () => {
  const ELSEWHERE = /\bdesign §|(?<!-)\bdesign\.md|\.\.\/shared\/|\bfacts §/gi;
  expect(problems(PAGES, ELSEWHERE, () => 'not in this repository')).toEqual([]);
});

function targetProblem(path: string, anchor: string | undefined): string | undefined {
  if (!existsSync(join(ROOT, path))) return `no ${path}`;
  return anchor === undefined || anchorsOf(path).includes(anchor) ? undefined : `no such heading in ${path}`;
}

/** The anchors of a page's headings, as GitHub builds them. */
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

/** Blanks out code blocks; line numbers stay the same. */
function withoutFences(markdown: string): string {
  return markdown.replace(/^ *```[^]*?^ *```/gm, (block) => block.replace(/.*/g, ''));
}

function withoutCode(markdown: string): string {
  return withoutFences(markdown).replace(/`[^`\n]*`/g, '');
}

describe('files', () => {
  const NAMES = new Set(globSync('test/**/*.test.ts', { cwd: ROOT }).map((file) => basename(file)));

  test('each mentioned path from the top of the repository exists', () => {
    const found = problems(
      OURS,
      /(?<![\w./@-])((?:functions|webhook|kubectl|examples|hack|test|config|sources|docs)\/[\w./-]*\w\.(?:ts|mjs|js|md|yaml|json|sh))\b/g,
      ([path = '']) => (existsSync(join(ROOT, path)) ? undefined : 'not there'),
    );
    expect(found).toEqual([]);
  });

  test('each mentioned test file exists', () => {
    const found = problems(OURS, /(?<![\w.*])(\w[\w.-]*\.test\.ts)\b/g, ([name = '']) =>
      NAMES.has(name) ||
      globSync(`{functions,webhook,kubectl,examples,hack}/**/${name}`, { cwd: ROOT }).length > 0
        ? undefined
        : 'not there',
    );
    expect(found).toEqual([]);
  });
});
