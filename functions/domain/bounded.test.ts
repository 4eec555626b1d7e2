import { describe, expect, test } from '@jest/globals';
import { MAX_ENTRIES, shortList, textRecord } from './bounded.ts';
import * as z from '../runtime/zod.ts';

const entries = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => of(i));
const record = (count: number, text: string): Record<string, string> =>
  Object.fromEntries(entries(count, (index) => [`key-${String(index)}`, text]));
const issuesOf = (schema: z.ZodMiniType, value: unknown): number =>
  schema.safeParse(value).error?.issues.length ?? 0;

describe('a record of texts', () => {
  const numbers = textRecord((text) => /^\d+$/.test(text));

  test.each<[string, unknown, boolean]>([
    ['empty', {}, true],
    ['valid texts', { a: '1', b: '2' }, true],
    ['one invalid text', { a: '1', b: 'x' }, false],
    ['a value that is no text', { a: 1 }, false],
    ['an invalid text at __proto__', JSON.parse('{"__proto__":"x"}'), false],
    ['a list', ['1'], false],
    ['nothing', null, false],
    ['as many keys as may be', record(MAX_ENTRIES, '1'), true],
    ['one key more', record(MAX_ENTRIES + 1, '1'), false],
  ])('%s', (_, value, want) => {
    expect(numbers.safeParse(value).success).toBe(want);
  });

  test('any number of bad values is one issue', () => {
    expect(issuesOf(numbers, record(MAX_ENTRIES, 'x'))).toBe(1);
    expect(issuesOf(numbers, record(155_000, 'x'))).toBe(1);
  });
});

describe('a short list', () => {
  const names = shortList(z.string());

  test.each<[string, unknown, boolean]>([
    ['empty', [], true],
    ['valid entries', ['a', 'b'], true],
    ['an invalid entry', ['a', 1], false],
    ['no list', { 0: 'a' }, false],
    ['as many as may be', entries(MAX_ENTRIES, String), true],
    ['one more', entries(MAX_ENTRIES + 1, String), false],
  ])('%s', (_, value, want) => {
    expect(names.safeParse(value).success).toBe(want);
  });

  test('a long list of bad entries is one issue', () => {
    expect(
      issuesOf(
        names,
        entries(155_000, (index) => index),
      ),
    ).toBe(1);
  });
});
