import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { mutated } from '../seeds/mutate.ts';
import { MUTATIONS as OF_LIVE } from '../live/seeds/mutations.ts';
import { MUTATIONS, type Mutation } from '../seeds/mutations.ts';

test.each([
  ['the protocol', MUTATIONS],
  ['live', OF_LIVE],
])('each mutation of %s has its own name, and finds its text exactly once', (_of, mutations) => {
  expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length);
  for (const mutation of mutations) expect(mutated(mutation).size).toBeGreaterThan(0);
});

/** The names that a text calls. */
const calledIn = (text: string): string[] =>
  [...text.matchAll(/(?<![.\w#])([a-z]\w*)\(/gi)].flatMap(([, name]) => name ?? []);
const KEYWORDS: readonly string[] = [
  'if',
  'for',
  'while',
  'switch',
  'return',
  'await',
  'async',
  'function',
  'catch',
];

test.each([
  ['the protocol', MUTATIONS],
  ['live', OF_LIVE],
])('each mutation of %s calls only what its file has', (_of, mutations) => {
  const unknown = mutations.flatMap(({ name, edits }) =>
    edits.flatMap(({ file, replace }) => {
      const known =
        readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8') +
        edits.map((one) => one.replace).join();
      return calledIn(replace)
        .filter((called) => !KEYWORDS.includes(called) && !(called in globalThis))
        .filter(
          (called) =>
            !new RegExp(`\\b(?:import [^;]*\\b|const |function |(?:[{,(] ?))${called}\\b`).test(known),
        )
        .map((called) => `${name}: ${called}`);
    }),
  );
  expect(unknown).toEqual([]);
});

test('a mutation whose text is missing or occurs twice is an error', () => {
  const edits = (find: string): Mutation => ({
    name: 'none',
    breaks: [],
    edits: [{ file: 'functions/steps.ts', find, replace: '' }],
  });
  expect(() => mutated(edits('nowhere'))).toThrow('0 times in functions/steps.ts');
  expect(() => mutated(edits('import'))).toThrow('times in functions/steps.ts, not once');
});
