import { readFileSync, writeFileSync } from 'node:fs';
import { ruleOf } from './checker.ts';
import { MUTATIONS, type LiveMutation } from './mutations.ts';
import { simulateLive } from './pool.ts';

const FILE = new URL('killing-seeds.json', import.meta.url);
/** When a mutation survives this many runs, the checker or the world is too weak. */
const MAX_RUNS = 3_000;

const stored = (): Record<string, number> => JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, number>;

/** The stored seed whose run catches this mutation. Throws when there is none. */
export function seedThatKills(mutation: string): number {
  const seed = stored()[mutation];
  if (seed !== undefined) return seed;
  throw new Error(`no seed is stored for '${mutation}': npm run simulate:live -- --find-seeds`);
}

/** Searches and stores the first seed of each mutation; returns the names of those that no seed catches. */
export async function findSeeds(onFound: (line: string) => void): Promise<readonly string[]> {
  const seeds: Record<string, number> = {};
  for (const mutation of MUTATIONS) {
    const seed = await firstSeed(mutation);
    if (seed !== undefined) seeds[mutation.name] = seed;
    onFound(`${mutation.name}: ${seed === undefined ? 'not caught' : `seed ${String(seed)}`}`);
  }
  writeFileSync(FILE, `${JSON.stringify(seeds, undefined, 2)}\n`);
  return MUTATIONS.map(({ name }) => name).filter((name) => !(name in seeds));
}

async function firstSeed({ name, breaks }: LiveMutation): Promise<number | undefined> {
  let from = 1;
  while (from <= MAX_RUNS) {
    const { violations } = await simulateLive({
      from,
      count: MAX_RUNS + 1 - from,
      mutation: name,
      workers: 1,
    });
    const [first] = violations;
    if (first === undefined) return undefined;
    if (breaks.includes(ruleOf(first.violation))) return first.seed;
    from = first.seed + 1;
  }
  return undefined;
}
