import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { crossDifferences } from '../../support/kubevirt/cross-comparison.ts';
import { comparable, readCrossHistory } from '../../support/kubevirt/cross-history.ts';
import { CROSS_SCENARIOS, CrossRun } from '../../support/kubevirt/cross-scenarios.ts';
import { startTwoKubeVirts, type TwoKubeVirts } from '../../support/kubevirt/two-kubevirts.ts';

let ofOneNode: TwoKubeVirts;
let ofTwoNodes: TwoKubeVirts;

const start = (nodes: number): Promise<TwoKubeVirts> =>
  startTwoKubeVirts({ runMs: 100, migrationMs: 1000 }, { keepsSides: true, nodes });

beforeAll(async () => {
  ofOneNode = await start(1);
  ofTwoNodes = await start(2);
});

afterAll(async () => {
  await Promise.all([ofOneNode, ofTwoNodes].map((clusters) => clusters.stop()));
});

/** In these recordings the VM migrates within its cluster too. */
const ON_TWO_NODES = ['next-crash-on-target', 'next-crash-after-local-migration'];

test('every recording between two clusters is played', () => {
  const recorded = readdirSync(new URL('../../recorded/', import.meta.url)).flatMap(
    (file) => /^cross-(.*)\.jsonl$/.exec(file)?.[1] ?? [],
  );
  expect(Object.keys(CROSS_SCENARIOS).sort()).toEqual(recorded.sort());
});

test.each(Object.entries(CROSS_SCENARIOS))('as recorded: %s', async (name, scenario) => {
  const want = comparable(name, await readCrossHistory(name));
  const clusters = ON_TWO_NODES.includes(name) ? ofTwoNodes : ofOneNode;
  await clusters.within(`tenant-${name}`, async (pair) => {
    const differences = (): string[] =>
      crossDifferences(
        want,
        comparable(name, { source: pair.source.versions, target: pair.target.versions }),
      );
    await scenario(new CrossRun(pair)).catch(async (error: unknown) => {
      // The next scenario needs what this one may have stopped.
      await Promise.all([pair.source.restartSynchronization(), pair.target.restartSynchronization()]);
      throw error;
    });
    // Something comes after the last thing that a scenario waits for, such as events.
    await pair.until('the same as recorded', () => differences().length === 0).catch(() => undefined);
    expect(differences()).toEqual([]);
  });
});
