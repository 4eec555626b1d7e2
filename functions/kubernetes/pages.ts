import { Turns } from '../runtime/turns.ts';
import type { ListOptions, ReadList } from './cluster.ts';
import { PAGE_BYTES, parseAnswer, TooManyValues, ValueCounter, type Bounds } from './bounds.ts';
import { isGone, TooMuch, Unreachable } from './errors.ts';
import { readWithin, type Response } from './transport.ts';
import type { Trimmed } from './trim.ts';

const MIB = 1024 * 1024;

/** Objects in a page. One request lists this many migrations (1.8 KB each), or up to 800 launchers (10 KB). */
const PAGE = 4_000;
/** Bytes of all lists that are being read; beyond that, pages are read one after another. */
const SHARED_BYTES = 2 * PAGE_BYTES;
/** JSON objects in one page: 800 launchers have 226,000. Each takes at least 56 bytes of memory, however short its text is. */
const PAGE_PARTS = 300_000;
/** A shorter text cannot contain too many of them. */
const FEW_BYTES = 1 * MIB;
/** Attempts to read a list whose later pages the API server no longer has. */
const READS = 3;
/** The next request asks for this many times fewer objects after a page that is too large. */
const FEWER = 8;

/** Trims an item; `bytes`: the approximate size of its text. */
export type TrimItem<T> = (item: T, bytes: number) => Trimmed<T> | undefined;

export interface Listing<T> {
  /** Sends the request for one page; the query of it. */
  readonly ask: (page: Readonly<Record<string, string>>) => Promise<Response>;
  readonly keep: TrimItem<T>;
  /** Name of the list, for people. */
  readonly what: string;
}

interface Page<T> {
  readonly items: T[];
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
}

/** A page as it was read. */
interface ReadPage<T> {
  readonly page: Page<T>;
  readonly bytes: number;
  /** Bytes of the budget that were taken for it. */
  readonly taken: number;
  readonly date: Date;
}

interface PageOf {
  readonly ask: () => Promise<Response>;
  readonly limit: number;
  /** The limit is the default, because the size of the objects is unknown. */
  readonly isWhole: boolean;
  readonly what: string;
}

const fewer = (limit: number): number => Math.ceil(limit / FEWER);

/** The next limit after `limit` objects took `bytes` bytes: half a page, if the next objects are like them. */
const more = (limit: number, bytes: number, max: number): number =>
  Math.min(Math.max(limit, Math.floor((limit * PAGE_BYTES) / (2 * bytes))), limit * FEWER, max);

/**
 * Reads the lists of one process in bounded memory, whatever is stored. Each page has a byte limit, and is trimmed before the
 * next one is requested. A small list is one request.
 */
export class Lists {
  #shared = 0;
  readonly #turns = new Turns();
  /** The first limit for kinds whose last list got no answer in time, perhaps because of its size. */
  readonly #first = new Map<string, number>();
  readonly #maxKeptBytes: number;
  readonly #bounds: Bounds;

  /** `maxKeptBytes`: bytes of one list that are kept, about. */
  constructor(maxKeptBytes: number, bounds: Bounds) {
    this.#maxKeptBytes = maxKeptBytes;
    this.#bounds = bounds;
  }

  /** All pages are of one resourceVersion. Rejects with TooMuch where even the trimmed objects take too much. */
  async read<T>(listing: Listing<T>, options: ListOptions): Promise<ReadList<T>> {
    for (let read = 1; ; read += 1) {
      try {
        return await this.#pages(listing, options);
      } catch (error) {
        if (!isGone(error) || read === READS) throw error;
      }
    }
  }

  async #pages<T>({ keep, ...listing }: Listing<T>, options: ListOptions): Promise<ReadList<T>> {
    const { budget } = this.#bounds;
    const kept = new KeptItems(keep, {
      what: listing.what,
      maxBytes: this.#maxKeptBytes,
      bounds: this.#bounds,
    });
    try {
      return await this.#keepPages(listing, options, kept);
    } finally {
      budget.freeWith(kept.items, kept.size);
    }
  }

  async #keepPages<T>(
    { ask, what }: Omit<Listing<T>, 'keep'>,
    { pageSize = PAGE, ...first }: ListOptions,
    kept: KeptItems<T>,
  ): Promise<ReadList<T>> {
    let limit = Math.min(this.#first.get(what) ?? PAGE, pageSize);
    let query: Readonly<Record<string, string>> = first;
    for (;;) {
      const read = await this.#page<T>({
        ask: () => ask({ ...query, limit: String(limit) }),
        isWhole: limit === pageSize,
        limit,
        what,
      });
      if (read === undefined) {
        if (limit === 1) throw new Unreachable(`one object of ${what} is larger than any should be`);
        limit = fewer(limit);
        // With resourceVersion 0 the API server may return all objects at once, whatever the limit.
        if (query['continue'] === undefined) query = {};
        continue;
      }
      const { page, bytes, date } = read;
      kept.add(read);
      const { resourceVersion, continue: next = '' } = page.metadata;
      if (next === '') return { items: kept.items, resourceVersion, date };
      kept.expectEnd();
      query = { continue: next };
      limit = more(limit, bytes, pageSize);
    }
  }

  /** Returns undefined if the page exceeds a limit. */
  async #page<T>({ ask, limit, isWhole, what }: PageOf): Promise<ReadPage<T> | undefined> {
    try {
      const read = await (isWhole ? this.#beside<T>(ask) : this.#alone<T>(ask, limit));
      this.#first.delete(what);
      return read;
    } catch (error) {
      // Don't retry here; the next call starts with a smaller page.
      if (error instanceof Unreachable) this.#first.set(what, fewer(limit));
      throw error;
    }
  }

  /** Reads in parallel with others, while all of them together stay within the limit. */
  async #beside<T>(ask: () => Promise<Response>): Promise<ReadPage<T> | undefined> {
    let held = 0;
    const mayAllocate = (bytes: number): boolean => {
      if (held + bytes > this.#bounds.pageBytes || this.#shared + bytes > SHARED_BYTES) return false;
      held += bytes;
      this.#shared += bytes;
      return true;
    };
    try {
      return await readPage({ ask, mayAllocate, isOne: false }, this.#bounds);
    } finally {
      this.#shared -= held;
    }
  }

  /** Reads in a queue: lists of large objects wait for each other, and do not delay other lists. */
  async #alone<T>(ask: () => Promise<Response>, limit: number): Promise<ReadPage<T> | undefined> {
    const isOne = limit === 1;
    let left = isOne ? this.#bounds.objectBytes : this.#bounds.pageBytes;
    const mayAllocate = (bytes: number): boolean => (left -= bytes) >= 0;
    return this.#turns.run(() => readPage<T>({ ask, mayAllocate, isOne }, this.#bounds));
  }
}

interface PageRequest {
  readonly ask: () => Promise<Response>;
  readonly mayAllocate: (bytes: number) => boolean;
  /** Whether it is a page of one object, than which none is smaller. */
  readonly isOne: boolean;
}

/** Resolves with undefined if the page exceeds a limit, so that a smaller one may not. */
async function readPage<T>(
  { ask, mayAllocate, isOne }: PageRequest,
  bounds: Bounds,
): Promise<ReadPage<T> | undefined> {
  const { budget, pageValues } = bounds;
  const counter = new ValueCounter(pageValues, bounds);
  let size = 0;
  const mayTake = (bytes: number): boolean => {
    if (!mayAllocate(bytes)) return false;
    budget.take(bytes);
    size += bytes;
    return true;
  };
  try {
    const { message, date } = await ask();
    const body = await readWithin(message, mayTake, counter);
    if (body === undefined || (!isOne && body.length > FEW_BYTES && hasMoreParts(body))) return undefined;
    const { value, bytes: taken } = parseAnswer<Page<T>>(body, counter, budget);
    return { page: value, bytes: body.length, taken, date };
  } catch (error) {
    if (error instanceof TooManyValues && !isOne) return undefined;
    throw error;
  } finally {
    budget.free(size);
  }
}

function hasMoreParts(body: Buffer, maxParts = PAGE_PARTS): boolean {
  let parts = 0;
  for (let at = body.indexOf('{'); at >= 0 && parts <= maxParts; at = body.indexOf('{', at + 1)) parts += 1;
  return parts > maxParts;
}

interface KeptFrom {
  readonly what: string;
  readonly maxBytes: number;
  readonly bounds: Bounds;
}

/** The trimmed items of the pages so far. */
class KeptItems<T> {
  readonly items: T[] = [];
  readonly #keep: TrimItem<T>;
  readonly #of: KeptFrom;
  readonly #began = performance.now();
  #pages = 0;
  /** Bytes of the budget that were taken for the items. */
  size = 0;

  constructor(keep: TrimItem<T>, of: KeptFrom) {
    this.#keep = keep;
    this.#of = of;
  }

  /** Adds what is kept of the page, and frees what was taken for it. */
  add({ page: { items }, bytes, taken }: ReadPage<T>): void {
    try {
      this.#addItems(items, bytes);
    } finally {
      this.#of.bounds.budget.free(taken);
    }
  }

  /** Throws Unreachable if the list should have ended by now. */
  expectEnd(): void {
    const { listMs, listPages } = this.#of.bounds;
    this.#pages += 1;
    if (this.#pages >= listPages || performance.now() - this.#began > listMs)
      throw new Unreachable('the list takes too long');
  }

  #addItems(items: readonly T[], bytes: number): void {
    for (const item of items) {
      const kept = this.#keep(item, bytes / items.length);
      if (kept === undefined) continue;
      this.#of.bounds.budget.take(kept.size);
      this.items.push(kept.object);
      this.size += kept.size;
      if (this.size > this.#of.maxBytes) {
        throw new TooMuch(`the first ${this.items.length} ${this.#of.what} take more memory than a list may`);
      }
    }
  }
}
