import { expect, test } from '@jest/globals';
import { aMigration, aVmi, inPhase, withCondition } from '../../../test/support/builders/kubevirt.ts';
import { annotated, NOW, seconds, type Change } from '../../../test/support/builders/object.ts';
import { KUBEVIRT } from '../names.ts';
import type { Migration } from '../objects.ts';
import { bucketsOf } from './buckets.ts';
import type { VmLeft } from './vm-state.ts';

const RULES = { kind: 'Drain', methods: [], evictionStrategy: 'LiveMigrate', now: NOW } as const;

const createdAt =
  (second: number): Change<Migration> =>
  (migration) => ({
    ...migration,
    metadata: { ...migration.metadata, creationTimestamp: seconds(second) },
  });

const evacuated = (name: string, isQueued: boolean, ...changes: Change<Migration>[]): VmLeft => ({
  namespace: 'tenant',
  name,
  vmi: aVmi(name),
  migration: aMigration(annotated(KUBEVIRT.evacuation, 'node1'), ...changes),
  isQueued,
  isLocked: false,
});

test('names first those whose target finds no node, although all wait as long for a slot', () => {
  const late = createdAt(-120);
  const vms = [
    evacuated('a-waits', true, late),
    evacuated('b-finds-no-node', false, inPhase('Scheduling'), createdAt(-90)),
    evacuated('c-is-new', true, createdAt(-10)),
  ];
  const { buckets, blockedBy } = bucketsOf(vms, RULES);
  expect(buckets.map(({ name, vms: named }) => [name, named.map((vm) => vm.name)])).toEqual([
    ['waiting', ['b-finds-no-node', 'a-waits', 'c-is-new']],
  ]);
  expect(blockedBy).toEqual({ Capacity: 1, Limit: 1 });
});

test('what waits in turn is not blocked while a migration of this drain runs', () => {
  const pending = [
    evacuated('a-waits', true, createdAt(-999), withCondition()),
    evacuated('b-is-refused', false, createdAt(-999), withCondition()),
  ];
  expect(bucketsOf(pending, RULES).blockedBy).toEqual({ Limit: 1, Pending: 1 });
  const runs = evacuated('c-runs', false, inPhase('Running'));
  expect(bucketsOf([...pending, runs], RULES).blockedBy).toEqual({});
});
