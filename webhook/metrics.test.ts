import { describe, expect, test } from '@jest/globals';
import { METRIC } from './metric-names.ts';
import { Metrics, type Reviewed } from './metrics.ts';

const newMetrics = (letters: readonly (readonly [string, number])[] = []): Metrics =>
  new Metrics({ deadLetters: () => new Map(letters), startedAt: 1_500, memory: () => 1_024 });

/** Value by series: `name{labels}`. */
const samplesOf = (metrics: Metrics): Record<string, number> =>
  Object.fromEntries(
    [...metrics.text().matchAll(/^([^#\s].*) (\S+)$/gm)].map(([, series = '', value]) => [
      series,
      Number(value),
    ]),
  );

const reviewed = (changed: Partial<Reviewed>): Reviewed => ({
  resource: 'pods',
  outcome: 'allowed',
  seconds: 0.001,
  ...changed,
});

test('at the start every metric is there, and every series that can be, at zero', () => {
  const metrics = newMetrics();
  const families = [...metrics.text().matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [
    name,
    type,
  ]);
  expect(families).toEqual(Object.values(METRIC).map(({ name, type }) => [name, type]));
  const {
    process_start_time_seconds: start,
    process_resident_memory_bytes: memory,
    ...ours
  } = samplesOf(metrics);
  expect([start, memory]).toEqual([1.5, 1_024]);
  expect(new Set(Object.values(ours))).toEqual(new Set([0]));
  expect(Object.keys(ours).filter((series) => series.startsWith(METRIC.reviews.name))).toHaveLength(12);
});

describe('reviews', () => {
  test('are counted by resource and outcome', () => {
    const metrics = newMetrics();
    metrics.reviewed(reviewed({}));
    metrics.reviewed(reviewed({}));
    metrics.reviewed(reviewed({ outcome: 'refused' }));
    metrics.reviewed(reviewed({ resource: 'resourcequotas', outcome: 'failed' }));
    expect(samplesOf(metrics)).toMatchObject({
      'mtq_reviews_total{resource="pods",outcome="allowed"}': 2,
      'mtq_reviews_total{resource="pods",outcome="refused"}': 1,
      'mtq_reviews_total{resource="resourcequotas",outcome="failed"}': 1,
    });
  });

  test('of whatever resource somebody names: no more series than there were', () => {
    const metrics = newMetrics();
    const before = Object.keys(samplesOf(metrics));
    for (const resource of ['secrets', '__proto__', 'a"b', 'other']) metrics.reviewed(reviewed({ resource }));
    const after = samplesOf(metrics);
    expect(Object.keys(after)).toEqual(before);
    expect(after['mtq_reviews_total{resource="other",outcome="allowed"}']).toBe(4);
  });

  test('are in every bucket that is long enough, and beyond all in +Inf', () => {
    const metrics = newMetrics();
    for (const seconds of [0.005, 0.006, 2.5, 2.6]) metrics.reviewed(reviewed({ seconds }));
    const samples = samplesOf(metrics);
    const buckets = Object.entries(samples).filter(([series]) => series.includes('_bucket'));
    expect(buckets.map(([series, count]) => [/le="(.*)"/.exec(series)?.[1], count])).toEqual([
      ['0.005', 1],
      ['0.01', 2],
      ['0.025', 2],
      ['0.05', 2],
      ['0.1', 2],
      ['0.25', 2],
      ['0.5', 2],
      ['1', 2],
      ['2.5', 3],
      ['+Inf', 4],
    ]);
    expect(samples['mtq_review_duration_seconds_count']).toBe(4);
    expect(samples['mtq_review_duration_seconds_sum']).toBeCloseTo(5.111, 6);
  });
});

test('repairs are counted by what came of them, and stay what they are', async () => {
  const metrics = newMetrics();
  const failure = new Error('no API server');
  const repair = metrics.repairing((what: string) =>
    what === 'fails' ? Promise.reject(failure) : Promise.resolve(what === 'done'),
  );
  expect([await repair('done'), await repair('none'), await repair('none')]).toEqual([true, false, false]);
  await expect(repair('fails')).rejects.toBe(failure);
  expect(samplesOf(metrics)).toMatchObject({
    'mtq_repairs_total{outcome="done"}': 1,
    'mtq_repairs_total{outcome="none"}': 2,
    'mtq_repairs_total{outcome="failed"}': 1,
  });
});

test('ready is what the last probe was told, and a scrape does not probe', async () => {
  const metrics = newMetrics();
  const answers = [undefined, 'it is being stopped'];
  const probe = metrics.probing(() => Promise.resolve(answers.shift()));
  const ready = (): number | undefined => samplesOf(metrics)['mtq_ready'];
  expect(ready()).toBe(0);
  expect(await probe()).toBeUndefined();
  expect([ready(), ready(), answers.length]).toEqual([1, 1, 1]);
  expect(await probe()).toBe('it is being stopped');
  expect(ready()).toBe(0);
});

test('what the watchdog sees and the dead letters are as they are at the scrape', () => {
  const metrics = newMetrics([['a"b', 3]]);
  let locked = 1;
  metrics.watching(() => ({ lockedNamespaces: locked, raisedQuotas: 2, longestLockSeconds: 1.25 }));
  locked = 5;
  expect(samplesOf(metrics)).toMatchObject({
    mtq_locked_namespaces: 5,
    mtq_raised_quotas: 2,
    mtq_longest_lock_seconds: 1.25,
    [String.raw`mtq_dead_letters_total{type="a\"b"}`]: 3,
  });
});
