import { describe, expect, test } from '@jest/globals';
import { aMigration, inPhase } from '../../../test/support/builders/kubevirt.ts';
import { aLock, anExpiredLock, aNamespace, lockedBy } from '../../../test/support/builders/namespace.ts';
import { beingDeleted, NOW, seconds, type Change } from '../../../test/support/builders/object.ts';
import { aVmmrq } from '../../../test/support/builders/snapshot.ts';
import type { Lock, Places } from '../lock.ts';
import { REASON } from '../names.ts';
import type { Migration, Vmmrq } from '../objects.ts';
import { awaitedBy, endedLately, givesWay, waitingForAPlace } from './parallel-turn.ts';

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

describe('whom others are locked for', () => {
  const lackingAttachment = [
    { name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0', lacks: 'attachment' as const },
  ];

  test.each<[string, { lock?: Partial<Lock>; migration?: Migration; counts: boolean }]>([
    ['waits for its pod', { counts: true }],
    ['is under way, and counted as that', { migration: aMigration(inPhase('Scheduling')), counts: false }],
    ['is over', { migration: aMigration(inPhase('Succeeded')), counts: false }],
    ['is cancelled', { migration: aMigration(beingDeleted()), counts: false }],
    ['nobody is locked for', { lock: { migrations: [] }, counts: false }],
    [
      'has its place, and waits for an attachment pod',
      { lock: { migrations: lackingAttachment }, counts: false },
    ],
  ])('%s', (_, { lock = {}, migration = aMigration(), counts }) => {
    expect(awaitedBy([aLock(lock)], [migration])).toEqual(counts ? [migration] : []);
  });
});

describe('givesWay', () => {
  const left = (different: Partial<Places>): Places => ({
    counted: [],
    inCluster: 9,
    onNode: {},
    nodes: {},
    ...different,
  });
  const mine = (places: Places | undefined, more: Partial<Lock> = {}): Lock =>
    aLock({ token: 'token-5', ...(places === undefined ? {} : { places }), ...more });
  const other = (token: string, more: Partial<Lock> = {}): Lock =>
    aLock({ token, migrations: [{ name: 'mig', uid: `uid-for-${token}`, vmi: 'uid-of-vm9' }], ...more });
  const leaving = (token: string, node: string): Lock =>
    other(token, { places: left({ nodes: { [`uid-for-${token}`]: node } }) });
  const fromNode1 = left({ onNode: { node1: 1 }, nodes: { 'uid-of-mig0': 'node1' } });
  const two = [...aLock().migrations, { name: 'mig1', uid: 'uid-of-mig1', vmi: 'uid-of-vm1' }];

  test.each<[string, [Lock, ...Lock[]], string | undefined]>([
    ['there was nobody else', [mine(undefined), other('token-1')], undefined],
    ['nobody else is locked', [mine(left({ inCluster: 1 }))], undefined],
    ['there is room for both', [mine(left({ inCluster: 2 })), other('token-1')], undefined],
    [
      'one place, and another before it',
      [mine(left({ inCluster: 1 })), other('token-1')],
      '1 more in the cluster',
    ],
    ['one place, and the other after it', [mine(left({ inCluster: 1 })), other('token-9')], undefined],
    [
      'taken a second later, whatever the token',
      [mine(left({ inCluster: 1 })), other('token-1', { acquiredAt: seconds(-4) })],
      undefined,
    ],
    [
      'taken a second earlier, whatever the token',
      [mine(left({ inCluster: 1 })), other('token-9', { acquiredAt: seconds(-6) })],
      'others go first',
    ],
    [
      'it was counted already',
      [mine(left({ inCluster: 1, counted: ['token-1'] })), other('token-1')],
      undefined,
    ],
    [
      'the other lock is past its time',
      [mine(left({ inCluster: 1 })), other('token-1', { acquiredAt: seconds(-31), expiresAt: seconds(-1) })],
      undefined,
    ],
    [
      'the other has its place, and waits for an attachment pod',
      [
        mine(left({ inCluster: 1 })),
        other('token-1', { migrations: [{ name: 'mig', uid: 'u', vmi: 'v', lacks: 'attachment' }] }),
      ],
      undefined,
    ],
    ['two of its own, and one place', [mine(left({ inCluster: 1 }), { migrations: two })], '2 migrations'],
    [
      'one place on the node, and another leaves it before',
      [mine(fromNode1), leaving('token-1', 'node1')],
      'node1',
    ],
    ['the other leaves another node', [mine(fromNode1), leaving('token-1', 'node2')], undefined],
    ['nobody knows which node the other leaves', [mine(fromNode1), other('token-1')], undefined],
  ])('%s', (_, [lock, ...others], want) => {
    const said = givesWay(
      lock,
      others.map((each) => aNamespace(lockedBy(each))),
      NOW,
    );
    if (want === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(want);
  });

  test('of any number that were taken at once as many go on as there are places, whoever looks', () => {
    const locks = ['a', 'b', 'c', 'd', 'e'].map((token) => other(token, { places: left({ inCluster: 2 }) }));
    const namespaces = locks.map((lock) => aNamespace(lockedBy(lock)));
    const goOn = locks.filter(
      (lock, index) => givesWay(lock, namespaces.toSpliced(index, 1), NOW) === undefined,
    );
    expect(goOn.map(({ token }) => token)).toEqual(['a', 'b']);
  });

  test('a lock of before says nothing of places, and goes on', () => {
    expect(givesWay(anExpiredLock(), [aNamespace(lockedBy(other('token-1')))], NOW)).toBeUndefined();
  });
});
