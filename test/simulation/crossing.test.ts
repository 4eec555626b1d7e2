import { expect, test } from '@jest/globals';
import { crossDifferences } from '../support/kubevirt/cross-comparison.ts';
import { comparable, readCrossHistory } from '../support/kubevirt/cross-history.ts';
import { CROSS_SCENARIOS, CrossRun } from '../support/kubevirt/cross-scenarios.ts';
import { simulatePair } from './two-kubevirts.ts';

const TIMINGS = { runMs: 100, migrationMs: 1000 };
/** After the last thing that the recorder waited for. */
const REST_MS = 2000;

/** On two real API servers: test/integration/stand-ins/recorded-crossings.long.test.ts. */
test.each(Object.entries(CROSS_SCENARIOS))('in virtual time as recorded: %s', async (name, scenario) => {
  const pair = await simulatePair({ timings: TIMINGS });
  await pair.run(() => scenario(new CrossRun(pair)));
  await pair.pass(REST_MS);
  const { source, target } = pair;
  const played = comparable(name, { source: source.versions, target: target.versions });
  expect(crossDifferences(comparable(name, await readCrossHistory(name)), played)).toEqual([]);
});
