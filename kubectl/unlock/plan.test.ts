import { describe, expect, test } from '@jest/globals';
import {
  aLock,
  aNamespace,
  anExpiredLock,
  lockedBy,
  lockedUnreadably,
} from '../../test/support/builders/namespace.ts';
import { annotated, atVersion, NOW } from '../../test/support/builders/object.ts';
import { ANNOTATION, LABEL, UNREADABLE_TOKEN } from '../../functions/domain/names.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import { changeOf, describeLock, unlockPatches } from './plan.ts';

const locked = aNamespace(lockedBy(aLock()));
const unreadable = aNamespace(lockedUnreadably());

/** A merge patch, as the API server applies it. */
function patched(namespace: Namespace, patches: readonly object[]): Namespace {
  return patches.reduce<Namespace>((before, patch) => {
    const { annotations = {}, labels = {} } = patch as Record<string, Record<string, string | null>>;
    const merged = (
      own: Record<string, string> = {},
      change: Record<string, string | null>,
    ): Record<string, string> =>
      Object.fromEntries(
        Object.entries({ ...own, ...change }).filter((entry): entry is [string, string] => entry[1] !== null),
      );
    const { metadata } = before;
    return {
      ...before,
      metadata: {
        ...metadata,
        annotations: merged(metadata.annotations, annotations),
        labels: merged(metadata.labels, labels),
      },
    };
  }, namespace);
}

describe('what is shown', () => {
  test('is nothing without a lock', () => {
    expect(describeLock(aNamespace(), NOW)).toBeUndefined();
  });

  test.each<[string, Namespace, string[]]>([
    [
      'a live lock, which ends by itself',
      locked,
      [
        'Token:      token-1',
        'Locked:     for 5s, since 2026-11-21T04:59:55.000Z',
        'Migrations: mig0',
        'Quotas:     quota',
      ],
    ],
    [
      'how long it has left',
      locked,
      ['Until:      2026-11-21T05:00:25.000Z (it ends by itself in 25s: better wait)'],
    ],
    [
      'an expired lock',
      aNamespace(lockedBy(anExpiredLock())),
      ['Until:      2026-11-21T04:59:59.000Z (expired: a running guard removes it within seconds)'],
    ],
    ['an unreadable lock', unreadable, [`Token:      ${UNREADABLE_TOKEN}`]],
  ])('is %s', (_, namespace, lines) => {
    expect(describeLock(namespace, NOW)).toEqual(expect.arrayContaining(lines));
  });
});

describe('the patches', () => {
  test.each<[string, Namespace, number]>([
    ['a lock', locked, 1],
    ['an unreadable lock', unreadable, 1],
    ['a lock whose token is in break-glass already', annotated(ANNOTATION.breakGlass, 'token-1')(locked), 2],
    ['a lock with another’s token in break-glass', annotated(ANNOTATION.breakGlass, 'token-0')(locked), 1],
  ])('remove %s, and leave everything else', (_, namespace, count) => {
    const kept = annotated('example.com/kept', 'yes')(annotated(ANNOTATION.lastAttempt, '{}')(namespace));
    const patches = unlockPatches(kept);
    expect(patches).toHaveLength(count);
    const { annotations, labels } = patched(kept, patches).metadata;
    const token = namespace.metadata.annotations?.[ANNOTATION.token] ?? UNREADABLE_TOKEN;
    expect(annotations).toEqual({
      'example.com/kept': 'yes',
      [ANNOTATION.lastAttempt]: '{}',
      [ANNOTATION.breakGlass]: token,
    });
    expect(labels).not.toHaveProperty(LABEL.locked);
  });
});

test.each<[string, readonly [Namespace, Namespace], string]>([
  ['another label', [locked, atVersion('200')(locked)], 'same'],
  ['no lock', [locked, aNamespace()], 'ended'],
  ['another token', [locked, aNamespace(lockedBy(aLock({ token: 'token-2' })))], 'replaced'],
  [
    'the same lock, ended early',
    [locked, aNamespace(lockedBy(aLock({ ended: { reason: 'x', message: 'y' } })))],
    'same',
  ],
  ['the same unreadable text', [unreadable, atVersion('200')(unreadable)], 'same'],
  ['another unreadable text', [unreadable, aNamespace(lockedUnreadably('['))], 'replaced'],
])('after a conflict: %s', (_, [shown, now], change) => {
  expect(changeOf(shown, now)).toBe(change);
});
