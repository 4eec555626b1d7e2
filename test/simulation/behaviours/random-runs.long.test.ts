import { beforeAll, expect, jest, test } from '@jest/globals';
import { CYCLE_STEPS } from '../../../functions/runtime/settings.ts';
import { READ_FAULTS } from '../world/client.ts';
import { DISTURBING } from '../world/disturbances.ts';
import { CALL_FAULTS, EVENT_FAULTS } from '../world/faults.ts';
import type { Summary } from '../seeds/pool.ts';
import { expectBusy, expectUnbroken, runRandomly } from '../seeds/random-runs.ts';

const RUNS = 10_000;
const MIN_HITS = 10;
// They only compute: beside the exhaustive ones 20,000 took more than 30 minutes.
jest.setTimeout(30 * 60_000);

let summary: Summary;
beforeAll(async () => {
  summary = await runRandomly(RUNS);
});

test('no run violates an invariant', async () => {
  await expectUnbroken(summary);
  expect(summary.runs).toBe(RUNS);
});

const SITES = [
  ...CYCLE_STEPS.flatMap((step) => [
    { site: step, faults: CALL_FAULTS },
    { site: `${step} reads`, faults: READ_FAULTS },
    { site: `event to ${step}`, faults: EVENT_FAULTS },
  ]),
  { site: 'guard', faults: CALL_FAULTS },
  { site: 'guard reads', faults: READ_FAULTS },
  { site: 'review reads', faults: READ_FAULTS },
  { site: 'world', faults: DISTURBING },
];

test.each(SITES)('each fault hits often enough at $site', ({ site, faults }) => {
  const rare = faults
    .map((fault) => ({ fault, times: summary.hits.get(`${fault} ${site}`) ?? 0 }))
    .filter(({ times }) => times < MIN_HITS);
  expect(rare).toEqual([]);
});

/** Not `raise`, which reads a VMMRQ only for a lock that was taken before the kind went. */
const BROKEN_AT = ['feasibility', 'lock', 'lower', 'guard'];

test.each(BROKEN_AT)('requests that fail for good hit the reads of %s often enough', (site) => {
  expect(summary.hits.get(`broken ${site} reads`) ?? 0).toBeGreaterThanOrEqual(MIN_HITS);
});

test('the runs contain pods that were under way before the proof', () => {
  expectBusy(summary);
  expect(summary.podsOutsideLock).toBeGreaterThan(0);
});
