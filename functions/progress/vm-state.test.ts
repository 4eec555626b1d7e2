import { describe, expect, test } from '@jest/globals';
import { aMigration, aVmi, inPhase, refusedAt, withCondition } from '../../test/support/builders/kubevirt.ts';
import { annotated, beingDeleted, createdAt, NOW, seconds } from '../../test/support/builders/object.ts';
import { aKubeVirt } from '../../test/support/builders/preflight.ts';
import type { Migration, VirtualMachineInstance } from '../domain/objects.ts';
import { bucketsOf } from './buckets.ts';
import { evictionIntervalOf, vmStateOf, type MaintenanceRules, type VmLeft } from './vm-state.ts';

const DRAIN: MaintenanceRules = { kind: 'Drain', methods: [], evictionStrategy: undefined, now: NOW };
const UPGRADE: MaintenanceRules = { ...DRAIN, kind: 'Upgrade', methods: ['LiveMigrate'] };
const EVACUATES = annotated('kubevirt.io/evacuationMigration', 'node1');
const UPDATES = annotated('kubevirt.io/workloadUpdateMigration', '');

const withStrategy = (evictionStrategy: string, status: VirtualMachineInstance['status'] = {}): VmLeft => {
  const vmi = aVmi();
  return left({ vmi: { ...vmi, spec: { evictionStrategy }, status: { ...vmi.status, ...status } } });
};
const left = (different: Partial<VmLeft> = {}): VmLeft => ({
  ...{ namespace: 'tenant', name: 'vm0', isQueued: false, isLocked: false, vmi: aVmi() },
  ...different,
});
const migrates = (migration: Migration, different: Partial<VmLeft> = {}): VmLeft =>
  left({ migration, ...different });
const FIXED = {
  conditions: [{ type: 'LiveMigratable', status: 'False' as const, reason: 'DisksNotLiveMigratable' }],
};
const EVICTED = { evacuationNodeName: 'node1' };
/** Two launchers of the VM have not ended; its last migration ended so many seconds ago. */
const twice = (ended = 60): VirtualMachineInstance['status'] => ({
  ...EVICTED,
  activePods: { one: 'node1', other: 'node2' },
  migrationState: { endTimestamp: seconds(-ended) },
});
const stopping = (vm: VmLeft): VmLeft => ({ ...vm, vmi: beingDeleted()(vm.vmi ?? aVmi()) });
/** A VM was last migrated so many seconds ago. */
const moved = (seconds: number): MaintenanceRules => ({
  ...DRAIN,
  before: { startedAt: '', movedAt: NOW - seconds * 1_000, entries: new Map() },
});
const NO_FIT = { reason: 'NotEnough', quotas: [{ name: 'quota', missing: { 'requests.cpu': '605m' } }] };
/** KubeVirt sets no condition for such a refusal. */
const REFUSED = { reason: 'QuotaMustSpecify', message: 'must specify requests.cpu for: istio-proxy' };

/** KubeVirt could not create its migration five seconds ago; the drain has begun a minute ago. */
const refusedBy = (
  text: string,
  { status = {}, at = NOW - 5_000 }: { status?: VirtualMachineInstance['status']; at?: number } = {},
): VmLeft => ({
  ...withStrategy('LiveMigrate', { ...EVICTED, ...status }),
  refused: { at, isByQuota: text.includes('quota'), text },
});
const OPEN: MaintenanceRules = {
  ...DRAIN,
  before: { startedAt: new Date(NOW - 60_000).toISOString(), movedAt: undefined, entries: new Map() },
};
const NO_MORE = 'exceeded quota: objects, requested: count/x=1, used: count/x=1, limited: count/x=1';

type Case = [name: string, vm: VmLeft, rules: MaintenanceRules, want: readonly [string, string, string?]];

/** The bucket, the reason and what blocks, of each case. */
const CASES: readonly Case[] = [
  ['no migration yet', withStrategy('LiveMigrate', EVICTED), DRAIN, ['noMigrationYet', 'NoMigration']],
  [
    'no migration yet, by the drain taint',
    withStrategy('LiveMigrate'),
    { ...DRAIN, isByTaint: true },
    ['noMigrationYet', 'NoMigration'],
  ],
  [
    'a quota refuses its migration itself',
    refusedBy(NO_MORE),
    OPEN,
    ['blocked', 'MigrationQuotaExceeded', 'Quota'],
  ],
  [
    'a quota refuses its migration itself, in an upgrade',
    refusedBy(NO_MORE),
    { ...OPEN, kind: 'Upgrade', methods: ['LiveMigrate'] },
    ['blocked', 'MigrationQuotaExceeded', 'Quota'],
  ],
  [
    'a webhook refuses its migration itself',
    refusedBy('admission webhook "x" denied the request: no'),
    OPEN,
    ['noMigrationYet', 'NoMigration'],
  ],
  [
    'a quota refused its migration in an earlier drain',
    refusedBy(NO_MORE, { at: NOW - 63_000 }),
    OPEN,
    ['noMigrationYet', 'NoMigration'],
  ],
  [
    'a quota refused a migration before its last one',
    refusedBy(NO_MORE, { status: { migrationState: { endTimestamp: new Date(NOW - 4_000).toISOString() } } }),
    OPEN,
    ['noMigrationYet', 'NoMigration'],
  ],
  [
    'a quota refused its migration before the drain is reported',
    refusedBy(NO_MORE),
    DRAIN,
    ['noMigrationYet', 'NoMigration'],
  ],
  [
    'a launcher is left over, and KubeVirt says nothing',
    withStrategy('LiveMigrate', { ...twice(), migrationState: {} }),
    DRAIN,
    ['noMigrationYet', 'LauncherLeftOver'],
  ],
  [
    'a launcher is left over, after a refusal of its migration',
    refusedBy(NO_MORE, { status: { ...twice(), migrationState: {} } }),
    OPEN,
    ['noMigrationYet', 'LauncherLeftOver'],
  ],
  [
    'a launcher is left over by its last migration',
    withStrategy('LiveMigrate', twice(60)),
    DRAIN,
    ['noMigrationYet', 'LauncherLeftOver'],
  ],
  [
    'the second launcher goes after its last migration',
    withStrategy('LiveMigrate', twice(59)),
    DRAIN,
    ['noMigrationYet', 'NoMigration'],
  ],
  [
    'a launcher is left over, and nothing evicts it',
    withStrategy('LiveMigrate', { ...twice(), evacuationNodeName: 'other' }),
    DRAIN,
    ['noMigrationYet', 'NotEvicted'],
  ],
  [
    'a launcher is left over, and an external controller evicts it',
    withStrategy('External', twice()),
    DRAIN,
    ['noMigrationYet', 'ExternalEviction'],
  ],
  [
    'a launcher is left over, in an upgrade that evicts',
    withStrategy('LiveMigrate', twice()),
    { ...UPGRADE, methods: ['Evict'] },
    ['noMigrationYet', 'LauncherLeftOver'],
  ],
  [
    'a launcher is left over, in an upgrade that migrates: KubeVirt creates the migration',
    withStrategy('LiveMigrate', twice()),
    UPGRADE,
    ['noMigrationYet', 'NoMigration'],
  ],
  [
    'it has the second launcher of its evacuation',
    { ...withStrategy('LiveMigrate', twice()), migration: aMigration(EVACUATES, inPhase('Running')) },
    DRAIN,
    ['running', 'Running'],
  ],
  ['nothing evicts it', withStrategy('LiveMigrate'), DRAIN, ['noMigrationYet', 'NotEvicted']],
  [
    'it was evicted from another node',
    withStrategy('LiveMigrate', { evacuationNodeName: 'other' }),
    DRAIN,
    ['noMigrationYet', 'NotEvicted'],
  ],
  ['nothing evicts an external one', withStrategy('External'), DRAIN, ['noMigrationYet', 'NotEvicted']],
  [
    'an external controller evicts it',
    withStrategy('External', EVICTED),
    DRAIN,
    ['noMigrationYet', 'ExternalEviction'],
  ],
  [
    'it cannot be migrated',
    withStrategy('LiveMigrate', FIXED),
    DRAIN,
    ['notMigratable', 'DisksNotLiveMigratable', 'NotMigratable'],
  ],
  [
    'it cannot be migrated, and may be restarted',
    withStrategy('LiveMigrateIfPossible', FIXED),
    DRAIN,
    ['restarted', 'DisksNotLiveMigratable'],
  ],
  [
    'the cluster’s strategy counts where it has none',
    left({ vmi: { ...aVmi(), status: FIXED } }),
    { ...DRAIN, evictionStrategy: 'LiveMigrateIfPossible' },
    ['restarted', 'DisksNotLiveMigratable'],
  ],
  [
    'it cannot be migrated, and nothing evicts it',
    withStrategy('LiveMigrateIfPossible', FIXED),
    { ...DRAIN, isByTaint: true },
    ['notMigratable', 'DisksNotLiveMigratable', 'NotMigratable'],
  ],
  [
    'it is being deleted, and cannot be migrated',
    stopping(withStrategy('LiveMigrate', FIXED)),
    DRAIN,
    ['restarted', 'Stopping'],
  ],
  [
    'it is being deleted, and has a refused migration',
    stopping(migrates(aMigration(EVACUATES, refusedAt(-99)))),
    DRAIN,
    ['restarted', 'Stopping'],
  ],
  [
    'a user migrates it',
    migrates(aMigration(inPhase('Running'))),
    DRAIN,
    ['noMigrationYet', 'OtherMigration'],
  ],
  [
    'a quota refuses a migration of a user',
    migrates(aMigration(refusedAt(-99)), { verdict: NO_FIT }),
    DRAIN,
    ['blocked', 'NotEnough', 'Quota'],
  ],
  [
    'something else refuses the target of a migration of a user',
    migrates(aMigration(withCondition()), { verdict: REFUSED }),
    DRAIN,
    ['blocked', 'QuotaMustSpecify', 'Quota'],
  ],
  [
    'a migration of a user that was refused runs',
    migrates(aMigration(withCondition(), inPhase('Running')), { verdict: REFUSED }),
    DRAIN,
    ['noMigrationYet', 'OtherMigration'],
  ],
  [
    'something else refuses the target of its evacuation',
    migrates(aMigration(EVACUATES, withCondition()), { verdict: REFUSED }),
    DRAIN,
    ['blocked', 'QuotaMustSpecify', 'Quota'],
  ],
  [
    'it goes to another cluster',
    migrates({
      ...aMigration(EVACUATES, createdAt(-60)),
      spec: { vmiName: 'vm0', sendTo: { migrationID: 'x' } },
    }),
    DRAIN,
    ['noMigrationYet', 'CrossClusterMigration'],
  ],
  [
    'an upgrade migrates it',
    migrates(aMigration(UPDATES, inPhase('Running'))),
    DRAIN,
    ['noMigrationYet', 'OtherMigration'],
  ],
  ['its migration runs', migrates(aMigration(EVACUATES, inPhase('Running'))), DRAIN, ['running', 'Running']],
  [
    'its target pod is not ready',
    migrates(aMigration(EVACUATES, inPhase('Scheduling'), createdAt(-60))),
    DRAIN,
    ['waiting', 'TargetPodNotReady', 'Capacity'],
  ],
  [
    'its target pod is not ready yet',
    migrates(aMigration(EVACUATES, inPhase('Scheduling'), createdAt(-59))),
    DRAIN,
    ['running', 'Running'],
  ],
  [
    'KubeVirt has not tried its pod',
    migrates(aMigration(EVACUATES, withCondition(), createdAt(-60))),
    DRAIN,
    ['waiting', 'Pending'],
  ],
  [
    'KubeVirt has not tried its pod for as long as its longest back-off',
    migrates(aMigration(EVACUATES, withCondition(), createdAt(-359))),
    DRAIN,
    ['waiting', 'Pending'],
  ],
  [
    'KubeVirt has not created its pod for longer than its longest back-off',
    migrates(aMigration(EVACUATES, withCondition(), createdAt(-360))),
    DRAIN,
    ['waiting', 'Pending', 'Pending'],
  ],
  [
    'it waits as long, and others have gone on since',
    migrates(aMigration(EVACUATES, withCondition(), createdAt(-999))),
    moved(359),
    ['waiting', 'Pending'],
  ],
  [
    'a user’s migration is not begun for as long',
    migrates(aMigration(withCondition(), createdAt(-360))),
    DRAIN,
    ['waiting', 'OtherMigration', 'Pending'],
  ],
  [
    'a user’s migration has had no slot for as long',
    migrates(aMigration(withCondition(), createdAt(-360)), { isQueued: true }),
    DRAIN,
    ['waiting', 'OtherMigration', 'Limit'],
  ],
  [
    'a user’s migration takes as long',
    migrates(aMigration(inPhase('Running'), createdAt(-999))),
    DRAIN,
    ['noMigrationYet', 'OtherMigration'],
  ],
  [
    'the other cluster has not answered for as long',
    migrates({
      ...aMigration(EVACUATES, inPhase('Synchronizing'), createdAt(-360)),
      spec: { vmiName: 'vm0', sendTo: { migrationID: 'x' } },
    }),
    DRAIN,
    ['waiting', 'CrossClusterMigration', 'Pending'],
  ],
  [
    'no slot is left, and others had one within minutes',
    migrates(aMigration(EVACUATES, withCondition(), createdAt(-999)), { isQueued: true }),
    moved(359),
    ['waiting', 'ParallelLimitReached'],
  ],
  [
    'no slot is left, and no other had one for minutes',
    migrates(aMigration(EVACUATES, withCondition(), createdAt(-999)), { isQueued: true }),
    moved(360),
    ['waiting', 'ParallelLimitReached', 'Limit'],
  ],
  [
    'no slot is left',
    migrates(aMigration(EVACUATES, withCondition(), createdAt(-59)), { isQueued: true }),
    DRAIN,
    ['waiting', 'ParallelLimitReached'],
  ],
  [
    'no slot has been left for a minute',
    migrates(aMigration(EVACUATES, withCondition(), createdAt(-60)), { isQueued: true }),
    DRAIN,
    ['waiting', 'ParallelLimitReached', 'Limit'],
  ],
  [
    'a quota refused it a moment ago',
    migrates(aMigration(EVACUATES, refusedAt(-9))),
    DRAIN,
    ['blocked', 'Unexamined'],
  ],
  [
    'no function has looked at a refusal for ten seconds',
    migrates(aMigration(EVACUATES, refusedAt(-10))),
    DRAIN,
    ['blocked', 'Unexamined', 'Quota'],
  ],
  [
    'feasibility has said no',
    migrates(aMigration(EVACUATES, refusedAt(0)), { verdict: NO_FIT }),
    DRAIN,
    ['blocked', 'NotEnough', 'Quota'],
  ],
  [
    'feasibility has said later',
    migrates(aMigration(EVACUATES, refusedAt(-99)), { verdict: { reason: 'BackOff' } }),
    DRAIN,
    ['waiting', 'BackOff'],
  ],
  [
    'a source has ended, and its quota is not recounted yet',
    migrates(aMigration(EVACUATES, refusedAt(-99)), { verdict: { reason: 'QuotaNotRecounted' } }),
    DRAIN,
    ['waiting', 'QuotaNotRecounted'],
  ],
  [
    'a quota is not recounted, and no VM was moved for minutes',
    migrates(aMigration(EVACUATES, refusedAt(-999)), { verdict: { reason: 'QuotaNotRecounted' } }),
    moved(360),
    ['waiting', 'QuotaNotRecounted', 'Pending'],
  ],
  [
    'feasibility said later, and others were moved within minutes',
    migrates(aMigration(EVACUATES, refusedAt(-999)), { verdict: { reason: 'BackOff' } }),
    moved(359),
    ['waiting', 'BackOff'],
  ],
  [
    'feasibility said later, and no other was moved for minutes',
    migrates(aMigration(EVACUATES, refusedAt(-999)), { verdict: { reason: 'BackOff' } }),
    moved(360),
    ['waiting', 'BackOff', 'Pending'],
  ],
  [
    'a quota refuses it, feasibility said that no slot is left, and none has been for a minute',
    migrates(aMigration(EVACUATES, refusedAt(-60), createdAt(-60)), {
      isQueued: true,
      verdict: { reason: 'ParallelLimitReached' },
    }),
    DRAIN,
    ['waiting', 'ParallelLimitReached', 'Limit'],
  ],
  [
    'a policy refuses our writes',
    migrates(aMigration(EVACUATES, refusedAt(-99)), { verdict: { reason: 'RefusedByPolicy' } }),
    DRAIN,
    ['blocked', 'RefusedByPolicy', 'Quota'],
  ],
  [
    'a quota refuses its attachment pod, without a condition',
    migrates(aMigration(EVACUATES, withCondition()), { verdict: NO_FIT }),
    DRAIN,
    ['blocked', 'NotEnough', 'Quota'],
  ],
  [
    'a policy refuses our writes, and its namespace is locked for it',
    migrates(aMigration(EVACUATES, refusedAt(-99)), {
      isLocked: true,
      verdict: { reason: 'RefusedByPolicy' },
    }),
    DRAIN,
    ['blocked', 'RefusedByPolicy', 'Quota'],
  ],
  [
    'its namespace is locked for it',
    migrates(aMigration(EVACUATES, refusedAt(-99)), { isLocked: true, verdict: NO_FIT }),
    DRAIN,
    ['waiting', 'Locked'],
  ],
  [
    'nothing is automated',
    left(),
    { ...UPGRADE, methods: [] },
    ['notAutomated', 'NotAutomated', 'NotAutomated'],
  ],
  ['upgrades only restart', left(), { ...UPGRADE, methods: ['Evict'] }, ['restarted', 'Evict']],
  [
    'an upgrade leaves it as it is',
    withStrategy('LiveMigrate', FIXED),
    UPGRADE,
    ['notMigratable', 'DisksNotLiveMigratable', 'NotMigratable'],
  ],
  [
    'an upgrade’s eviction of what it cannot migrate is refused',
    withStrategy('LiveMigrate', FIXED),
    { ...UPGRADE, methods: ['LiveMigrate', 'Evict'] },
    ['notMigratable', 'DisksNotLiveMigratable', 'NotMigratable'],
  ],
  [
    'an upgrade restarts what it cannot migrate and nothing protects',
    left({ vmi: { ...aVmi(), status: FIXED } }),
    { ...UPGRADE, methods: ['LiveMigrate', 'Evict'] },
    ['restarted', 'DisksNotLiveMigratable'],
  ],
  [
    'an upgrade restarts what it can migrate only if possible, and cannot',
    withStrategy('LiveMigrateIfPossible', FIXED),
    { ...UPGRADE, methods: ['Evict'] },
    ['restarted', 'DisksNotLiveMigratable'],
  ],
  [
    'an upgrade’s eviction migrates a VM with a strategy',
    withStrategy('LiveMigrateIfPossible'),
    { ...UPGRADE, methods: ['Evict'] },
    ['noMigrationYet', 'NoMigration'],
  ],
  [
    'an upgrade leaves an external one to another controller',
    withStrategy('External', FIXED),
    { ...UPGRADE, methods: ['Evict'] },
    ['noMigrationYet', 'ExternalEviction'],
  ],
  [
    'an upgrade without evictions migrates an external one itself',
    withStrategy('External'),
    { ...UPGRADE, methods: ['LiveMigrate', 'Evict'] },
    ['noMigrationYet', 'NoMigration'],
  ],
  [
    'the evacuation after an upgrade’s eviction runs',
    migrates(aMigration(EVACUATES, inPhase('Running'))),
    { ...UPGRADE, methods: ['Evict'] },
    ['running', 'Running'],
  ],
  [
    'an evacuation runs beside an upgrade that migrates',
    migrates(aMigration(EVACUATES, inPhase('Running'))),
    UPGRADE,
    ['noMigrationYet', 'OtherMigration'],
  ],
  ['its update runs', migrates(aMigration(UPDATES, inPhase('Running'))), UPGRADE, ['running', 'Running']],
  [
    'its update runs though nothing is automated any more',
    migrates(aMigration(UPDATES, inPhase('Running'))),
    { ...UPGRADE, methods: [] },
    ['running', 'Running'],
  ],
];

describe('what a VM that is left waits for', () => {
  test.each(CASES)('%s', (...[, vm, rules, [bucket, reason, blockedBy]]) => {
    const state = vmStateOf(vm, rules);
    expect([state.bucket, state.reason, state.blockedBy]).toEqual([bucket, reason, blockedBy]);
  });

  test('a refusal of the migration itself has its text, and the time at which it was seen first', () => {
    const message = `KubeVirt cannot create its migration: ${NO_MORE}`;
    const first = vmStateOf(refusedBy(NO_MORE), OPEN);
    expect(first).toMatchObject({ message, since: seconds(-5) });
    const { startedAt = '', movedAt } = OPEN.before ?? {};
    const known = { namespace: 'tenant', name: 'vm0', reason: first.reason, since: seconds(-50) };
    const before = { startedAt, movedAt, entries: new Map([['tenant/vm0', known]]) };
    expect(vmStateOf(refusedBy(NO_MORE), { ...OPEN, before }).since).toBe(seconds(-50));
    const forged = vmStateOf(refusedBy(NO_MORE, { at: NOW + 9_000 }), OPEN);
    expect(forged.since).toBe(seconds(0));
    const other = vmStateOf(refusedBy('no endpoints'), OPEN);
    expect(other.message).toBe('KubeVirt cannot create its migration: no endpoints');
  });

  test('a launcher that is left over has the nodes of both', () => {
    const { message } = vmStateOf(withStrategy('LiveMigrate', twice()), DRAIN);
    expect(message).toBe(
      'it has 2 launchers (on node1, node2), and KubeVirt creates no migration beside them',
    );
  });

  test('a refusal has its quotas, what they lack, and its time', () => {
    expect(
      vmStateOf(migrates(aMigration(EVACUATES, refusedAt(-5)), { verdict: NO_FIT }), DRAIN),
    ).toMatchObject({
      ...NO_FIT,
      since: new Date(NOW - 5_000).toISOString(),
    });
  });
});

test.each<[string | undefined, number]>([
  [undefined, 60],
  ['1m0s', 60],
  ['1h30m0s', 5_400],
  ['1.5h', 5_400],
  ['90s', 90],
  ['1m500ms', 60.5],
  ['0s', 0],
])('KubeVirt’s batchEvictionInterval %s is %d seconds', (batchEvictionInterval, want) => {
  const kubevirt = {
    ...aKubeVirt(),
    spec: {
      workloadUpdateStrategy: batchEvictionInterval === undefined ? {} : { batchEvictionInterval },
    },
  };
  expect(evictionIntervalOf(kubevirt)).toBe(want * 1_000);
});

describe('buckets', () => {
  const refused = (vm: number): VmLeft =>
    migrates(aMigration(EVACUATES, refusedAt(-vm)), { name: `vm${String(vm)}`, verdict: NO_FIT });
  const queued = migrates(aMigration(EVACUATES, withCondition(), createdAt(-60)), {
    name: 'q',
    isQueued: true,
  });
  const running = migrates(aMigration(EVACUATES, inPhase('Running')), { name: 'r' });

  test('name the fifty oldest, and count the others', () => {
    const { buckets, blockedBy } = bucketsOf(
      Array.from({ length: 60 }, (_, vm) => refused(vm)),
      DRAIN,
    );
    expect(buckets.map(({ name, count, vms }) => [name, count, vms.length])).toEqual([['blocked', 60, 50]]);
    expect(buckets[0]?.vms[0]?.name).toBe('vm59');
    expect(blockedBy).toEqual({ Quota: 60 });
  });

  test('are in their order, and add up to what is left', () => {
    const { buckets } = bucketsOf([refused(1), left({ name: 'n' }), queued, running, refused(2)], DRAIN);
    expect(buckets.map(({ name, count }) => [name, count])).toEqual([
      ['running', 1],
      ['waiting', 1],
      ['blocked', 2],
      ['noMigrationYet', 1],
    ]);
  });

  test('the limits block nothing while a migration of this maintenance runs', () => {
    expect(bucketsOf([queued], DRAIN).blockedBy).toEqual({ Limit: 1 });
    expect(bucketsOf([queued, running], DRAIN).blockedBy).toEqual({});
  });
});
