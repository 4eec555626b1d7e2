import { beforeAll, expect, jest, test } from '@jest/globals';
import { STEP_NAMES } from '../../functions/runtime/settings.ts';
import { READ_FAULTS } from './client.ts';
import { CALL_FAULTS, EVENT_FAULTS } from './faults.ts';
import { DISTURBING } from './disturbances.ts';
import { simulate, type Summary } from './pool.ts';
import { failureText, hitsTable } from './report.ts';
import { shrink } from './shrink.ts';

const RUNS = 20_000;
const LEAST_HITS = 20;
jest.setTimeout(30 * 60_000);

let summary: Summary;
beforeAll(async () => {
  const started = performance.now();
  summary = await simulate({ from: 1, count: RUNS });
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  const { turns, releases, failures, strangers } = summary;
  process.stdout.write(
    `${hitsTable(summary.hits)}\n\n${String(RUNS)} runs in ${seconds} s: ${String(turns)} turns, ${String(releases)} releases, ` +
      `${String(failures)} locks that failed, ${String(strangers)} pods under way before the proof\n`,
  );
});

test('no run breaks an invariant; one that does prints its seed and the shortest trace that was found', async () => {
  const [first] = summary.breaches;
  const shrunk = first === undefined ? undefined : await shrink(first.seed);
  expect(shrunk === undefined ? '' : failureText(first?.seed ?? 0, shrunk)).toBe('');
  expect(summary.breaches).toEqual([]);
  expect(summary.runs).toBe(RUNS);
});

const SITES = [
  ...STEP_NAMES.flatMap((step) => [
    { site: step, faults: CALL_FAULTS },
    { site: `${step} reads`, faults: READ_FAULTS },
    { site: `event to ${step}`, faults: EVENT_FAULTS },
  ]),
  { site: 'guard', faults: CALL_FAULTS },
  { site: 'guard reads', faults: READ_FAULTS },
  { site: 'review reads', faults: READ_FAULTS },
  { site: 'world', faults: DISTURBING },
];

test.each(SITES)('every fault there is hits often enough: $site', ({ site, faults }) => {
  const rare = faults
    .map((fault) => ({ fault, times: summary.hits.get(`${fault} ${site}`) ?? 0 }))
    .filter(({ times }) => times < LEAST_HITS);
  expect(rare).toEqual([]);
});

test('releases are what most of it is about, and locks fail too', () => {
  expect(summary.releases).toBeGreaterThan(RUNS / 10);
  expect(summary.failures).toBeGreaterThan(RUNS / 100);
  expect(summary.strangers).toBeGreaterThan(0);
});
