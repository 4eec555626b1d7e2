import fc from 'fast-check';
import { describe, expect, test } from '@jest/globals';
import { METRIC } from './metric-names.ts';
import { Metrics, type Reviewed } from './metrics.ts';

const newMetrics = (letters: ReadonlyMap<string, number> = new Map()): Metrics => new Metrics(() => letters);

/** The values by series: `name{labels}`. */
async function samplesOf({ registry }: Metrics): Promise<Record<string, number>> {
  const lines = (await registry.metrics()).matchAll(/^([^#\s].*) (\S+)$/gm);
  return Object.fromEntries([...lines].map(([, series = '', value]) => [series, Number(value)]));
}

const reviewed = (changed: Partial<Reviewed>): Reviewed => ({
  resource: 'pods',
  outcome: 'allowed',
  seconds: 0.001,
  ...changed,
});

test('every metric and every possible series is zero at the start', async () => {
  const metrics = newMetrics();
  const text = await metrics.registry.metrics();
  const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
  expect(families).toEqual(Object.values(METRIC).map(({ name, type }) => [name, type]));
  for (const { name, help } of Object.values(METRIC)) expect(text).toContain(`# HELP ${name} ${help}\n`);
  const {
    process_start_time_seconds: start,
    process_resident_memory_bytes: memory,
    ...ours
  } = await samplesOf(metrics);
  expect(start).toBe(performance.timeOrigin / 1_000);
  expect(memory).toBeGreaterThan(10 * 2 ** 20);
  expect(new Set(Object.values(ours))).toEqual(new Set([0]));
  const countOf = ({ name }: { name: string }): number =>
    Object.keys(ours).filter((series) => series.startsWith(name)).length;
  expect([METRIC.reviews, METRIC.reviewSeconds, METRIC.repairs].map(countOf)).toEqual([15, 12, 3]);
});

test('VMs that are blocked are those of the moment, by kind', async () => {
  const metrics = newMetrics();
  let blocked = new Map([['Drain' as const, 3]]);
  metrics.maintaining(() => blocked);
  expect(await samplesOf(metrics)).toMatchObject({
    'mtq_maintenance_blocked{kind="Drain"}': 3,
    'mtq_maintenance_blocked{kind="Upgrade"}': 0,
  });
  blocked = new Map();
  expect(await samplesOf(metrics)).toMatchObject({ 'mtq_maintenance_blocked{kind="Drain"}': 0 });
});

describe('reviews', () => {
  test('are counted by resource and outcome', async () => {
    const metrics = newMetrics();
    metrics.reviewed(reviewed({}));
    metrics.reviewed(reviewed({}));
    metrics.reviewed(reviewed({ outcome: 'refused' }));
    metrics.reviewed(reviewed({ resource: 'resourcequotas', outcome: 'failed' }));
    expect(await samplesOf(metrics)).toMatchObject({
      'mtq_reviews_total{resource="pods",outcome="allowed"}': 2,
      'mtq_reviews_total{resource="pods",outcome="refused"}': 1,
      'mtq_reviews_total{resource="resourcequotas",outcome="failed"}': 1,
    });
  });

  test('of an unknown resource add no series', async () => {
    const metrics = newMetrics();
    const before = Object.keys(await samplesOf(metrics));
    for (const resource of ['secrets', '__proto__', 'a"b', 'other']) metrics.reviewed(reviewed({ resource }));
    const after = await samplesOf(metrics);
    expect(Object.keys(after)).toEqual(before);
    expect(after['mtq_reviews_total{resource="other",outcome="allowed"}']).toBe(4);
  });

  test('are in every bucket that is long enough, and longer ones only in +Inf', async () => {
    const metrics = newMetrics();
    for (const seconds of [0.005, 0.006, 2.5, 2.6]) metrics.reviewed(reviewed({ seconds }));
    const samples = await samplesOf(metrics);
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

test('repairing counts repairs by outcome, and returns their results unchanged', async () => {
  const metrics = newMetrics();
  const failure = new Error('no API server');
  const repair = metrics.repairing((what: string) =>
    what === 'fails' ? Promise.reject(failure) : Promise.resolve(what === 'done'),
  );
  expect([await repair('done'), await repair('none'), await repair('none')]).toEqual([true, false, false]);
  await expect(repair('fails')).rejects.toBe(failure);
  expect(await samplesOf(metrics)).toMatchObject({
    'mtq_repairs_total{outcome="done"}': 1,
    'mtq_repairs_total{outcome="none"}': 2,
    'mtq_repairs_total{outcome="failed"}': 1,
  });
});

test('ready is the result of the last probe, and a scrape does not probe', async () => {
  const metrics = newMetrics();
  const answers = [undefined, 'it is being stopped'];
  const probe = metrics.probing(() => Promise.resolve(answers.shift()));
  const ready = async (): Promise<number | undefined> => (await samplesOf(metrics))['mtq_ready'];
  expect(await ready()).toBe(0);
  expect(await probe()).toBeUndefined();
  expect([await ready(), await ready(), answers.length]).toEqual([1, 1, 1]);
  expect(await probe()).toBe('it is being stopped');
  expect(await ready()).toBe(0);
});

test('each scrape reads the state of the watchdog and the dead letters', async () => {
  const letters = new Map([['a"b', 3]]);
  const metrics = newMetrics(letters);
  let locked = 1;
  metrics.watching(() => ({ lockedNamespaces: locked, raisedQuotas: 2, longestLockSeconds: 1.25 }));
  expect(await samplesOf(metrics)).toMatchObject({
    mtq_locked_namespaces: 1,
    mtq_raised_quotas: 2,
    mtq_longest_lock_seconds: 1.25,
    [String.raw`mtq_dead_letters_total{type="a\"b"}`]: 3,
  });
  locked = 5;
  letters.set('a"b', 4).set('c', 1);
  expect(await samplesOf(metrics)).toMatchObject({
    mtq_locked_namespaces: 5,
    [String.raw`mtq_dead_letters_total{type="a\"b"}`]: 4,
    'mtq_dead_letters_total{type="c"}': 1,
  });
});

test('an event type with any characters is one sample, and a scraper reads the same characters', async () => {
  const special = fc.string({ unit: fc.constantFrom('\\', '"', '\n', 'n', ',', '}', ' ', 'ü') });
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string({ unit: 'grapheme' }), special), async (type) => {
      const text = await newMetrics(new Map([[type, 1]])).registry.metrics();
      const samples = [...text.matchAll(/^mtq_dead_letters_total\{type="((?:[^"\\\n]|\\["\\n])*)"\} 1$/gm)];
      expect(samples.map(([, label = '']) => unescape(label))).toEqual([type]);
      expect(text.match(/^mtq_dead_letters_total/gm)).toHaveLength(1);
    }),
  );
});

const unescape = (label: string): string =>
  label.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
