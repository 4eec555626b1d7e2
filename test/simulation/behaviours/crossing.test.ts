import { expect, test } from '@jest/globals';
import { CROSS_SCENARIOS } from '../../support/kubevirt/cross-scenarios.ts';
import { differencesOf, expectAsRecorded } from '../world/crossings.ts';

/** On two real API servers: test/integration/stand-ins/recorded-crossings.long.test.ts. */
test.each(Object.entries(CROSS_SCENARIOS))('in virtual time as recorded: %s', async (name, scenario) => {
  expect(await differencesOf(name, scenario)).toEqual([]);
});

test.each(Object.entries(CROSS_SCENARIOS))('as recorded under load too: %s', async (...entry) => {
  await expectAsRecorded(entry, [1]);
});
