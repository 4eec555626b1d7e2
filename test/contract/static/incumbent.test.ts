import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { hasTest, readRows, rowsIn, tableProblems } from '../../support/incumbent.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const source = (file: string): string => readFileSync(`${root}${file}`, 'utf8');

describe('docs/incumbent.md', () => {
  const rows = readRows(`${root}docs/incumbent.md`);

  test('has a row for each way to fail', () => {
    expect(tableProblems(rows)).toEqual([]);
    expect(tableProblems(rows.slice(1))).toEqual([expect.stringMatching(/^the rows are F2/)]);
  });

  test('a row that mentions a file of tests and none of them is told', () => {
    const row = rowsIn('| F1 | a | b | `test/x.test.ts › one` <br> `functions/y.test.ts` |');
    expect(tableProblems([...row, ...rows.slice(1)])).toEqual([
      'F1: no test of functions/y.test.ts is named, as `file › name`',
    ]);
  });

  test('each row names a test, or says that it is documented or open', () => {
    const silent = rows.filter((row) => row.tests.length === 0 && !row.open && !row.documented);
    expect(silent.map(({ failure }) => failure)).toEqual([]);
  });

  test('every test that it names is there', () => {
    const missing = rows.flatMap(({ failure, tests }) =>
      tests
        .filter(({ file, name }) => !hasTest(source(file), name))
        .map(({ file, name }) => `${failure}: ${file} › ${name}`),
    );
    expect(missing).toEqual([]);
  });
});

test.each<[string, string, boolean]>([
  ['a test', 'x is raised', true],
  ['a test in its block', 'block › x is raised', true],
  ['a block alone', 'block', true],
  ['a row of a table', 'block › the quota is gone: nothing is raised', true],
  ['a template', 'with policies: it holds', true],
  ['another test', 'block › x is lowered', false],
  ['a name that goes on', 'x is raised again', false],
  ['another block', 'blocks › x is raised', false],
])('%s is found by its titles: %s', (_what, name, want) => {
  const text = `describe('block', () => {
    test('x is raised', () => {});
    test.each(ROWS)('%s: nothing is raised', () => {});
    test(\`with \${mode}: it holds\`, () => {});`;
  expect(hasTest(text, name)).toBe(want);
});
