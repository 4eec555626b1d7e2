import { Unreachable } from './errors.ts';

/** The memory and time that the answers of one server may take of this process. */
export interface Budget {
  /** Throws Unreachable if so many more bytes are too many now. */
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
 * Memory that the answers of several servers share. Beyond `maxBytes` only a server is refused that has more than an equal part, so that
 * one server never makes another one fail. All together take at most twice as much.
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

  /** Adds a server. */
  newBudget(): ServerBudget {
    const take = (bytes: number): void => this.#take(budget, bytes);
    const free = (bytes: number): void => this.#add(budget, -bytes);
    const freeWith = (object: object, bytes: number): void =>
      this.#registry.register(object, () => free(bytes));
    const budget = new ServerBudget({ take, free, freeWith });
    return budget;
  }

  #take(holder: object, bytes: number): void {
    const held = this.#holders.get(holder) ?? 0;
    const holders = this.#holders.size + (held === 0 ? 1 : 0);
    if (this.#total + bytes > this.#maxBytes && held + bytes > this.#maxBytes / holders)
      throw new Unreachable('the answers take too much memory');
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

/** The budget of one server, with the time that it has spent. */
export class ServerBudget implements Budget {
  readonly take: Budget['take'];
  readonly free: Budget['free'];
  readonly freeWith: Budget['freeWith'];
  /** Milliseconds of all answers. */
  spentMs = 0;

  constructor({ take, free, freeWith }: Omit<Budget, 'spend'>) {
    this.take = take;
    this.free = free;
    this.freeWith = freeWith;
  }

  spend(ms: number): void {
    this.spentMs += Math.min(ms, MAX_SPENT_MS);
  }
}
