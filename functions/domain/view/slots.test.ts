import { describe, expect, test } from '@jest/globals';
import {
  aMigration,
  inPhase,
  refusedAt,
  withCondition,
  withPriority,
} from '../../../test/support/builders/kubevirt.ts';
import { createdAt, inNamespace, named, NOW, type Change } from '../../../test/support/builders/object.ts';
import type { Migration } from '../objects.ts';
import {
  hasOtherWaiters,
  isQueued,
  leavesWaiters,
  migrationsToNotify,
  slotsLeft,
  type ClusterState,
} from './slots.ts';

const migrationIn = (namespace: string, name: string, ...changes: Change<Migration>[]): Migration =>
  aMigration(named(name), inNamespace(namespace), ...changes);
const running = inPhase('Running');
const unrefused = withCondition();

const stateOf = (different: Partial<ClusterState>): ClusterState => ({
  migrations: [],
  held: [],
  served: new Set(['a', 'b', 'c', 'd']),
  limits: { cluster: 5, node: 2 },
  nodes: new Map(),
  ...different,
});

const heldFor = (namespace: string, ...launchers: string[]): ClusterState['held'][number] => ({
  namespace,
  token: `token-of-${namespace}`,
  launchers,
});

describe('slotsLeft', () => {
  test.each<[string, Partial<ClusterState>, number]>([
    ['no migration: all are free', {}, 5],
    ['a running migration takes one', { migrations: [migrationIn('b', 'm', running)] }, 4],
    [
      'a running migration of the namespace takes one too',
      { migrations: [migrationIn('a', 'm', running)] },
      4,
    ],
    ['a waiting migration takes none', { migrations: [migrationIn('b', 'm')] }, 5],
    [
      'a lock of another namespace takes one for each of its launchers',
      {
        migrations: [migrationIn('b', 'm'), migrationIn('b', 'n')],
        held: [heldFor('b', 'uid-of-m', 'uid-of-n')],
      },
      3,
    ],
    ['its own lock takes none', { migrations: [migrationIn('a', 'm')], held: [heldFor('a', 'uid-of-m')] }, 5],
    [
      'a locked migration that already runs takes one',
      { migrations: [migrationIn('b', 'm', running)], held: [heldFor('b', 'uid-of-m')] },
      4,
    ],
    [
      'the result is never negative',
      {
        migrations: ['1', '2', '3'].map((name) => migrationIn('b', name, running)),
        limits: { cluster: 2, node: 2 },
      },
      0,
    ],
  ])('%s', (_, different, want) => {
    expect(slotsLeft(stateOf(different), 'a').cluster).toBe(want);
  });

  test('counts each node separately, and a migration without a known node on none', () => {
    const migrations = ['1', '2', '3', '4'].map((name) => migrationIn('b', name, running));
    const nodes = new Map([
      ['uid-of-1', 'node1'],
      ['uid-of-2', 'node1'],
      ['uid-of-3', 'node2'],
      ['uid-of-4', ''],
    ]);
    const left = slotsLeft(stateOf({ migrations, nodes }), 'a');
    expect(left).toEqual({ cluster: 1, node: 2, nodes: { node1: 0, node2: 1 } });
  });
});

describe('isQueued', () => {
  const waiting = migrationIn('a', 'm');
  const onNode1 = new Map([
    ['uid-of-m', 'node1'],
    ['uid-of-o', 'node1'],
  ]);
  const others = [migrationIn('b', 'o', running), waiting];
  test.each<[string, Partial<ClusterState>, boolean]>([
    ['a slot is left', { migrations: others }, false],
    ['the cluster has no slot left', { migrations: others, limits: { cluster: 1, node: 2 } }, true],
    [
      'its node has no slot left',
      { migrations: others, limits: { cluster: 5, node: 1 }, nodes: onNode1 },
      true,
    ],
    ['its node is not known', { migrations: others, limits: { cluster: 5, node: 1 } }, false],
    [
      'another node has no slot left',
      {
        migrations: others,
        limits: { cluster: 5, node: 1 },
        nodes: new Map([...onNode1, ['uid-of-m', 'node2']]),
      },
      false,
    ],
    [
      'its own namespace holds the last slot by its lock',
      { migrations: [waiting], held: [heldFor('a', 'uid-of-m')], limits: { cluster: 1, node: 1 } },
      false,
    ],
  ])('%s', (_, different, want) => {
    const state = stateOf(different);
    expect(isQueued(state, slotsLeft(state, 'a'), waiting)).toBe(want);
  });
});

describe('leavesWaiters', () => {
  const lock = { ...heldFor('a', 'uid-of-m'), since: NOW };
  test.each<[string, Migration[], boolean]>([
    ['its migration runs', [migrationIn('a', 'm', running)], false],
    ['its migration still waits', [migrationIn('a', 'm', unrefused)], true],
    ['one that was refused before waits', [migrationIn('a', 'n', refusedAt(-60))], false],
    ['one was refused meanwhile', [migrationIn('a', 'n', refusedAt(1))], true],
    ['one was refused just before, by a clock that is behind', [migrationIn('a', 'n', refusedAt(-1))], true],
    ['one was refused nobody knows when', [migrationIn('a', 'n')], true],
    ['one of another namespace was refused meanwhile', [migrationIn('b', 'n', refusedAt(1))], false],
  ])('%s', (_, migrations, want) => {
    expect(leavesWaiters(lock, migrations)).toBe(want);
  });
});

describe('hasOtherWaiters', () => {
  test.each<[string, Partial<ClusterState>, boolean]>([
    ['no migration', {}, false],
    ['a refused migration of another namespace', { migrations: [migrationIn('b', 'm')] }, true],
    [
      'only migrations of the namespace',
      { migrations: [migrationIn('a', 'm')], held: [heldFor('a', 'uid-of-m')] },
      false,
    ],
    ['a migration that no quota refuses', { migrations: [migrationIn('b', 'm', unrefused)] }, false],
    ['another namespace is locked', { held: [heldFor('b')] }, true],
  ])('%s', (_, different, want) => {
    expect(hasOtherWaiters(stateOf(different), 'a')).toBe(want);
  });
});

describe('migrationsToNotify', () => {
  const old = createdAt(-600);
  const young = createdAt(-60);
  const untried = { isTried: (): boolean => false, fruitless: (): number => 0 };

  test.each<[string, Partial<ClusterState>, string[]]>([
    [
      'the older one first',
      { migrations: [migrationIn('a', 'm', young), migrationIn('b', 'n', old)] },
      ['b', 'a'],
    ],
    [
      'priority before age',
      {
        migrations: [
          migrationIn('a', 'm', young, withPriority('system-critical')),
          migrationIn('b', 'n', old),
        ],
      },
      ['a', 'b'],
    ],
    [
      'a namespace with several waiting migrations only once',
      { migrations: [migrationIn('a', 'm'), migrationIn('a', 'n')] },
      ['a'],
    ],
    ['no namespace without a VMMRQ', { migrations: [migrationIn('elsewhere', 'm')] }, []],
    ['no locked namespace', { migrations: [migrationIn('a', 'm')], held: [heldFor('a')] }, []],
    ['no namespace without a refused migration', { migrations: [migrationIn('a', 'm', unrefused)] }, []],
    [
      'as many as there are free slots',
      {
        migrations: [
          migrationIn('a', 'm', old),
          migrationIn('b', 'n', young),
          migrationIn('c', 'o', running),
        ],
        limits: { cluster: 2, node: 2 },
      },
      ['a'],
    ],
    [
      'the next one where a node has no free slot',
      {
        migrations: [
          migrationIn('a', 'm', old),
          migrationIn('b', 'n', young),
          migrationIn('c', 'o', running),
        ],
        limits: { cluster: 5, node: 1 },
        nodes: new Map([
          ['uid-of-m', 'node1'],
          ['uid-of-o', 'node1'],
          ['uid-of-n', 'node2'],
        ]),
      },
      ['b'],
    ],
    [
      'one of two for the last slot of a node',
      {
        migrations: [migrationIn('a', 'm', old), migrationIn('b', 'n', young)],
        limits: { cluster: 5, node: 1 },
        nodes: new Map([
          ['uid-of-m', 'node1'],
          ['uid-of-n', 'node1'],
        ]),
      },
      ['a'],
    ],
  ])('%s', (_, different, want) => {
    const notified = migrationsToNotify(stateOf(different), untried);
    expect(notified.map(({ namespace }) => namespace)).toEqual(want);
  });

  test('sorts a namespace whose events had no effect after the others, also before priority', () => {
    const migrations = [
      migrationIn('a', 'm', young, withPriority('system-critical')),
      migrationIn('b', 'n', old),
    ];
    const fruitless = (namespace: string): number => (namespace === 'a' ? 1 : 0);
    const notified = migrationsToNotify(stateOf({ migrations }), { ...untried, fruitless });
    expect(notified.map(({ namespace }) => namespace)).toEqual(['b', 'a']);
  });

  test('skips a namespace with enough tries', () => {
    const migrations = [migrationIn('a', 'm', old), migrationIn('b', 'n', young)];
    const isTried = (namespace: string): boolean => namespace === 'a';
    expect(migrationsToNotify(stateOf({ migrations }), { ...untried, isTried })).toEqual([
      { namespace: 'b', name: 'n', uid: 'uid-of-n', vmi: 'vm0' },
    ]);
  });
});
