import { serveSeeds, violationsOf } from '../../seeds/serve-seeds.ts';
import { mutationNamed } from './mutations.ts';
import { NONE } from './pool.ts';

await serveSeeds({
  mutationNamed,
  none: NONE,
  load: async () => {
    const { runSeed } = await import('../world/run.ts');
    return async (seed) => {
      const { violation, hasMoved, hits } = await runSeed(seed);
      return { runs: 1, moved: Number(hasMoved), hits, violations: violationsOf(seed, violation) };
    };
  },
});
