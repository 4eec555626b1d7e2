import { readFileSync, writeFileSync } from 'node:fs';
import type { Found as Summary, Order } from './pool.ts';

/** A kind of simulation, whose mutations have seeds that catch them. */
interface SearchOptions {
  readonly mutations: readonly Broken[];
  /** The stored seeds by mutation. */
  readonly file: URL;
  /** When a mutation survives this many runs, the checker or the world is too weak. */
  readonly maxRuns: number;
  /** Which rule a violation breaks. */
  readonly ruleOf: (violation: string) => string;
  readonly simulate: (order: Pick<Order, 'from' | 'count' | 'mutation' | 'workers'>) => Promise<Summary>;
  /** What finds them, for an error. */
  readonly command: string;
}

interface Broken {
  readonly name: string;
  /** The rules that it breaks. */
  readonly breaks: readonly string[];
}

/** Result of a search: the first seed of each mutation, and the names of mutations that no seed catches. */
interface Found {
  readonly seeds: Readonly<Record<string, number>>;
  readonly missing: readonly string[];
}

/** The seeds that catch mutations. */
export class SeedSearch {
  readonly #options: SearchOptions;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /** The stored seed whose run catches this mutation. Throws when there is none. */
  stored(mutation: string): number {
    const seed = this.#storedOrNone(mutation);
    if (seed !== undefined) return seed;
    throw new Error(`no seed is stored for '${mutation}': ${this.#options.command}`);
  }

  /** The rule that the run of the stored seed breaks; 'none': it catches the mutation no more. Rejects where no seed is stored. */
  async brokenRule(mutation: string): Promise<string> {
    const { ruleOf, simulate } = this.#options;
    const { violations } = await simulate({ from: this.stored(mutation), count: 1, mutation, workers: 1 });
    return violations[0] === undefined ? 'none' : ruleOf(violations[0].violation);
  }

  #storedOrNone(mutation: string): number | undefined {
    return (JSON.parse(readFileSync(this.#options.file, 'utf8')) as Record<string, number>)[mutation];
  }

  /** The stored seed, if it still catches the mutation. */
  async #kept({ name, breaks }: Broken): Promise<number | undefined> {
    const seed = this.#storedOrNone(name);
    return seed !== undefined && breaks.includes(await this.brokenRule(name)) ? seed : undefined;
  }

  /** Keeps each stored seed that still catches its mutation, and searches for the others. */
  mend(onFound: (line: string) => void): Promise<Found> {
    return this.find(onFound, (mutation) => this.#kept(mutation));
  }

  /** Mends the stored seeds, and stores them. Resolves with whether each mutation has one. */
  async renew(onFound: (line: string) => void): Promise<boolean> {
    const found = await this.mend(onFound);
    this.store(found);
    return found.missing.length === 0;
  }

  /** Searches each mutation's first seed; `known`: instead of a search, where it resolves to one. */
  async find(
    onFound: (line: string) => void,
    known: (mutation: Broken) => Promise<number | undefined> = () => Promise.resolve(undefined),
  ): Promise<Found> {
    const { mutations } = this.#options;
    const seeds: Record<string, number> = {};
    for (const mutation of mutations) {
      const seed = (await known(mutation)) ?? (await this.#first(mutation));
      if (seed !== undefined) seeds[mutation.name] = seed;
      onFound(`${mutation.name}: ${seed === undefined ? 'not caught' : `seed ${String(seed)}`}`);
    }
    return { seeds, missing: mutations.map(({ name }) => name).filter((name) => !(name in seeds)) };
  }

  /** The first seed whose run breaks a rule that the mutation names. */
  async #first({ name, breaks }: Broken): Promise<number | undefined> {
    const { maxRuns, ruleOf, simulate } = this.#options;
    let from = 1;
    while (from <= maxRuns) {
      const { violations } = await simulate({ from, count: maxRuns + 1 - from, mutation: name });
      const [first] = violations;
      if (first === undefined) return undefined;
      if (breaks.includes(ruleOf(first.violation))) return first.seed;
      from = first.seed + 1;
    }
    return undefined;
  }

  /** Stores the seeds for the tests of `npm run test:all`. */
  store({ seeds }: Found): void {
    writeFileSync(this.#options.file, `${JSON.stringify(seeds, undefined, 2)}\n`);
  }
}
