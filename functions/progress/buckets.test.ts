import { describe, expect, test } from '@jest/globals';
import {
  aMigration,
  aVmi,
  evictedFrom,
  inPhase,
  withCondition,
} from '../../test/support/builders/kubevirt.ts';
import { annotated, beingDeleted, NOW, seconds, type Change } from '../../test/support/builders/object.ts';
import { KUBEVIRT } from '../domain/names.ts';
import type { Migration } from '../domain/objects.ts';
import { bucketsOf } from './buckets.ts';
import type { Before, MaintenanceRules, VmLeft } from './vm-state.ts';

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

/** "bucket reason blockedBy" */
function said(vm: VmLeft, rules: MaintenanceRules): string {
  const { buckets, blockedBy } = bucketsOf([vm], rules);
  return [buckets[0]?.name, buckets[0]?.vms[0]?.reason, ...Object.keys(blockedBy)].join(' ');
}

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
    { namespace: 'tenant', name: 'c-is-not-evicted', vmi: aVmi(), isQueued: false, isLocked: false },
  ];
  const rules = { ...RULES, before: { startedAt: seconds(-999), movedAt: undefined, entries: new Map() } };
  expect(bucketsOf(pending, rules).blockedBy).toEqual({ Limit: 1, Pending: 1, NotEvicted: 1 });
  const runs = evacuated('d-runs', false, inPhase('Running'));
  expect(bucketsOf([...pending, runs], rules).blockedBy).toEqual({});
});

describe('a VM that no controller moves', () => {
  const protectedBy = (evictionStrategy: string): VmLeft => ({
    ...{ namespace: 'tenant', name: 'vm0', isQueued: false, isLocked: false },
    vmi: { ...evictedFrom('node1')(aVmi()), spec: { evictionStrategy } },
  });
  const withTwoLaunchers = (vm: VmLeft): VmLeft => {
    const vmi = vm.vmi ?? aVmi();
    return {
      ...vm,
      vmi: { ...vmi, status: { ...vmi.status, activePods: { one: 'node1', other: 'node2' } } },
    };
  };
  const FIXED_EXTERNAL: VmLeft = {
    ...protectedBy('External'),
    vmi: {
      ...aVmi(),
      spec: { evictionStrategy: 'External' },
      status: { conditions: [{ type: 'LiveMigratable', status: 'False' }] },
    },
  };
  const before = (startedAt: number, movedAt?: number): Before => ({
    startedAt: seconds(startedAt),
    movedAt: movedAt === undefined ? undefined : NOW + movedAt * 1_000,
    entries: new Map(),
  });

  test.each<[string, VmLeft, Before, string]>([
    [
      'for as long as KubeVirt’s longest back-off',
      protectedBy('LiveMigrate'),
      before(-360),
      'waiting NoMigration Pending',
    ],
    ['for less', protectedBy('LiveMigrate'), before(-359), 'noMigrationYet NoMigration'],
    [
      'because nothing evicts it',
      { ...protectedBy('LiveMigrate'), vmi: aVmi() },
      before(-360),
      'waiting NotEvicted NotEvicted',
    ],
    ['while others were moved', protectedBy('LiveMigrate'), before(-999, -359), 'noMigrationYet NoMigration'],
    ['and no other since', protectedBy('LiveMigrate'), before(-999, -360), 'waiting NoMigration Pending'],
    [
      'because one of its launchers is left over',
      withTwoLaunchers(protectedBy('LiveMigrate')),
      before(-360),
      'waiting LauncherLeftOver Pending',
    ],
    [
      'because one of its launchers is left over, while no slot is left',
      { ...withTwoLaunchers(protectedBy('LiveMigrate')), isQueued: true },
      before(-360),
      'waiting LauncherLeftOver Pending',
    ],
    [
      'because an external controller does nothing',
      protectedBy('External'),
      before(-360),
      'waiting ExternalEviction ExternalEviction',
    ],
    [
      'because an external controller does nothing, while no slot is left',
      { ...protectedBy('External'), isQueued: true },
      before(-360),
      'waiting ExternalEviction ExternalEviction',
    ],
    [
      'but that a user migrates',
      { ...protectedBy('LiveMigrate'), migration: aMigration(inPhase('Running')) },
      before(-360),
      'noMigrationYet OtherMigration',
    ],
  ])('%s', (...[, vm, known, want]) => {
    expect(said(vm, { ...RULES, before: known })).toBe(want);
  });

  test.each(['NoMigration', 'NotEvicted', 'Stopping', 'constructor'])(
    'but that has a verdict with the reason %s',
    (reason) => {
      const vm = { ...evacuated('vm0', false), verdict: { reason } };
      expect(said(vm, { ...RULES, before: before(-999) })).toBe(`blocked ${reason} Quota`);
    },
  );

  const stops = (deletedAt: number, terminationGracePeriodSeconds?: number): VmLeft => {
    const vmi = beingDeleted(deletedAt)(aVmi());
    const spec = terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds };
    return { ...protectedBy('LiveMigrate'), vmi: { ...vmi, spec } };
  };

  test.each<[string, VmLeft, string]>([
    ['stops for less', stops(-359), 'restarted Stopping'],
    ['does not stop for as long', stops(-360), 'restarted Stopping Stopping'],
    ['may take longer to stop', stops(-3_959, 3_600), 'restarted Stopping'],
    ['does not stop for longer than it may take', stops(-3_960, 3_600), 'restarted Stopping Stopping'],
  ])('because it %s', (_, vm, want) => {
    expect(said(vm, { ...RULES, before: before(-999, -1) })).toBe(want);
  });

  const UPGRADE = { ...RULES, kind: 'Upgrade', methods: ['LiveMigrate'] } as const;
  const deployed = (at: number): Before => ({ ...before(-999), deployedAt: NOW + at * 1_000 });
  const othersWaits: VmLeft = {
    ...protectedBy('LiveMigrate'),
    migration: aMigration(createdAt(-999), withCondition()),
  };

  test.each<[string, VmLeft, Before, string]>([
    [
      'while KubeVirt updates its own components',
      protectedBy('LiveMigrate'),
      before(-999),
      'noMigrationYet NoMigration',
    ],
    ['for less since then', protectedBy('LiveMigrate'), deployed(-359), 'noMigrationYet NoMigration'],
    ['for as long since then', protectedBy('LiveMigrate'), deployed(-360), 'waiting NoMigration Pending'],
    ['but a user’s migration, before then', othersWaits, before(-999), 'noMigrationYet OtherMigration'],
    ['but a user’s migration, since then', othersWaits, deployed(-360), 'waiting OtherMigration Pending'],
  ])('of an upgrade: %s', (...[, vm, known, want]) => {
    expect(said(vm, { ...UPGRADE, before: known })).toBe(want);
  });

  const movedAt = (at: number): Before => ({ ...deployed(-9_999), movedAt: NOW + at * 1_000 });
  const LIVE = protectedBy('LiveMigrate');

  test.each<[string, readonly string[], [VmLeft, Before], string]>([
    ['within its interval', ['Evict'], [LIVE, deployed(-959)], 'noMigrationYet NoMigration'],
    ['after its interval', ['Evict'], [LIVE, deployed(-960)], 'waiting NoMigration Pending'],
    ['within one since the last VMs', ['Evict'], [LIVE, movedAt(-959)], 'noMigrationYet NoMigration'],
    ['after one since the last VMs', ['Evict'], [LIVE, movedAt(-960)], 'waiting NoMigration Pending'],
    [
      'only of what it cannot migrate',
      ['LiveMigrate', 'Evict'],
      [LIVE, deployed(-360)],
      'waiting NoMigration Pending',
    ],
    [
      'of what an external controller moves',
      ['LiveMigrate', 'Evict'],
      [FIXED_EXTERNAL, deployed(-959)],
      'noMigrationYet ExternalEviction',
    ],
  ])('of an upgrade by eviction: %s', (...[, methods, [vm, known], want]) => {
    const rules = { ...UPGRADE, methods, evictionIntervalMs: 600_000, before: known };
    expect(said(vm, rules)).toBe(want);
  });
});
