import { readFileSync, writeFileSync } from 'node:fs';
import { MUTATIONS } from './mutations.ts';
import { simulate } from './pool.ts';

const FILE = new URL('killing-seeds.json', import.meta.url);
/** A mutation that lives through so many runs is a checker or a world that is too weak. */
const MAX_RUNS = 20_000;

/** The stored seed whose run catches this mutation. Throws when there is none. */
export function seedThatKills(mutation: string): number {
  const seeds = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, number>;
  const seed = seeds[mutation];
  if (seed !== undefined) return seed;
  throw new Error(`no seed is stored for '${mutation}': npm run simulate -- --find-seeds`);
}

/** What a search found: the first seed of each mutation, and the names of those that no seed catches. */
interface Found {
  readonly seeds: Readonly<Record<string, number>>;
  readonly missing: readonly string[];
}

/** Searches each mutation's first seed. */
export async function findSeeds(onFound: (line: string) => void): Promise<Found> {
  const seeds: Record<string, number> = {};
  for (const { name: mutation } of MUTATIONS) {
    const { breaches, runs } = await simulate({ from: 1, count: MAX_RUNS, mutation });
    const [first] = breaches;
    if (first !== undefined) seeds[mutation] = first.seed;
    onFound(
      `${mutation}: ${first === undefined ? `lived through ${String(runs)} runs` : `seed ${String(first.seed)}`}`,
    );
  }
  return { seeds, missing: MUTATIONS.map(({ name }) => name).filter((name) => !(name in seeds)) };
}

/** Stores what was found, for the tests of `npm test`. */
export const storeSeeds = ({ seeds }: Found): void =>
  writeFileSync(FILE, `${JSON.stringify(seeds, undefined, 2)}\n`);
