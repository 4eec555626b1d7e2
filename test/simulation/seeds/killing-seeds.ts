import { invariantOf } from '../checker/invariant.ts';
import { MUTATIONS } from './mutations.ts';
import { simulate } from './pool.ts';
import { SeedSearch } from './seed-search.ts';

export const KILLING_SEEDS = new SeedSearch({
  mutations: MUTATIONS,
  file: new URL('killing-seeds.json', import.meta.url),
  maxRuns: 20_000,
  ruleOf: invariantOf,
  simulate,
  command: 'npm run simulate -- --find-seeds',
});
