import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aMigration } from '../../../test/support/builders/kubevirt.ts';
import {
  afterAttempt,
  aLock,
  anAttempt,
  aNamespace,
  lockedBy,
  lockedFor,
} from '../../../test/support/builders/namespace.ts';
import {
  annotated,
  atVersion,
  labelled,
  named,
  NOW,
  seconds,
  withUid,
} from '../../../test/support/builders/object.ts';
import { aQuota, hard, fencedBy, used } from '../../../test/support/builders/quota.ts';
import { aVmmrq, giving } from '../../../test/support/builders/snapshot.ts';
import {
  afterFailure,
  afterUncounted,
  afterSuccess,
  fingerprintOf,
  backoffOf,
  isFree,
  lastAttemptOf,
  LOCK_BUDGET_MS,
  MAX_ACQUIRED_SECONDS,
  REPAIR_MS,
  sizesOf,
  WINDOW_MS,
  withoutOldRecords,
  type NextAttempt,
  type Attempt,
  type AttemptScope,
} from './attempt.ts';
import { referenceOf } from '../migration.ts';
import { ANNOTATION, LABEL, LOCK_OUTCOME, REASON } from '../names.ts';

describe('lastAttemptOf', () => {
  test('what unlock wrote', () => {
    expect(lastAttemptOf(aNamespace(afterAttempt(anAttempt())), NOW)).toEqual(anAttempt());
  });

  test.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['another shape', '{"failures":1}'],
    ['fewer failures than none', JSON.stringify(anAttempt({ failures: -1 }))],
    ['no time', JSON.stringify(anAttempt({ at: 'never' }))],
  ])('%s counts as none', (_, text) => {
    expect(lastAttemptOf(aNamespace(annotated(ANNOTATION.lastAttempt, text)), NOW)).toBeUndefined();
  });

  test('none', () => {
    expect(lastAttemptOf(aNamespace(), NOW)).toBeUndefined();
  });
});

const next = (after: number, fingerprint = 'something', lockSeconds = 30): NextAttempt => ({
  now: NOW + after * 1_000,
  lockSeconds,
  fingerprint,
  sized: 'as before',
});

describe('backoffOf', () => {
  test('no attempt, no wait', () => {
    expect(backoffOf(undefined, next(0))).toBeUndefined();
  });

  test.each([
    [1, 30],
    [2, 60],
    [3, 120],
    [4, 240],
    [5, 480],
    [6, 600],
    [7, 600],
    [1_100, 600],
  ])('after %i failures the next one waits %i s, to the millisecond', (failures, wait) => {
    const last = anAttempt({ at: seconds(0), failures, locked: [] });
    expect(backoffOf(last, next(wait - 0.001))).toMatchObject({
      reason: REASON.backOff,
      until: NOW + wait * 1_000,
    });
    expect(backoffOf(last, next(wait))).toBeUndefined();
  });

  test('something changed: no back-off', () => {
    const last = anAttempt({ at: seconds(0), failures: 5 });
    expect(backoffOf(last, next(1, 'something'))).toMatchObject({ reason: REASON.backOff });
    expect(backoffOf(last, next(1, 'something else'))).toBeUndefined();
  });

  test.each([
    ['as it was sized', { failures: 1, sized: 'as before' }, true],
    ['larger than the raise that failed was made for: tried at once', { failures: 1, sized: 'less' }, false],
    ['and that failed too', { failures: 2, sized: 'less' }, true],
    ['a record that does not say', { failures: 1 }, true],
  ])('the pod is %s', (_, last, waits) => {
    const backoff = backoffOf(anAttempt({ at: seconds(0), locked: [], ...last }), next(1));
    expect(backoff?.reason).toBe(waits ? REASON.backOff : undefined);
  });

  test('the lock budget holds whatever the size is', () => {
    const last = anAttempt({ at: seconds(0), locked: lockedFor(LOCK_BUDGET_MS), sized: 'less' });
    expect(backoffOf(last, next(1))).toMatchObject({ reason: REASON.lockBudgetSpent });
  });

  test.each([
    ['and what to do', REASON.raisedButNotAdmitted, " (fix what the VMI's Events name)"],
    ['for which there is nothing to do', REASON.ended, ''],
    ['of another version', 'Later', ''],
  ])('a spent budget names the reason of the last failure, %s', (_, reason, advice) => {
    const last = anAttempt({ at: seconds(0), locked: lockedFor(45_123), reason });
    expect(backoffOf(last, next(1))?.message).toBe(
      `failed attempts locked the namespace for 45.1 s in ten minutes, the last one with ${reason}${advice}; the next attempt waits`,
    );
  });

  test('after a success: no back-off', () => {
    expect(backoffOf(anAttempt({ failures: 0, locked: [] }), next(0))).toBeUndefined();
  });

  test.each([
    ['as much as leaves enough for one more lock and its repair', LOCK_BUDGET_MS - 30_000 - REPAIR_MS, false],
    ['a millisecond more', LOCK_BUDGET_MS - 30_000 - REPAIR_MS + 1, true],
    ['all of it', LOCK_BUDGET_MS, true],
  ])('locked by failures: %s', (_, lockedMs, isSpent) => {
    const last = anAttempt({ at: seconds(0), failures: 0, locked: lockedFor(lockedMs, seconds(0)) });
    const backoff = backoffOf(last, next(1, 'whatever changed'));
    const spent = { reason: REASON.lockBudgetSpent, until: NOW + WINDOW_MS };
    if (isSpent) expect(backoff).toMatchObject(spent);
    else expect(backoff).toBeUndefined();
  });

  test.each<[string, number[], number]>([
    ['one that spent it all', [LOCK_BUDGET_MS], 0],
    ['the first of three, where the others leave enough', [20_000, 10_000, 5_000], -20],
    ['the second of three, where only the last leaves enough', [20_000, 10_000, 6_000], -10],
    ['of several, the last', [1_000, 1_000, 16_000], 0],
  ])('until the next lock fits in the last ten minutes, it waits for %s', (_, locks, last) => {
    const locked = locks.map((ms, index) => ({ until: seconds(10 * (index + 1 - locks.length)), ms }));
    const attempt = anAttempt({ at: seconds(0), failures: 0, locked });
    const fits = WINDOW_MS / 1_000 + last;
    expect(backoffOf(attempt, next(fits - 0.001))).toMatchObject({ until: NOW + fits * 1_000 });
    expect(backoffOf(attempt, next(fits))).toBeUndefined();
  });

  test('a lock that ended after its attempt, which no clock can show, ended with it', () => {
    const last = anAttempt({
      at: seconds(0),
      failures: 0,
      locked: lockedFor(LOCK_BUDGET_MS, seconds(9_000)),
    });
    expect(backoffOf(last, next(1))).toMatchObject({ until: NOW + WINDOW_MS });
  });

  test('the first lock may take its full configured time', () => {
    expect(backoffOf(anAttempt({ failures: 0, locked: [] }), next(0, '', 60))).toBeUndefined();
  });
});

describe('afterFailure', () => {
  const ended = { now: NOW, lockedMs: 5_000, reason: REASON.raisedButNotAdmitted, fingerprint: 'f' };

  test.each<[string, Attempt | undefined, Partial<Attempt>]>([
    ['the first', undefined, { failures: 1, locked: lockedFor(5_000, seconds(0)) }],
    [
      'one more in the same window',
      anAttempt({ at: seconds(-60), failures: 2, locked: lockedFor(9_000, seconds(-60)) }),
      { failures: 3, locked: [...lockedFor(9_000, seconds(-60)), ...lockedFor(5_000, seconds(0))] },
    ],
    [
      'after a window without a lock: failures go on',
      anAttempt({ failures: 2, locked: lockedFor(9_000, seconds(-WINDOW_MS / 1_000)) }),
      { failures: 3, locked: lockedFor(5_000, seconds(0)) },
    ],
  ])('%s', (_, last, want) => {
    expect(afterFailure(last, ended)).toEqual({
      at: seconds(0),
      reason: 'RaisedButNotAdmitted',
      outcome: 'failed',
      of: 'f',
      ...want,
    });
  });
});

test.each<[string, number, string | undefined]>([
  ['of a clock that is ahead: counts as now', 5, seconds(0)],
  ['as far ahead as the window: counts as now', WINDOW_MS / 1_000, seconds(0)],
  ['further ahead: no clock of this project, it counts as none', WINDOW_MS / 1_000 + 1, undefined],
])('a last attempt in the future, %s', (_, next, want) => {
  const namespace = aNamespace(afterAttempt(anAttempt({ at: seconds(next) })));
  expect(lastAttemptOf(namespace, NOW)?.at).toBe(want);
});

test('a failure of our own is retried after five seconds, whatever it was about', () => {
  const ended = { now: NOW, lockedMs: 100, reason: REASON.noProof, fingerprint: 'f' };
  const last = afterUncounted(undefined, { ...ended, outcome: LOCK_OUTCOME.ourFault });
  const next = { lockSeconds: 15, fingerprint: 'another', sized: 's' };
  expect(backoffOf(last, { ...next, now: NOW + 4_999 })?.reason).toBe(REASON.backOff);
  expect(backoffOf(last, { ...next, now: NOW + 5_000 })).toBeUndefined();
});

test('a free lock is followed at once, and only one of ten minutes is free', () => {
  const next = { now: NOW, lockSeconds: 30, fingerprint: 'f', sized: 's' };
  const ended = { now: NOW, lockedMs: 0, reason: REASON.noProof, fingerprint: 'f' };
  const free = afterUncounted(undefined, { ...ended, outcome: LOCK_OUTCOME.ourFault });
  expect(backoffOf(free, next)).toBeUndefined();
  const second = afterUncounted(free, { ...ended, lockedMs: 1_000, outcome: LOCK_OUTCOME.ourFault });
  expect(backoffOf(second, next)?.until).toBe(NOW + 5_000);
  expect(isFree(undefined, ended)).toBe(true);
  expect(isFree(anAttempt(), ended)).toBe(true);
  expect(isFree(free, { ...ended, now: NOW + WINDOW_MS - 1 })).toBe(false);
  expect(isFree(free, { ...ended, now: NOW + WINDOW_MS })).toBe(true);
  expect(isFree(undefined, { ...ended, reason: REASON.raisedButNotAdmitted })).toBe(false);
});

describe('after a lock that may have lacked KubeVirt', () => {
  const lacked = anAttempt({ failures: 0, outcome: 'notTried', locked: lockedFor(0), at: seconds(0) });
  const next = { now: NOW + 1_000, lockSeconds: 15, fingerprint: 'f', sized: 's' };

  test.each<[string, Attempt, readonly [renewed: number | undefined, now: number], boolean]>([
    ['virt-controller is silent', lacked, [NOW - 5_001, next.now], true],
    ['our fault, and it is silent', { ...lacked, outcome: 'ourFault' }, [NOW - 5_001, next.now], true],
    ['it has just renewed its Lease', lacked, [NOW - 5_000, next.now], false],
    ['its Lease is not known', lacked, [undefined, next.now], false],
    ['it is silent for ten minutes: perhaps its clock is wrong', lacked, [NOW, NOW + WINDOW_MS], false],
    ['a failure of the migration itself', { ...lacked, outcome: 'failed' }, [NOW - 5_001, next.now], false],
  ])('%s', (_, last, [renewed, now], waits) => {
    const backoff = backoffOf(last, { ...next, now, renewed });
    expect(backoff?.reason).toBe(waits ? REASON.kubevirtAway : undefined);
  });
});

describe('afterUncounted', () => {
  const ended = {
    ...{ now: NOW, lockedMs: 2_000, reason: REASON.charged, fingerprint: 'f', sized: 's' },
    outcome: LOCK_OUTCOME.charged,
  };
  const next = { now: NOW, lockSeconds: 30, fingerprint: 'f', sized: 's' };

  test.each<[string, Attempt | undefined, Partial<Attempt>]>([
    ['the first attempt of all', undefined, { failures: 0, locked: lockedFor(2_000, seconds(0)) }],
    [
      'failures are no more and no less',
      anAttempt({ failures: 3 }),
      { failures: 3, locked: [...lockedFor(4_000), ...lockedFor(2_000, seconds(0))] },
    ],
  ])('%s: it may try again at once', (_, last, want) => {
    const record = afterUncounted(last, ended);
    expect(record).toEqual({
      at: seconds(0),
      reason: REASON.charged,
      outcome: 'charged',
      of: '',
      ...want,
    });
    expect(backoffOf(record, next)).toBeUndefined();
  });

  test('its locked time counts against the budget', () => {
    const record = afterUncounted(anAttempt({ locked: lockedFor(14_000) }), ended);
    expect(backoffOf(record, next)?.reason).toBe(REASON.lockBudgetSpent);
  });
});

describe('afterSuccess', () => {
  test.each<[string, Attempt | undefined, Attempt | undefined]>([
    ['nothing failed before: no record', undefined, undefined],
    [
      'failures end, what they locked still counts',
      anAttempt({ failures: 3 }),
      anAttempt({ failures: 0, outcome: 'admitted' }),
    ],
    [
      'failures of long ago: no record',
      anAttempt({ locked: lockedFor(4_000, seconds(-WINDOW_MS / 1_000)) }),
      undefined,
    ],
  ])('%s', (_, last, want) => {
    expect(afterSuccess(last, NOW)).toEqual(want);
  });
});

interface Trial {
  readonly pause: number;
  readonly lockedMs: number;
  readonly comesTo: 'success' | 'failure' | 'uncounted' | 'away';
  readonly of: string;
  readonly sized: string;
}

test('I7: whatever happens, failed attempts lock a namespace for at most 10 % of any 10 minutes, and one is free (F33)', () => {
  /** Seconds since the last unlock, how the attempt goes, for how long it locks, and whether something changed. */
  const attemptOf = (lockSeconds: number): fc.Arbitrary<Trial> =>
    fc.record({
      pause: fc.integer({ min: 0, max: 900 }),
      lockedMs: fc.integer({ min: 1, max: lockSeconds * 1_000 + REPAIR_MS }),
      comesTo: fc.constantFrom('success', 'failure', 'uncounted', 'away'),
      of: fc.constantFrom('one', 'other'),
      sized: fc.constantFrom('less', 'more'),
    });
  const runs = fc.constantFrom(5, 30, MAX_ACQUIRED_SECONDS).chain((lockSeconds) =>
    fc.record({
      lockSeconds: fc.constant(lockSeconds),
      attempts: fc.array(attemptOf(lockSeconds), { maxLength: 60 }),
    }),
  );
  fc.assert(
    fc.property(runs, ({ lockSeconds, attempts }) => {
      let now = NOW;
      let last: Attempt | undefined;
      const locked: { from: number; to: number }[] = [];
      const free: typeof locked = [];
      for (const { pause, lockedMs, comesTo, of, sized } of attempts) {
        now += pause * 1_000;
        const backoff = backoffOf(last, { now, lockSeconds, fingerprint: of, sized });
        if (backoff !== undefined) {
          // It comes back in the very millisecond in which it may.
          now = backoff.until;
          if (backoffOf(last, { now, lockSeconds, fingerprint: of, sized }) !== undefined) continue;
        }
        const from = now;
        now += lockedMs;
        const reason = comesTo === 'away' ? REASON.lockExpired : REASON.ended;
        const isSpared = isFree(last, { now, reason });
        const counts = isSpared ? free : locked;
        if (comesTo !== 'success') counts.push({ from, to: now });
        const ended = { now, lockedMs: isSpared ? 0 : lockedMs, reason, fingerprint: of, sized };
        const failedAttempt = (): Attempt =>
          comesTo === 'failure'
            ? afterFailure(last, ended)
            : afterUncounted(last, { ...ended, outcome: LOCK_OUTCOME.ourFault });
        last = comesTo === 'success' ? afterSuccess(last, now) : failedAttempt();
      }
      for (const { to: end } of locked) {
        const overlap = locked.map(({ from, to }) =>
          Math.max(0, Math.min(to, end) - Math.max(from, end - WINDOW_MS)),
        );
        expect(overlap.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(LOCK_BUDGET_MS);
      }
      const gaps = free.slice(1).map(({ to }, index) => to - (free[index]?.to ?? 0));
      expect(Math.min(Infinity, ...gaps)).toBeGreaterThanOrEqual(WINDOW_MS);
    }),
    { numRuns: 500 },
  );
});

describe('fingerprintOf', () => {
  const scope: AttemptScope = {
    migrations: [referenceOf(aMigration()), referenceOf(aMigration(named('mig1')))],
    quotas: [aQuota(), aQuota(named('other'), hard({ cpu: '1', memory: '2Gi' }))],
    vmmrqs: [aVmmrq(), aVmmrq(named('more'), giving({ cpu: '1', memory: '1Gi' }))],
  };
  const with_ = (different: Partial<AttemptScope>): string => fingerprintOf({ ...scope, ...different });

  test('is the same in any order, of objects and of keys', () => {
    const reversed = {
      migrations: scope.migrations.toReversed(),
      quotas: [aQuota(named('other'), hard({ memory: '2Gi', cpu: '1' })), aQuota()],
      vmmrqs: [aVmmrq(named('more'), giving({ memory: '1Gi', cpu: '1' })), aVmmrq()],
    };
    expect(fingerprintOf(reversed)).toBe(fingerprintOf(scope));
  });

  test('does not change with our own writes, or with `used`', () => {
    const touched = [aQuota(atVersion('999'), fencedBy('token-1'), used({ pods: '9' })), scope.quotas[1]];
    expect(with_({ quotas: touched.flatMap((quota) => quota ?? []) })).toBe(fingerprintOf(scope));
  });

  test.each<[string, Partial<AttemptScope>]>([
    ['a migration is gone', { migrations: scope.migrations.slice(1) }],
    ['a migration is another one of the same name', { migrations: [{ name: 'mig0', uid: 'new' }] }],
    ['a quota’s spec changed', { quotas: [aQuota(hard({ cpu: '2' })), ...scope.quotas.slice(1)] }],
    ['a quota was recreated', { quotas: [aQuota(withUid('new')), ...scope.quotas.slice(1)] }],
    ['a quota is gone', { quotas: scope.quotas.slice(1) }],
    ['a VMMRQ gives more', { vmmrqs: [aVmmrq(giving({ cpu: '9' })), ...scope.vmmrqs.slice(1)] }],
    ['a VMMRQ is gone', { vmmrqs: [] }],
  ])('%s: it changes', (_, different) => {
    expect(with_(different)).not.toBe(fingerprintOf(scope));
  });

  test('a VMMRQ without amounts, as the incumbent may have stored it', () => {
    expect(with_({ vmmrqs: [aVmmrq((vmmrq) => ({ ...vmmrq, spec: {} }))] })).toMatch(/^[0-9a-f]{16}$/);
  });
});

test('sizesOf: the need of each quota, in any order', () => {
  const one = { name: 'one', uid: '1', need: { pods: '1', 'requests.cpu': '1005m' } };
  const other = { name: 'other', uid: '2', need: { 'requests.memory': '2Gi' } };
  const turned = { ...one, need: { 'requests.cpu': '1005m', pods: '1' } };
  expect(sizesOf([other, turned])).toBe(sizesOf([one, other]));
  const others = [
    [one],
    [one, { ...other, need: one.need }],
    [
      { ...one, uid: '2' },
      { ...other, uid: '1' },
    ],
  ];
  for (const each of others) expect(sizesOf(each)).not.toBe(sizesOf([one, other]));
});

describe('withoutOldRecords', () => {
  const note = annotated('example.com/note', 'x');
  const noted = aNamespace(note);

  test.each([
    ['a success before it, after a window and the first back-off', { failures: 0 }, 615],
    ['one failure: after a window and its back-off', { failures: 1 }, 630],
    ['many: after twice a window', { failures: 9 }, 1_200],
  ])('%s the last attempt is removed, and not a millisecond before', (_, different, after) => {
    const last = anAttempt({ at: seconds(0), locked: lockedFor(4_000, seconds(0)), ...different });
    const namespace = aNamespace(note, afterAttempt(last));
    expect(withoutOldRecords(namespace, NOW + after * 1_000 - 1)).toBeUndefined();
    expect(withoutOldRecords(namespace, NOW + after * 1_000)).toEqual(noted);
    expect(backoffOf(last, next(after))).toBeUndefined();
  });

  test.each([
    ['that cannot be read', annotated(ANNOTATION.lastAttempt, '{')],
    ['more than a window in the future', afterAttempt(anAttempt({ at: seconds(601) }))],
  ])('a last attempt %s counts as none, and is removed', (_, change) => {
    expect(withoutOldRecords(aNamespace(note, change), NOW)).toEqual(noted);
  });

  test('what a removed lock has left is removed, and a last attempt that counts stays', () => {
    const left = [ANNOTATION.token, ANNOTATION.migrations, ANNOTATION.breakGlass].map((key) =>
      annotated(key, 'x'),
    );
    const counting = afterAttempt(anAttempt());
    expect(withoutOldRecords(aNamespace(note, counting, ...left), NOW)).toEqual(aNamespace(note, counting));
  });

  test.each([
    ['a lock', lockedBy(aLock())],
    ['an unreadable lock', labelled(LABEL.locked)],
    ['no record', note],
  ])('a namespace with %s is left alone', (_, change) => {
    const attempted = change === note ? note : annotated(ANNOTATION.lastAttempt, '{');
    expect(withoutOldRecords(aNamespace(attempted, change), NOW)).toBeUndefined();
  });
});
