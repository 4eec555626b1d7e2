import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { bundle } from '../../../hack/build.ts';
import { temporaryFolder } from '../../cluster/controlplane/exit.ts';
import { HOSTILE_READER, readHostile } from '../../support/live/hostile-reading.ts';

const MIB = 1024 * 1024;
const RUNS = 10;
const WAYS = ['bomb', 'values', 'heavy', 'crumbs', 'long', 'deep', 'silent'];
/** The memory limits of config/components/live-migration (function.yaml, watcher.yaml), and the flags of Node that follow from them. */
const LIVE = { flags: ['--max-semi-space-size=1', '--max-old-space-size=128'], memoryMib: 24 };
const WATCHER = {
  flags: ['--max-semi-space-size=1', '--max-old-space-size=64', '--no-opt', '--no-maglev'],
  memoryMib: 12,
};

const folder = temporaryFolder('mtq-hostile-');
let script: string;
beforeAll(async () => {
  script = join(await bundle({ reader: HOSTILE_READER }, folder.path), 'reader.mjs');
});
afterAll(() => {
  folder.remove();
});

/** Only on an idle machine: the hostile server has a thread in the process of the test. */
describe('beside hostile API servers', () => {
  test.each(['values', 'heavy', 'silent', 'trickle', 'crumbs', 'bomb'])(
    'of the way %s the check of another tenant takes at most twice as long',
    async (way) => {
      const ratios: number[] = [];
      for (let run = 0; run < RUNS; run += 1) {
        const { alone, beside } = await readHostile({ ...LIVE, script, providers: 1, ways: [way] });
        ratios.push(beside / alone);
      }
      const median = ratios.sort((one, other) => one - other)[RUNS / 2] ?? Infinity;
      process.stdout.write(`  ${way}: ${median.toFixed(2)} times as long\n`);
      expect(median).toBeLessThanOrEqual(2);
    },
  );

  test.each([
    ['live', 256, LIVE],
    ['the watcher', 256, WATCHER],
  ] as const)('21 of them, %s has its %d MiB, and reads another', async (what, mib, reader) => {
    const { rss } = await readHostile({ ...reader, script, providers: 3, ways: WAYS });
    process.stdout.write(`  ${what}: at most ${(rss / MIB).toFixed(0)} MiB of ${String(mib)}\n`);
    expect(rss).toBeLessThan(mib * MIB);
  });
});
