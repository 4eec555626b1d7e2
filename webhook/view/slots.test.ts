import { describe, expect, test } from '@jest/globals';
import { aMigration, inPhase, withCondition, withPriority } from '../../test/support/builders/kubevirt.ts';
import { createdAt, inNamespace, named, type Change } from '../../test/support/builders/object.ts';
import type { Migration } from '../../functions/domain/objects.ts';
import { hasOtherWaiters, slotsLeft, namespacesToWake, type ClusterState } from './slots.ts';

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

describe('slots that are left', () => {
  test.each<[string, Partial<ClusterState>, number]>([
    ['nothing migrates: all of them', {}, 5],
    ['a running migration takes one', { migrations: [migrationIn('b', 'm', running)] }, 4],
    ['its own running migrations count too', { migrations: [migrationIn('a', 'm', running)] }, 4],
    ['a migration that waits takes none', { migrations: [migrationIn('b', 'm')] }, 5],
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
      'a locked migration that runs already is counted once',
      { migrations: [migrationIn('b', 'm', running)], held: [heldFor('b', 'uid-of-m')] },
      4,
    ],
    [
      'never below none',
      {
        migrations: ['1', '2', '3'].map((name) => migrationIn('b', name, running)),
        limits: { cluster: 2, node: 2 },
      },
      0,
    ],
  ])('%s', (_, different, want) => {
    expect(slotsLeft(stateOf(different), 'a').cluster).toBe(want);
  });

  test('each node by itself; a migration whose node is not known counts on none', () => {
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

describe('others wait', () => {
  test.each<[string, Partial<ClusterState>, boolean]>([
    ['no one', {}, false],
    ['a refused migration of another namespace', { migrations: [migrationIn('b', 'm')] }, true],
    ['only its own', { migrations: [migrationIn('a', 'm')], held: [heldFor('a', 'uid-of-m')] }, false],
    ['a migration that no quota refuses', { migrations: [migrationIn('b', 'm', unrefused)] }, false],
    ['another namespace is locked', { held: [heldFor('b')] }, true],
  ])('%s', (_, different, want) => {
    expect(hasOtherWaiters(stateOf(different), 'a')).toBe(want);
  });
});

describe('whose turn it is', () => {
  const old = createdAt(-600);
  const young = createdAt(-60);
  const untried = (): boolean => false;

  test.each<[string, Partial<ClusterState>, string[]]>([
    ['older first', { migrations: [migrationIn('a', 'm', young), migrationIn('b', 'n', old)] }, ['b', 'a']],
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
      'a namespace once, however many of its migrations wait',
      { migrations: [migrationIn('a', 'm'), migrationIn('a', 'n')] },
      ['a'],
    ],
    ['a namespace without a VMMRQ never', { migrations: [migrationIn('elsewhere', 'm')] }, []],
    ['a locked namespace never', { migrations: [migrationIn('a', 'm')], held: [heldFor('a')] }, []],
    ['a migration that no quota refuses never', { migrations: [migrationIn('a', 'm', unrefused)] }, []],
    [
      'as many as slots are free',
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
      'a migration whose node has no slot gives its turn to the next',
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
      'one slot of a node serves one of two',
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
    expect(namespacesToWake(stateOf(different), untried)).toEqual(want);
  });

  test('a namespace that was tried often enough is passed over', () => {
    const migrations = [migrationIn('a', 'm', old), migrationIn('b', 'n', young)];
    expect(namespacesToWake(stateOf({ migrations }), (namespace) => namespace === 'a')).toEqual(['b']);
  });
});
