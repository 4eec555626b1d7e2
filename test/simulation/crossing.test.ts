import { expect, test } from '@jest/globals';
import { crossDifferences } from '../support/kubevirt/cross-comparison.ts';
import { comparable, readCrossHistory } from '../support/kubevirt/cross-history.ts';
import { CROSS_SCENARIOS, CrossRun, type CrossScenario } from '../support/kubevirt/cross-scenarios.ts';
import { simulatePair, type SimulatedPairOptions } from './two-kubevirts.ts';

const TIMINGS = { runMs: 100, migrationMs: 1000 };
/** After the last thing that the recorder waited for. */
const REST_MS = 2000;
/** Half of all requests wait up to this long, so that controllers overtake each other as on a loaded machine. */
const LOADED = { suspendRate: 0.5, longDelayRate: 0.1, maxDelayMs: 300 };
const SEEDS = [1, 2, 3, 4, 5, 6];

async function differencesOf(
  name: string,
  scenario: CrossScenario,
  options: SimulatedPairOptions = {},
): Promise<string[]> {
  const pair = await simulatePair({ timings: TIMINGS, ...options });
  await pair.run(() => scenario(new CrossRun(pair)));
  await pair.pass(REST_MS);
  const { source, target } = pair;
  const played = comparable(name, { source: source.versions, target: target.versions });
  return crossDifferences(comparable(name, await readCrossHistory(name)), played);
}

/** On two real API servers: test/integration/stand-ins/recorded-crossings.long.test.ts. */
test.each(Object.entries(CROSS_SCENARIOS))('in virtual time as recorded: %s', async (name, scenario) => {
  expect(await differencesOf(name, scenario)).toEqual([]);
});

test.each(Object.entries(CROSS_SCENARIOS))('as recorded under load too: %s', async (name, scenario) => {
  for (const seed of SEEDS) {
    const options = { seed, pacing: LOADED };
    expect({ seed, differences: await differencesOf(name, scenario, options) }).toEqual({
      seed,
      differences: [],
    });
  }
});
