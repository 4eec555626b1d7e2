declare const foreign: unique symbol;

/**
 * A text that another party writes freely: a message of an Event, a condition or an API server. At run time it is a string. The type is
 * none, so that a text cannot be shown by mistake: `shown` makes a string of it.
 */
export type ForeignText = string | { readonly [foreign]: never };

/** Characters of a foreign text within a message. */
const MAX_LENGTH = 2_000;

/**
 * Code points that do not show, or turn the text around them: controls, format characters such as U+202E, unpaired surrogates, private and
 * unassigned ones (\p{C}), line and paragraph separators, and the ones that fonts leave out (\p{DI}).
 */
export const UNSHOWN = /[\p{C}\p{Zl}\p{Zp}\p{DI}]/gu;

/** White space, and what looks like it: next line (U+0085), and Braille without a dot (U+2800). */
const BLANK = /[\s\u0085\u2800]+/gu;
/** Combining marks without a letter, and the fifth and later ones of a letter: they would cover other lines. */
const STACKED = /(?<![^\p{M}\s\u0085\u2800]\p{M}{0,3})\p{M}+/gu;
/** Most texts: nothing to change. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/** Returns the text with each code point that does not show as `\u{…}`. It has one line. */
export const visible = (text: string): string =>
  text.replaceAll(UNSHOWN, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);

/** Cuts a text to `max` UTF-16 code units, never within a pair. A text that is cut ends with `…`. */
export const cutText = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, Math.max(0, max - 1)).replace(/[\uD800-\uDBFF]$/, '')}…` : text;

/** Returns the text in one line of at most `max` characters, without code points that hide or turn text; '' if there is none. */
export function shown(text: ForeignText | undefined, max = MAX_LENGTH): string {
  // A JSON value of another party may be anything.
  const raw = typeof text === 'string' ? text : '';
  // Each pattern looks at a part of bounded length.
  const part = raw.length > 2 * max ? `${raw.slice(0, 2 * max)} …` : raw;
  if (PLAIN.test(part)) return cutText(part, max);
  return cutText(visible(part.replaceAll(STACKED, '').replaceAll(BLANK, ' ').trim()), max);
}
