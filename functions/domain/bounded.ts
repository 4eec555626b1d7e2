import * as z from 'zod';

/** Keys of a record and entries of a list that are looked at: more than any object of ours has. */
export const MAX_ENTRIES = 1_000;

/**
 * A record of texts that all pass, of at most MAX_ENTRIES keys. One issue at most: z.record makes one for each bad value, and a
 * forged event with 155,000 of them took 313 MiB. A key `__proto__` is looked at like any other.
 */
export const textRecord = (
  isValid: (text: string) => boolean = () => true,
): z.ZodCustom<Readonly<Record<string, string>>> =>
  z.custom<Readonly<Record<string, string>>>(
    (value) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
      const texts: unknown[] = Object.values(value);
      return texts.length <= MAX_ENTRIES && texts.every((text) => typeof text === 'string' && isValid(text));
    },
    `must be at most ${String(MAX_ENTRIES)} texts, each of them valid`,
  );

/** A list of at most MAX_ENTRIES; a longer one is one issue, and none of its entries is looked at. */
export const shortList = <T extends z.ZodType>(
  entry: T,
): z.ZodPipe<z.ZodCustom<z.input<T>[], z.input<T>[]>, z.ZodArray<T>> =>
  z
    .custom<z.input<T>[]>(
      (value) => Array.isArray(value) && value.length <= MAX_ENTRIES,
      `must be a list of at most ${String(MAX_ENTRIES)} entries`,
    )
    .pipe(z.array(entry));
