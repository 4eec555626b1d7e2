import { expect, test } from '@jest/globals';
import { readHostile } from '../../support/live/hostile-reading.ts';

const MIB = 1024 * 1024;
const WAYS = ['bomb', 'values', 'heavy', 'crumbs', 'long', 'deep', 'silent'];

/** The memory limits and flags of config/components/live-migration: function.yaml, watcher.yaml. */
test.each<[string, number, Parameters<typeof readHostile>[0]]>([
  [
    'live',
    256,
    {
      flags: ['--max-semi-space-size=1', '--max-old-space-size=128'],
      memoryMib: 48,
      providers: 3,
      ways: WAYS,
    },
  ],
  [
    'the watcher',
    192,
    {
      flags: ['--max-semi-space-size=1', '--max-old-space-size=64', '--no-opt', '--no-maglev'],
      ...{ memoryMib: 12, providers: 3, ways: WAYS },
    },
  ],
])('%s has its memory limit beside 21 hostile API servers, and reads another', async (_what, mib, reader) => {
  const { rss } = await readHostile(reader);
  process.stdout.write(`  at most ${(rss / MIB).toFixed(0)} MiB of ${String(mib)}\n`);
  expect(rss).toBeLessThan(mib * MIB);
});
