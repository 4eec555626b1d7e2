import { describe, expect, test } from '@jest/globals';
import {
  aMigration,
  aVmi,
  evictedFrom,
  inPhase,
  refusedAt,
  withCondition,
} from '../../test/support/builders/kubevirt.ts';
import { annotated, createdAt, NOW, seconds, type Change } from '../../test/support/builders/object.ts';
import { KUBEVIRT } from '../domain/names.ts';
import type { Migration } from '../domain/objects.ts';
import { bucketsOf } from './buckets.ts';
import type { BucketEntry } from '../domain/progress/progress-object.ts';
import type { Before, VmLeft } from './vm-state.ts';

const RULES = { kind: 'Drain', methods: [], evictionStrategy: 'LiveMigrate', now: NOW } as const;

const before = (startedAt: number, entry?: Partial<BucketEntry>): Before => ({
  startedAt: seconds(startedAt),
  movedAt: undefined,
  entries: new Map(
    entry === undefined ? [] : [['tenant/vm0', { namespace: 'tenant', name: 'vm0', ...entry }]],
  ),
});

const vm0: VmLeft = {
  ...{ namespace: 'tenant', name: 'vm0', isQueued: false, isLocked: false },
  vmi: evictedFrom('node1')(aVmi()),
};

const twoLaunchers: VmLeft = {
  ...vm0,
  vmi: {
    ...aVmi(),
    status: { ...vm0.vmi?.status, activePods: { one: 'node1', other: 'node2' } },
  },
};

const evacuated = (...changes: Change<Migration>[]): VmLeft => ({
  ...vm0,
  migration: aMigration(annotated(KUBEVIRT.evacuation, 'node1'), withCondition(), ...changes),
});

/** A VM whose last migration failed at this second. */
const failed = (vm: VmLeft, second: number): VmLeft => ({
  ...vm,
  vmi: {
    ...aVmi(),
    status: { ...vm.vmi?.status, migrationState: { failed: true, endTimestamp: seconds(second) } },
  },
});

/** "bucket reason blockedBy" */
function said(vm: VmLeft, known: Before): string {
  const { buckets, blockedBy } = bucketsOf([vm], { ...RULES, before: known });
  return [buckets[0]?.name, buckets[0]?.vms[0]?.reason, ...Object.keys(blockedBy)].join(' ');
}

describe('a VM whose target pod found no node', () => {
  const noNode = before(-999, { reason: 'TargetPodNotReady', since: seconds(-400) });

  test.each<[string, VmLeft, string]>([
    ['has no migration for the moment', vm0, 'waiting TargetPodNotReady Capacity'],
    ['has one in back-off', evacuated(), 'waiting TargetPodNotReady Capacity'],
    ['has one without a slot', { ...evacuated(), isQueued: true }, 'waiting TargetPodNotReady Capacity'],
    ['has one that is locked for', { ...evacuated(), isLocked: true }, 'waiting TargetPodNotReady Capacity'],
    ['has a new target pod', evacuated(inPhase('Scheduling')), 'waiting TargetPodNotReady Capacity'],
    ['has a target pod that is ready', evacuated(inPhase('Scheduled')), 'running Running'],
    ['is refused by a quota', evacuated(refusedAt(-10)), 'blocked Unexamined Quota'],
    [
      'is migrated by a user',
      { ...vm0, migration: aMigration(inPhase('Running')) },
      'noMigrationYet OtherMigration',
    ],
  ])('and that %s', (_, vm, want) => {
    expect(said(vm, noNode)).toBe(want);
  });
});

describe('a VM whose migration failed', () => {
  const known = before(-999, { reason: 'MigrationFailed', since: seconds(-360) });

  test.each<[string, VmLeft, Before, string]>([
    ['a moment ago', failed(vm0, -1), before(-999), 'failed MigrationFailed'],
    [
      'a moment ago, with the next one in back-off',
      failed(evacuated(), -1),
      before(-999),
      'waiting MigrationFailed',
    ],
    [
      'a moment ago, and that nothing evicts',
      failed({ ...vm0, vmi: aVmi() }, -1),
      before(-999),
      'waiting NotEvicted NotEvicted',
    ],
    [
      'a minute ago, and left a launcher over',
      failed(twoLaunchers, -60),
      known,
      'waiting LauncherLeftOver Pending',
    ],
    ['before the drain began', failed(vm0, -1_000), before(-359), 'noMigrationYet NoMigration'],
    [
      'longer ago than KubeVirt’s back-off',
      failed(vm0, -360),
      before(-999),
      'failed MigrationFailed MigrationFailed',
    ],
    [
      'again, counts from the first time',
      failed(evacuated(), -1),
      known,
      'failed MigrationFailed MigrationFailed',
    ],
    [
      'and runs again for minutes',
      evacuated(inPhase('Running')),
      known,
      'failed MigrationFailed MigrationFailed',
    ],
    [
      'and runs again',
      evacuated(inPhase('Running')),
      before(-999, { reason: 'MigrationFailed', since: seconds(-359) }),
      'running MigrationFailed',
    ],
    [
      'and that finds no node now',
      evacuated(inPhase('Scheduling'), createdAt(-60)),
      known,
      'waiting TargetPodNotReady Capacity',
    ],
  ])('%s', (...[, vm, own, want]) => {
    expect(said(vm, own)).toBe(want);
  });
});
