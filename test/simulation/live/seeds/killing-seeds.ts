import { SeedSearch } from '../../seeds/seed-search.ts';
import { ruleOf } from '../checker.ts';
import { MUTATIONS } from './mutations.ts';
import { simulateLive } from './pool.ts';

export const LIVE_KILLING_SEEDS = new SeedSearch({
  mutations: MUTATIONS,
  file: new URL('killing-seeds.json', import.meta.url),
  maxRuns: 20_000,
  ruleOf,
  simulate: (order) => simulateLive({ ...order, workers: 1 }),
  command: 'npm run simulate:live -- --find-seeds',
});
