import { type ForeignText } from './foreign-text.ts';
import * as z from '../runtime/zod.ts';

/** Maximum number of keys of a record and entries of a list: more than any of our objects has. */
export const MAX_ENTRIES = 1_000;

/**
 * A record of at most MAX_ENTRIES valid texts, which reports one issue at most. z.record reports one for each bad value: a
 * forged event with 155,000 of them took 313 MiB. A key `__proto__` is validated like any other.
 */
export const textRecord = (
  isValid: (text: string) => boolean = () => true,
): z.ZodMiniCustom<Readonly<Record<string, string>>> =>
  z.custom<Readonly<Record<string, string>>>(
    (value: unknown) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
      const texts: unknown[] = Object.values(value);
      return texts.length <= MAX_ENTRIES && texts.every((text) => typeof text === 'string' && isValid(text));
    },
    `must be at most ${String(MAX_ENTRIES)} texts, each of them valid`,
  );

/**
 * A list of at most MAX_ENTRIES; a longer one is one issue, and its entries are not validated. The array says it once more for the JSON
 * Schema of it (docs/events).
 */
export const shortList = <T extends z.ZodMiniType>(
  entry: T,
): z.ZodMiniPipe<z.ZodMiniCustom<z.input<T>[], z.input<T>[]>, z.ZodMiniArray<T>> =>
  z.pipe(
    z.custom<z.input<T>[]>(
      (value) => Array.isArray(value) && value.length <= MAX_ENTRIES,
      `must be a list of at most ${String(MAX_ENTRIES)} entries`,
    ),
    z.array(entry).check(z.maxLength(MAX_ENTRIES)),
  );

/** Parses JSON and never throws; returns undefined for any other text. */
export function parseJson(text: ForeignText): unknown {
  try {
    return JSON.parse(text as string) as unknown;
  } catch {
    return undefined;
  }
}
