import { Turns } from '../runtime/turns.ts';
import { Busy } from './errors.ts';

/** The memory and time that answers may take of this process. */
export interface Budget {
  /** Throws Busy if so many more bytes are too many now. */
  take(bytes: number): void;
  free(bytes: number): void;
  /** Frees the bytes once nothing refers to the object. */
  freeWith(object: object, bytes: number): void;
  /** Adds milliseconds in which an answer kept the process from everything else. */
  spend(ms: number): void;
}

export const UNLIMITED: Budget = {
  take: () => undefined,
  free: () => undefined,
  freeWith: () => undefined,
  spend: () => undefined,
};

/**
 * Memory that the answers to several tenants share. Beyond `maxBytes` only a tenant is refused that has more than an equal part, however
 * many servers it names, so that it never takes the part of another one. All together take at most twice as much.
 */
export class SharedMemory {
  readonly #maxBytes: number;
  readonly #registry = new FinalizationRegistry<() => void>((free) => free());
  readonly #holders = new Map<object, number>();
  #total = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes that are taken now. */
  get total(): number {
    return this.#total;
  }

  /** Adds a tenant. */
  newBudget(): TenantBudget {
    const take = (bytes: number): void => this.#take(budget, bytes);
    const free = (bytes: number): void => this.#add(budget, -bytes);
    const freeWith = (object: object, bytes: number): void =>
      this.#registry.register(object, () => free(bytes));
    const budget = new TenantBudget({ take, free, freeWith });
    return budget;
  }

  #take(holder: object, bytes: number): void {
    const held = this.#holders.get(holder) ?? 0;
    const holders = this.#holders.size + (held === 0 ? 1 : 0);
    if (this.#total + bytes > this.#maxBytes && held + bytes > this.#maxBytes / holders)
      throw new Busy('too much is being read of other clusters: this is read again');
    this.#add(holder, bytes);
  }

  #add(holder: object, bytes: number): void {
    const held = (this.#holders.get(holder) ?? 0) + bytes;
    if (held > 0) this.#holders.set(holder, held);
    else this.#holders.delete(holder);
    this.#total += bytes;
  }
}

/** Milliseconds that count of one answer, at most: a process may get no CPU time meanwhile. */
const MAX_SPENT_MS = 1_000;

/** A tenant waits so many times as long as the answers of its servers kept the process from other work. */
const WAIT_FACTOR = 4;
/** Requests of one tenant at once, beside watches. */
const MAX_REQUESTS = 12;

/** The budget for all servers that one tenant names, with the time that they have spent. */
export class TenantBudget implements Budget {
  readonly take: Budget['take'];
  readonly free: Budget['free'];
  readonly freeWith: Budget['freeWith'];
  readonly requests = new Turns(MAX_REQUESTS);
  /** Milliseconds of the answers since the last wait. */
  #spentMs = 0;
  /** Elapsed milliseconds. */
  #waitsUntil = 0;

  constructor({ take, free, freeWith }: Omit<Budget, 'spend'>) {
    this.take = take;
    this.free = free;
    this.freeWith = freeWith;
  }

  spend(ms: number): void {
    this.#spentMs += Math.min(ms, MAX_SPENT_MS);
  }

  /** Returns the milliseconds for which no request of the tenant is sent. `now`: elapsed milliseconds. */
  waitMs(now: number): number {
    this.#waitsUntil = Math.max(this.#waitsUntil, now) + WAIT_FACTOR * this.#spentMs;
    this.#spentMs = 0;
    return this.#waitsUntil - now;
  }
}
