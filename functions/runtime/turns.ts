/** A queue of work that is done one after another, or so many at once. */
export class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce = 1) {
    this.#free = atOnce;
  }

  /** Resolves when it is the caller's turn, with the function that ends the turn. */
  async next(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return () => {
      const begin = this.#waiting.shift();
      if (begin === undefined) this.#free += 1;
      else begin();
    };
  }

  /** Does `work` when it is its turn. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const end = await this.next();
    try {
      return await work();
    } finally {
      end();
    }
  }
}
