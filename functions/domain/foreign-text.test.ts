import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aForeignText, ATTACKS, HIDING } from '../../test/support/foreign-attacks.ts';
import { cutText, shown, visible } from './foreign-text.ts';

describe('shown', () => {
  test.each([
    ['a plain text', 'exceeded quota: q, used: pods=1', 'exceeded quota: q, used: pods=1'],
    ['letters of any language', 'Größe 大 שלום', 'Größe 大 שלום'],
    ['an accent', 'e\u0301', 'e\u0301'],
    ['white space', '  a \t\n b\u2003c  ', 'a b c'],
    ['hidden text', 'a\u001b[8mb', String.raw`a\u{1b}[8mb`],
    ['an override', 'a\u202eb', String.raw`a\u{202e}b`],
    ['a tag', 'a\u{e0041}b', String.raw`a\u{e0041}b`],
    ['half a pair', 'a\ud83d', String.raw`a\u{d83d}`],
    ['marks upon marks', `Z${'\u0301'.repeat(1_000)}a`, `Z${'\u0301'.repeat(4)}a`],
    ['marks alone', '\u0301a', 'a'],
    ['marks upon a space', '\t\u0301\u0301 \u20e3 a', 'a'],
    ['no text', undefined, ''],
  ])('of %s', (_, text, want) => {
    expect(shown(text)).toBe(want);
  });

  test('of a number in the place of a text is nothing', () => {
    expect(shown(JSON.parse('5') as string)).toBe('');
  });

  test.each(ATTACKS)('of %s has one line, and only code points that show', (_, attack) => {
    const text = shown(attack);
    expect(text.search(HIDING)).toBe(-1);
    expect(text.length).toBeLessThanOrEqual(2_000);
    expect(text).not.toMatch(/ {2}|\p{M}{5}|^ | $/u);
  });

  test('of any text, cut anywhere, is safe, and safe within another text', () => {
    fc.assert(
      fc.property(aForeignText, fc.integer({ min: 1, max: 60 }), (foreign, max) => {
        const text = shown(foreign, max);
        expect(text.length).toBeLessThanOrEqual(max);
        expect(`${text}.`.search(HIDING)).toBe(-1);
        expect(text).not.toMatch(/ {2}|\p{M}{5}|^\p{M}/u);
        // What is shown is shown again as it is.
        expect(shown(text, max)).toBe(text);
      }),
      { numRuns: 3_000 },
    );
  });

  test('takes no longer for a long text', () => {
    const started = performance.now();
    for (const [, attack] of ATTACKS) for (let count = 0; count < 10; count += 1) shown(attack.repeat(10));
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

test('cutText never cuts a pair', () => {
  expect([4, 3, 2, 1, 0].map((max) => cutText('a😀b', max))).toEqual(['a😀b', 'a…', 'a…', '…', '…']);
});

test('visible keeps spaces, and shows the rest in one line', () => {
  expect(visible('a   b\n\u202ec')).toBe(String.raw`a   b\u{a}\u{202e}c`);
});
