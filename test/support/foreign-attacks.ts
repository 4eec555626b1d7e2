import fc from 'fast-check';

/** Begins each line that an attack forges. */
export const FORGED = 'forged: VMMRQ gives';

/** Characters that hide, turn or move text, or do not show. */
export const HIDING = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/** A value with another text in the place of each of its texts, but of those under the keys `kept`. */
export function withTexts<T>(value: T, text: string, kept: readonly string[] = []): T {
  const changed = (each: unknown): unknown => {
    if (typeof each === 'string') return text;
    if (Array.isArray(each)) return (each as unknown[]).map(changed);
    if (typeof each !== 'object' || each === null) return each;
    const entries = Object.entries(each as Record<string, unknown>);
    return Object.fromEntries(entries.map(([key, of]) => [key, kept.includes(key) ? of : changed(of)]));
  };
  return changed(value) as T;
}

/** Every key and text in a value. */
export const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null
    ? Object.entries(value as Record<string, unknown>).flatMap(([key, each]) => [key, ...textsOf(each)])
    : [];
};

const SHORT: readonly (readonly [string, string])[] = [
  ['hidden text', '\u001b[8mhidden\u001b[0m'],
  ['a colour', '\u001b[31mred'],
  ['a line', `one\n${FORGED}`],
  ['a line after a carriage return', `one\r${FORGED}`],
  ['a line after both', `one\r\n${FORGED}`],
  ['a next line (C1)', `one\u0085${FORGED}`],
  ['a line separator', `one\u2028${FORGED}\u2029${FORGED}`],
  ['a form feed', `one\f\v${FORGED}`],
  ['a cleared screen', '\u001b[2J\u001b[H'],
  ['an 8-bit escape', '\u009b2J'],
  ['a title of the terminal', '\u001b]0;title\u0007'],
  ['a link of the terminal', '\u001b]8;;https://forged.example\u001b\\link\u001b]8;;\u001b\\'],
  ['a backspace', 'two\b\b\bone\u007f'],
  ['an override of the direction', '\u202egnihton'],
  ['an isolate', '\u2066one\u2067two\u2068three'],
  ['marks of the direction', '\u200eone\u200ftwo\u061cthree'],
  ['spaces of no width', 'o\u200bn\u200ce\u200d\u2060\ufeff'],
  ['tags', '\u{e0001}\u{e0041}\u{e0042}\u{e007f}'],
  ['fillers', 'one\u3164\u115f\u1160\uffa0\u2800\u00ad\u034f'],
  ['a variation', 'one\ufe0f\u{e0101}'],
  ['half a pair', 'one\ud83d'],
  ['the other half', '\ude00one'],
  ['private characters', '\ue000\u{f0000}\u{10fffd}'],
  ['no character', '\ufdd0\uffff\u0378'],
  ['marks upon marks', `Z${'\u0301'.repeat(1_000)}`],
  ['marks alone', '\u0301\u0301\u20e3'],
  ['a mention', '<!channel> <@U1> <!here> @channel @here'],
  [
    'a link of a chat',
    '<https://forged.example|the docs> [docs](https://forged.example) https://forged.example',
  ],
  ['marks of a chat', '*bold* _under_ ~gone~ `code` ```\n> quoted'],
  ['entities', '&lt;!channel&gt; &amp;'],
  ['a placeholder', '%s %d ${reason} {{.message}}'],
  ['NUL', '\u0000'],
];

/** Texts that other parties may write, by name. */
export const ATTACKS: readonly (readonly [string, string])[] = [
  ...SHORT,
  ['100 KB', 'x'.repeat(100_000)],
  ['100 KB of white space', `${' \n\t'.repeat(33_000)}${FORGED}`],
  ['100 KB of pairs', '😀'.repeat(25_000)],
  ['all at once', SHORT.map(([, text]) => text).join('')],
];

/** Any text, with attacks among it. */
export const aForeignText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...SHORT.map(([, text]) => text)),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
      fc.integer({ min: 0xe0000, max: 0xe0fff }).map((point) => String.fromCodePoint(point)),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(''));
