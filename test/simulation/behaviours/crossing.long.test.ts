import { test } from '@jest/globals';
import { CROSS_SCENARIOS } from '../../support/kubevirt/cross-scenarios.ts';
import { expectAsRecorded } from '../world/crossings.ts';

test.each(Object.entries(CROSS_SCENARIOS))(
  'as recorded under load, with more seeds: %s',
  async (...entry) => {
    await expectAsRecorded(entry, [2, 3, 4, 5, 6]);
  },
);
