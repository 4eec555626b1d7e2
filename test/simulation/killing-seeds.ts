import { readFileSync, writeFileSync } from 'node:fs';
import { MUTATIONS } from './mutations.ts';
import { simulate } from './pool.ts';

const FILE = new URL('killing-seeds.json', import.meta.url);
/** A mutation that lives through so many runs is a checker or a world that is too weak. */
const MOST_RUNS = 20_000;

/** The stored seed whose run catches this mutation. Throws when there is none. */
export function seedThatKills(mutation: string): number {
  const seeds = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, number>;
  const seed = seeds[mutation];
  if (seed !== undefined) return seed;
  throw new Error(`no seed is stored for '${mutation}': npm run simulate -- --find-seeds`);
}

/** Searches each mutation's first seed anew and stores them. Resolves to the names of those that no seed catches. */
export async function findSeeds(onFound: (line: string) => void): Promise<string[]> {
  const seeds: Record<string, number> = {};
  for (const { name: mutation } of MUTATIONS) {
    const { breaches, runs } = await simulate({ from: 1, count: MOST_RUNS, mutation });
    const [first] = breaches;
    if (first !== undefined) seeds[mutation] = first.seed;
    onFound(
      `${mutation}: ${first === undefined ? `lived through ${String(runs)} runs` : `seed ${String(first.seed)}`}`,
    );
  }
  writeFileSync(FILE, `${JSON.stringify(seeds, undefined, 2)}\n`);
  return MUTATIONS.map(({ name }) => name).filter((name) => !(name in seeds));
}
