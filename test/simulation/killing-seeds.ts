import { readFileSync, writeFileSync } from 'node:fs';
import { invariantOf } from './checker/invariant.ts';
import { MUTATIONS, type Mutation } from './mutations.ts';
import { simulate } from './pool.ts';

const FILE = new URL('killing-seeds.json', import.meta.url);
/** When a mutation survives this many runs, the checker or the world is too weak. */
const MAX_RUNS = 20_000;

/** The stored seed whose run catches this mutation. Throws when there is none. */
export function seedThatKills(mutation: string): number {
  const seeds = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, number>;
  const seed = seeds[mutation];
  if (seed !== undefined) return seed;
  throw new Error(`no seed is stored for '${mutation}': npm run simulate -- --find-seeds`);
}

/** Result of a search: the first seed of each mutation, and the names of mutations that no seed catches. */
interface Found {
  readonly seeds: Readonly<Record<string, number>>;
  readonly missing: readonly string[];
}

/** Searches each mutation's first seed. */
export async function findSeeds(onFound: (line: string) => void): Promise<Found> {
  const seeds: Record<string, number> = {};
  for (const mutation of MUTATIONS) {
    const seed = await firstSeed(mutation);
    if (seed !== undefined) seeds[mutation.name] = seed;
    onFound(`${mutation.name}: ${seed === undefined ? 'not caught' : `seed ${String(seed)}`}`);
  }
  return { seeds, missing: MUTATIONS.map(({ name }) => name).filter((name) => !(name in seeds)) };
}

/** The first seed whose run violates an invariant that the mutation names. */
async function firstSeed({ name, breaks }: Mutation): Promise<number | undefined> {
  let from = 1;
  while (from <= MAX_RUNS) {
    const { violations } = await simulate({ from, count: MAX_RUNS + 1 - from, mutation: name });
    const [first] = violations;
    if (first === undefined) return undefined;
    if (breaks.includes(invariantOf(first.violation))) return first.seed;
    from = first.seed + 1;
  }
  return undefined;
}

/** Stores the seeds for the tests of `npm test`. */
export const storeSeeds = ({ seeds }: Found): void =>
  writeFileSync(FILE, `${JSON.stringify(seeds, undefined, 2)}\n`);
