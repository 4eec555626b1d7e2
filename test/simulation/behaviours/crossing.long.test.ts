import { test } from '@jest/globals';
import { CROSS_SCENARIOS } from '../../support/kubevirt/cross-scenarios.ts';
import { expectAsRecorded } from '../world/crossings.ts';

/** Recordings of one of several ends: which of two controllers writes first decides. */
const RACES = [
  'target-fails-after-arrival',
  'sync-controller-loses-lease',
  'sync-controller-loses-lease-vmim-deleted',
];

test.each(Object.entries(CROSS_SCENARIOS).filter(([name]) => !RACES.includes(name)))(
  'as recorded under load, with more seeds: %s',
  async (...entry) => {
    await expectAsRecorded(entry, [2, 3, 4, 5, 6]);
  },
);
