import { UNLIMITED, type Budget } from './budget.ts';
import { Unreachable } from './errors.ts';

/** What is taken of one API server: bytes, values, time and text. */
export interface Bounds {
  /** Bytes of one object, and of one line of a watch. */
  readonly objectBytes: number;
  /** Bytes of one page of a list. */
  readonly pageBytes: number;
  /** JSON values of one object, about. */
  readonly objectValues: number;
  /** JSON values of one page, about. */
  readonly pageValues: number;
  /** Levels of objects and arrays in each other. */
  readonly depth: number;
  /** Milliseconds for a request with its whole answer; for a watch, until it begins. */
  readonly objectMs: number;
  readonly pageMs: number;
  /** Milliseconds, and pages, after which a list asks for no further page. */
  readonly listMs: number;
  readonly listPages: number;
  /** Characters of each text in an answer that refuses. */
  readonly errorText: number;
  /** Whether a tenant names the server: nothing that is not of an API server is shown then. */
  readonly isNamedByTenant: boolean;
  readonly budget: Budget;
}

/** What the API server has stored as 1.5 MiB may be six times that as JSON ("<" is sent as "\\u003c"). */
export const OBJECT_BYTES = 16 * 1024 * 1024;
export const PAGE_BYTES = 8 * 1024 * 1024;

/** The bounds of the cluster that a process belongs to, whose API server is trusted. */
export const OWN_BOUNDS: Bounds = {
  objectBytes: OBJECT_BYTES,
  pageBytes: PAGE_BYTES,
  ...{ objectValues: Infinity, pageValues: Infinity, depth: Infinity },
  ...{ objectMs: Infinity, pageMs: Infinity, listMs: Infinity, listPages: Infinity },
  errorText: Infinity,
  isNamedByTenant: false,
  budget: UNLIMITED,
};

/** The answer has more values than are taken, or a value that is too deep. */
export class TooManyValues extends Unreachable {}

/** Bytes of a parsed value, at most: an object with a key of its own. */
const VALUE_BYTES = 100;

export interface Parsed<T> {
  readonly value: T;
  /** Bytes that were taken for it: the caller frees them. */
  readonly bytes: number;
}

/** Parses an answer that was counted. Throws Unreachable where it is no JSON: the error of the parser would show a part of the text. */
export function parseAnswer<T>(text: Buffer, { values }: ValueCounter, budget: Budget): Parsed<T> {
  const began = performance.now();
  const bytes = 2 * text.length + VALUE_BYTES * values;
  budget.take(bytes);
  try {
    return { value: JSON.parse(text.toString('utf8')) as T, bytes };
  } catch {
    budget.free(bytes);
    throw new Unreachable('the answer is not JSON, so not of an API server');
  } finally {
    budget.spend(performance.now() - began);
  }
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Counts the values of a JSON text while it arrives, about: each but the first comes after a comma or an opening bracket. So what has too
 * many is refused before it is whole, and before a value is made.
 */
export class ValueCounter {
  readonly #max: { readonly values: number; readonly depth: number };
  values = 0;
  #depth = 0;
  #isInString = false;
  /** Whether the last piece ended in a string, by a backslash that belongs to the next character. */
  #isEscaped = false;

  constructor(values: number, { depth }: Pick<Bounds, 'depth'>) {
    this.#max = { values, depth };
  }

  /** Throws TooManyValues. */
  add(piece: Buffer): void {
    if (this.#max.values === Infinity) return;
    for (let at = this.#isInString ? this.#afterString(piece, 0) : 0; at < piece.length; at += 1) {
      const byte = piece[at];
      if (byte === QUOTE) at = this.#afterString(piece, at + 1) - 1;
      else if (byte === COMMA) this.#add(0);
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#add(1);
      else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.#depth -= 1;
    }
  }

  #add(depth: number): void {
    this.values += 1;
    this.#depth += depth;
    if (this.values > this.#max.values || this.#depth > this.#max.depth)
      throw new TooManyValues('the answer has too many values');
  }

  /** Returns where the text goes on after the string that has begun. */
  #afterString(piece: Buffer, start: number): number {
    let from = start;
    for (let end = piece.indexOf(QUOTE, from); end >= 0; end = piece.indexOf(QUOTE, from)) {
      this.#isInString = this.#isEscapedAt(piece, from, end);
      this.#isEscaped = false;
      from = end + 1;
      if (!this.#isInString) return from;
    }
    this.#isEscaped = this.#isEscapedAt(piece, from, piece.length);
    this.#isInString = true;
    return piece.length;
  }

  /** Whether an odd number of backslashes comes before the place. */
  #isEscapedAt(piece: Buffer, from: number, place: number): boolean {
    let before = place;
    while (before > from && piece[before - 1] === BACKSLASH) before -= 1;
    const isWhole = before === from && this.#isEscaped;
    return (place - before + (isWhole ? 1 : 0)) % 2 === 1;
  }
}
