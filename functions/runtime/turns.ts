/** A queue of work that is done one after another. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves when it is the caller's turn, with the function that ends the turn. */
  async next(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const before = this.#last;
    this.#last = promise;
    await before;
    return () => resolve(undefined);
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
