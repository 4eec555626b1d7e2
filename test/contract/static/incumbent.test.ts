import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** The number of known failures of the incumbent (facts/peers.md §1). */
const FAILURES = Array.from({ length: 45 }, (_, index) => `F${String(index + 1)}`);

/** "- **F23** What it does. Here: why it cannot happen." */
const ENTRIES = [...read('docs/incumbent.md').matchAll(/^- \*\*(F\d+)\*\* ([^]*?)(?=\n- |$(?![^]))/gm)].map(
  ([, tag = '', text = '']) => ({ tag, text: text.replaceAll(/\s+/g, ' ').trim() }),
);

/** "(F1, F9)" at the end of a title, from all titles. */
const TAGGED = new Set(
  globSync('{functions,webhook,test}/**/*.test.ts', { cwd: ROOT })
    .flatMap((file) => [...read(file).matchAll(/ \((F\d+(?:, F\d+)*)\)['"`]/g)])
    .flatMap(([, tags = '']) => tags.split(', ')),
);

test('docs/incumbent.md has one entry for each failure, in order', () => {
  expect(ENTRIES.map(({ tag }) => tag)).toEqual(FAILURES);
});

test('each entry says what happens here', () => {
  expect(ENTRIES.filter(({ text }) => !/^.+\. Here: .+\.$/.test(text))).toEqual([]);
});

test('the title of some test has the tag of each entry that is neither documented nor open', () => {
  const untested = ENTRIES.filter(({ tag }) => !TAGGED.has(tag));
  expect(untested.filter(({ text }) => !/ Here: (?:documented|open)\b/.test(text))).toEqual([]);
});

test('each tag in a title has its entry', () => {
  const known = ENTRIES.map(({ tag }) => tag);
  expect([...TAGGED].filter((tag) => !known.includes(tag))).toEqual([]);
});
