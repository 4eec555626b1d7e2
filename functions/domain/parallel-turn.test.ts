import { describe, expect, test } from '@jest/globals';
import { aMigration, inPhase } from '../../test/builders/kubevirt.ts';
import { NOW, seconds, type Change } from '../../test/builders/object.ts';
import { aVmmrq } from '../../test/builders/snapshot.ts';
import { REASON } from './names.ts';
import type { Migration, Vmmrq } from './objects.ts';
import { endedLately, waitingForAPlace } from './parallel-turn.ts';

const entered =
  (phase: string, after: number): Change<Migration> =>
  (migration) => ({
    ...migration,
    status: {
      ...migration.status,
      phase,
      phaseTransitionTimestamps: [{ phase, phaseTransitionTimestamp: seconds(after) }],
    },
  });

test.each<[string, Migration, boolean]>([
  ['just succeeded', aMigration(entered('Succeeded', -1)), true],
  ['just failed', aMigration(entered('Failed', -1)), true],
  ['over for long', aMigration(entered('Succeeded', -11)), false],
  ['just begun', aMigration(entered('Running', -1)), false],
  ['over, nobody knows since when', aMigration(inPhase('Succeeded')), false],
])('%s', (_, migration, want) => {
  expect(endedLately(migration, NOW)).toBe(want);
});

/** A VMMRQ of this namespace that says since when, seconds after NOW, something waits, and for what. */
function saying(namespace: string, after: number, reason: string = REASON.parallelLimit): Vmmrq {
  const lastTransitionTime = seconds(after);
  const conditions = [{ type: 'Blocking', status: 'True' as const, reason, lastTransitionTime }];
  const vmmrq = aVmmrq();
  return { ...vmmrq, metadata: { ...vmmrq.metadata, namespace }, status: { conditions } };
}

describe('who is told of a free place', () => {
  test.each<[string, Vmmrq[], string[]]>([
    ['nobody waits', [], []],
    ['somebody waits for something else', [saying('a', -9, REASON.notEnough), aVmmrq()], []],
    ['those that have waited longest', [saying('c', -1), saying('a', -9), saying('b', -5)], ['a', 'b']],
    ['a namespace once', [saying('a', -9), saying('a', -9), saying('b', -5)], ['a', 'b']],
    ['not the namespace itself: it is looked at anyway', [saying('own', -9), saying('b', -5)], ['b']],
  ])('%s', (_, vmmrqs, want) => {
    expect(waitingForAPlace(vmmrqs, 'own')).toEqual(want);
  });
});
