/** A small generator (sfc32): the same seed gives the same numbers on every machine. A run has no other randomness. */
export class Random {
  readonly #state: [number, number, number, number];

  constructor(seed: number) {
    this.#state = [seed | 0, (seed / 2 ** 32) | 0, 0x9e3779b9, 1];
    for (let draw = 0; draw < 12; draw += 1) this.next();
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    const state = this.#state;
    const [a, b, c, count] = state;
    const sum = (((a + b) | 0) + count) | 0;
    state[0] = b ^ (b >>> 9);
    state[1] = (c + (c << 3)) | 0;
    state[2] = (((c << 21) | (c >>> 11)) + sum) | 0;
    state[3] = (count + 1) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to, but not including, `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** A whole number from `least` to `most`. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Throws when there is nothing to pick from. */
  pick<T>(from: readonly T[]): T {
    const picked = from[this.below(from.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }
}
