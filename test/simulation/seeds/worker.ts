import { mutationNamed } from './mutate.ts';
import { NONE } from './pool.ts';
import { serveSeeds, violationsOf } from './serve-seeds.ts';

await serveSeeds({
  mutationNamed,
  none: NONE,
  load: async () => {
    const { runSeed } = await import('../world/run.ts');
    return async (seed) => {
      const { violation, steps, cycles, failures, podsOutsideLock, hits } = await runSeed(seed);
      const violations = violationsOf(seed, violation);
      return { runs: 1, steps, cycles, failures, podsOutsideLock, hits, violations };
    };
  },
});
