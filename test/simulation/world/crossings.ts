import { expect } from '@jest/globals';
import { crossDifferences } from '../../support/kubevirt/cross-comparison.ts';
import { comparable, readCrossHistory } from '../../support/kubevirt/cross-history.ts';
import { CrossRun, type CrossScenario } from '../../support/kubevirt/cross-scenarios.ts';
import { simulatePair, type SimulatedPairOptions } from './two-kubevirts.ts';

const TIMINGS = { runMs: 100, migrationMs: 1000 };
/** After the last thing that the recorder waited for. */
const REST_MS = 2000;
/** Half of all requests wait up to this long, so that controllers overtake each other as on a loaded machine. */
const LOADED = { suspendRate: 0.5, longDelayRate: 0.1, maxDelayMs: 300 };

/** What a recorded crossing is like in virtual time, and is not in the recording. */
export async function differencesOf(
  name: string,
  scenario: CrossScenario,
  options: SimulatedPairOptions = {},
): Promise<string[]> {
  const pair = await simulatePair({ timings: TIMINGS, keepsSides: true, ...options });
  await pair.run(() => scenario(new CrossRun(pair)));
  await pair.pass(REST_MS);
  const { source, target } = pair;
  const played = comparable(name, { source: source.versions, target: target.versions });
  return crossDifferences(comparable(name, await readCrossHistory(name)), played);
}

/** Fails with the seed and the differences of the first run under load that is not as recorded. */
export async function expectAsRecorded(
  [name, scenario]: readonly [string, CrossScenario],
  seeds: readonly number[],
): Promise<void> {
  for (const seed of seeds) {
    const differences = await differencesOf(name, scenario, { seed, pacing: LOADED });
    expect({ seed, differences }).toEqual({ seed, differences: [] });
  }
}
