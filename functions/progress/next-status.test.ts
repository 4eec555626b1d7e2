import { describe, expect, test } from '@jest/globals';
import {
  aDrain,
  anUpgrade,
  aProgress,
  aStatus,
  bucket,
  but,
  keysOf,
  NODE,
} from '../../test/support/builders/maintenance.ts';
import { NOW, seconds } from '../../test/support/builders/object.ts';
import { REASON } from '../domain/names.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import { MAINTENANCE_EVENT, type BlockedReason } from '../domain/progress/names.ts';
import { keyOf } from './counts.ts';
import { nextStatus } from './next-status.ts';
import type {
  Bucket,
  BucketEntry,
  BucketName,
  OutboxEntry,
  ProgressStatus,
} from '../domain/progress/progress-object.ts';
import { isSame } from '../domain/same.ts';

const KUBEVIRT = { name: 'kubevirt', namespace: 'kubevirt', uid: 'uid-of-kubevirt' };
const target = (id: string | undefined): Partial<Maintenance> => ({
  kubevirt: { ...KUBEVIRT, observed: 'new', target: id },
});

/** The types of the events that the change adds, without their prefix. */
const happened = (status: ProgressStatus): string[] =>
  status.outbox.map(({ type }) => type.replace('io.kubevirt.mtq.', ''));

/** `before`: undefined, where the object was created a moment ago. */
const after = (seen: Maintenance, before?: ProgressStatus, atSeconds = 1): ProgressStatus =>
  nextStatus(aProgress(seen.kind, before), seen, NOW + atSeconds * 1_000);

interface Want {
  readonly state: string;
  readonly reason: string;
  readonly progress: string;
  readonly events: readonly string[];
  /** Seconds after the drain began; 1 where left out. */
  readonly at?: number;
}
type Case = [name: string, seen: Maintenance, before: ProgressStatus | undefined, want: Want];

const QUOTA = but({ blockedBy: { Quota: 2 }, buckets: [bucket('blocked', 2)] });
const BLOCKED = aStatus([1, 2], [1, 2], { state: 'Blocked', reason: 'Quota', blocked: 2 });
const FULL_OUTBOX = Array.from(
  { length: 50 },
  () => ({ type: MAINTENANCE_EVENT.drainBlocked }) as Partial<OutboxEntry> as OutboxEntry,
);
const EXPLAIN = 'Run kubectl vmmrq explain MIGRATION -n tenant: it says what is missing.';
const TEN = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const HUNDRED = Array.from({ length: 100 }, (_, vm) => vm);

describe('a drain', () => {
  test.each<Case>([
    [
      'begins with what is left',
      aDrain([1, 2]),
      undefined,
      { state: 'Running', reason: 'UnderWay', progress: '0/2', events: ['drain.started'] },
    ],
    [
      'begins, and is blocked from the start',
      aDrain([1, 2], QUOTA),
      undefined,
      { state: 'Blocked', reason: 'Quota', progress: '0/2', events: ['drain.started', 'drain.blocked'] },
    ],
    [
      'is over before it was written',
      aDrain([], but({ node: { name: 'node1', isDraining: false } })),
      undefined,
      { state: 'Failed', reason: 'NodeGone', progress: '0/0', events: ['drain.started', 'drain.failed'] },
    ],
    [
      'begins after a first VM has left: it is counted',
      aDrain([2], but({ moved: keysOf(1) })),
      undefined,
      { state: 'Running', reason: 'UnderWay', progress: '1/2', events: ['drain.started'] },
    ],
    [
      'is over before the first look',
      aDrain([], but({ moved: keysOf(1, 2) })),
      undefined,
      {
        state: 'Completed',
        reason: 'Drained',
        progress: '2/2',
        events: ['drain.started', 'drain.completed'],
      },
    ],
    [
      'counts a VM that came and left between two looks',
      aDrain([1, 2], but({ moved: keysOf(3) })),
      aStatus([1, 2], [1, 2]),
      { state: 'Running', reason: 'UnderWay', progress: '1/3', events: ['drain.progressed'] },
    ],
    [
      'counts a VM that was moved and came back as left',
      aDrain([1, 2], but({ moved: keysOf(1) })),
      aStatus([1, 2], [2]),
      { state: 'Running', reason: 'UnderWay', progress: '0/2', events: [] },
    ],
    [
      'goes on as before',
      aDrain([1, 2]),
      aStatus([1, 2], [1, 2]),
      { state: 'Running', reason: 'UnderWay', progress: '0/2', events: [] },
    ],
    [
      'becomes blocked',
      aDrain([1, 2], QUOTA),
      aStatus([1, 2], [1, 2]),
      { state: 'Blocked', reason: 'Quota', progress: '0/2', events: ['drain.blocked'] },
    ],
    [
      'stays blocked',
      aDrain([1, 2], QUOTA),
      BLOCKED,
      { state: 'Blocked', reason: 'Quota', progress: '0/2', events: [] },
    ],
    [
      'stays blocked for 45 minutes less a second',
      aDrain([1, 2], QUOTA),
      BLOCKED,
      { state: 'Blocked', reason: 'Quota', progress: '0/2', events: [], at: 45 * 60 - 1 },
    ],
    [
      'stays blocked for 45 minutes: says so again',
      aDrain([1, 2], QUOTA),
      BLOCKED,
      { state: 'Blocked', reason: 'Quota', progress: '0/2', events: ['drain.blocked'], at: 45 * 60 },
    ],
    [
      'stays blocked for a day, and no Broker takes its events',
      aDrain([1, 2], QUOTA),
      { ...BLOCKED, outbox: FULL_OUTBOX },
      {
        state: 'Blocked',
        reason: 'Quota',
        progress: '0/2',
        events: FULL_OUTBOX.map(() => 'drain.blocked'),
        at: 86_400,
      },
    ],
    [
      'is blocked for another reason',
      aDrain([1, 2], but({ blockedBy: { NotMigratable: 1 } })),
      BLOCKED,
      { state: 'Blocked', reason: 'NotMigratable', progress: '0/2', events: ['drain.blocked'] },
    ],
    [
      'with two reasons names the first one',
      aDrain([1, 2], but({ blockedBy: { NotMigratable: 1, Quota: 1 } })),
      BLOCKED,
      { state: 'Blocked', reason: 'Quota', progress: '0/2', events: [] },
    ],
    [
      'is no longer blocked',
      aDrain([1, 2]),
      BLOCKED,
      { state: 'Running', reason: 'UnderWay', progress: '0/2', events: ['drain.unblocked'] },
    ],
    [
      'progresses by a tenth',
      aDrain(TEN.slice(1)),
      aStatus(TEN, TEN),
      { state: 'Running', reason: 'UnderWay', progress: '1/10', events: ['drain.progressed'] },
    ],
    [
      'progresses by less than a tenth: no event yet',
      aDrain(HUNDRED.slice(9)),
      aStatus(HUNDRED, HUNDRED),
      { state: 'Running', reason: 'UnderWay', progress: '9/100', events: [], at: 59 },
    ],
    [
      'progresses by less than a tenth within a minute',
      aDrain(HUNDRED.slice(9)),
      aStatus(HUNDRED, HUNDRED),
      { state: 'Running', reason: 'UnderWay', progress: '9/100', events: ['drain.progressed'], at: 60 },
    ],
    [
      'gets a newcomer, which is counted in the total',
      aDrain([2, 3]),
      aStatus([1, 2], [2]),
      { state: 'Running', reason: 'UnderWay', progress: '1/3', events: [] },
    ],
    [
      'is completed when no VM is left',
      aDrain([]),
      aStatus([1, 2], [2]),
      { state: 'Completed', reason: 'Drained', progress: '2/2', events: ['drain.completed'] },
    ],
    [
      'is not completed while a VM migrates to its node',
      aDrain([], but({ arriving: 1 })),
      aStatus([1, 2], [2]),
      { state: 'Running', reason: 'UnderWay', progress: '2/2', events: ['drain.progressed'] },
    ],
    [
      'is not completed before it is known which VMs migrate to its node',
      aDrain([], but({ arriving: undefined })),
      aStatus([1, 2], [2]),
      { state: 'Running', reason: 'UnderWay', progress: '2/2', events: ['drain.progressed'] },
    ],
    [
      'is completed where the node takes pods again, and a VM migrates to it',
      aDrain([], but({ node: { ...NODE, isDraining: false }, arriving: 1 })),
      aStatus([1, 2], [2]),
      { state: 'Completed', reason: 'Drained', progress: '2/2', events: ['drain.completed'] },
    ],
    [
      'is completed also where the node takes pods again',
      aDrain([], but({ node: { ...NODE, isDraining: false } })),
      aStatus([1, 2], [2]),
      { state: 'Completed', reason: 'Drained', progress: '2/2', events: ['drain.completed'] },
    ],
    [
      'is canceled when the node takes pods again',
      aDrain([2], but({ node: { ...NODE, isDraining: false } })),
      BLOCKED,
      { state: 'Canceled', reason: 'Uncordoned', progress: '1/2', events: ['drain.canceled'] },
    ],
    [
      'fails when the node is gone',
      aDrain([2], but({ node: { name: 'node1', isDraining: false } })),
      aStatus([1, 2], [2]),
      { state: 'Failed', reason: 'NodeGone', progress: '1/2', events: ['drain.failed'] },
    ],
    [
      'fails when another node has its name',
      aDrain([2], but({ node: { name: 'node1', uid: 'another', isDraining: true } })),
      aStatus([1, 2], [2]),
      { state: 'Failed', reason: 'NodeGone', progress: '1/2', events: ['drain.failed'] },
    ],
  ])('%s', (...[, seen, before, { at, ...want }]) => {
    const status = after(seen, before, at);
    expect({ ...status, events: happened(status) }).toMatchObject(want);
  });

  test('a canceled one lists what still migrates until that ends, and has no more events', () => {
    const uncordoned = but({ node: { ...NODE, isDraining: false } });
    const running = but({ buckets: [bucket('running', 1), bucket('blocked', 1)] });
    const canceled = after(aDrain([1, 2], uncordoned, running), aStatus([1, 2], [1, 2]));
    expect(canceled.buckets).toEqual([bucket('running', 1)]);
    const ended = after(aDrain([1, 2], uncordoned), canceled);
    expect(ended).toEqual({ ...canceled, buckets: [] });
    expect(after(aDrain([1], running), ended)).toEqual(ended);
    // The drain that follows lists them.
    expect(after(aDrain([1, 2], running), canceled)).toEqual({ ...canceled, buckets: [] });
  });
});

describe('a drain whose node is gone', () => {
  const gone = but({ node: { name: 'node1', isDraining: false } });
  const buckets = [bucket('running', 1), bucket('blocked', 1), bucket('restarted', 1)];
  const failed = after(aDrain([1, 2, 3], gone, but({ buckets })), aStatus([1, 2, 3], [1, 2, 3]));

  test('names a VM whose migration is left, and says what to do', () => {
    expect(failed.message).toBe(
      'node node1 is gone; 3 of 3 VMs were left on it, such as tenant/vm0 (Some). ' +
        'Their migrations stay until their VMIs end: delete those that wait.',
    );
    const [{ data }] = failed.outbox as [OutboxEntry];
    expect(data.buckets).toEqual({ running: 1, blocked: 1, restarted: 1 });
  });

  test('advises nothing where no migration is left', () => {
    const stopping = but({ buckets: [bucket('restarted', 1)] });
    expect(after(aDrain([1], gone, stopping), aStatus([1], [1])).message).toBe(
      'node node1 is gone; 1 of 1 VM were left on it',
    );
  });

  test('lists what is left of it until that ends, and has no more events', () => {
    expect(failed.buckets).toEqual(buckets);
    const fewer = after(aDrain([2], gone, but({ buckets: [bucket('blocked', 1)] })), failed);
    expect(fewer).toEqual({ ...failed, buckets: [bucket('blocked', 1)] });
    const ended = after(aDrain([], gone), fewer);
    expect(ended).toEqual({ ...failed, buckets: [] });
    expect(after(aDrain([1], gone, but({ buckets })), ended)).toEqual(ended);
  });
});

describe('a drain whose node was replaced by another one of its name', () => {
  const entry = (name: string): BucketEntry => ({ namespace: 'tenant', name, reason: 'Some' });
  const of = (name: BucketName, ...vms: string[]): Bucket => ({
    name,
    count: vms.length,
    vms: vms.map(entry),
  });
  const keys = (...names: string[]): string[] => names.map((name) => keyOf('tenant', name));
  /** vm0 and vm1 are of the drain, new0 and new1 came to the new node. */
  const on = (isDraining: boolean, ...vms: string[]): Maintenance => ({
    ...aDrain([]),
    node: { name: 'node1', uid: 'another', isDraining },
    left: keys(...vms, 'new0', 'new1'),
    moved: keys('new2'),
    buckets: [of('blocked', ...vms, 'new0'), of('noMigrationYet', 'new1')],
  });
  const before = { ...aStatus([], []), total: 2, left: 2, counted: keys('vm0', 'vm1').toSorted().join('') };
  const failed = after(on(false, 'vm0', 'vm1'), before);

  test('ends, counts its own VMs, and says what their migrations wait for', () => {
    expect(failed).toMatchObject({ state: 'Failed', reason: 'NodeGone', progress: '0/2' });
    expect(failed.message).toBe(
      'node node1 was replaced by another one of its name (uid another); 2 of 2 VMs were left on it, such as ' +
        'tenant/vm0 (Some). KubeVirt goes on with their migrations: cancel those that wait (virtctl ' +
        'evacuate-cancel, then delete the migration), or drain the new node.',
    );
  });

  test('lists those migrations until they end, and nothing else of the new node', () => {
    expect(failed.buckets).toEqual([of('blocked', 'vm0', 'vm1')]);
    const fewer = after(on(false, 'vm1'), failed);
    expect(fewer).toEqual({ ...failed, buckets: [of('blocked', 'vm1')] });
    expect(after(on(false), fewer)).toEqual({ ...failed, buckets: [] });
  });

  test('leaves them to the drain of the new node', () => {
    const { message, buckets } = after(on(true, 'vm0', 'vm1'), before);
    expect(message).toMatch(/Their migrations go on: the report of the drain of the new node counts them\.$/);
    expect(buckets).toEqual([]);
    expect(after(on(true, 'vm0'), failed)).toEqual({ ...failed, buckets: [] });
  });

  test('has nothing left where none of its VMs is on the new node', () => {
    const { message, buckets } = after(on(false), before);
    expect(message).toMatch(/; 0 of 2 VMs were left on it$/);
    expect(buckets).toEqual([]);
  });
});

describe('an upgrade', () => {
  test.each<Case>([
    [
      'begins before any VM is outdated',
      anUpgrade([]),
      undefined,
      { state: 'Running', reason: 'UnderWay', progress: '0/0', events: ['upgrade.started'] },
    ],
    [
      'is not completed while it has not settled: KubeVirt’s own number is still the old one',
      anUpgrade([]),
      aStatus([], []),
      { state: 'Running', reason: 'UnderWay', progress: '0/0', events: [] },
    ],
    [
      'is not completed while VMs are outdated, however long',
      anUpgrade([1], but({ isSettled: true })),
      aStatus([1], [1]),
      { state: 'Running', reason: 'UnderWay', progress: '0/1', events: [] },
    ],
    [
      'is completed',
      anUpgrade([], but({ isSettled: true })),
      aStatus([1, 2], []),
      { state: 'Completed', reason: 'Updated', progress: '2/2', events: ['upgrade.completed'] },
    ],
    [
      'is completed without any VM',
      anUpgrade([], but({ isSettled: true })),
      aStatus([], []),
      { state: 'Completed', reason: 'NoWorkloads', progress: '0/0', events: ['upgrade.completed'] },
    ],
    [
      'is superseded by another target',
      anUpgrade([1], but(target('newer'))),
      aStatus([1], [1]),
      { state: 'Superseded', reason: 'TargetChanged', progress: '0/1', events: ['upgrade.superseded'] },
    ],
    [
      'is superseded when KubeVirt is rolled back',
      anUpgrade([1], but(target('old'))),
      aStatus([1], [1]),
      { state: 'Superseded', reason: 'TargetChanged', progress: '0/1', events: ['upgrade.superseded'] },
    ],
    [
      'fails when KubeVirt is gone',
      anUpgrade([1], but({ kubevirt: undefined })),
      aStatus([1], [1]),
      { state: 'Failed', reason: 'KubeVirtGone', progress: '0/1', events: ['upgrade.failed'] },
    ],
    [
      'is blocked where nothing is automated',
      anUpgrade([1], but({ blockedBy: { NotAutomated: 1 }, buckets: [bucket('notAutomated', 1)] })),
      aStatus([1], [1]),
      { state: 'Blocked', reason: 'NotAutomated', progress: '0/1', events: ['upgrade.blocked'] },
    ],
  ])('%s', (...[, seen, before, want]) => {
    const status = after(seen, before);
    expect({ ...status, events: happened(status) }).toMatchObject(want);
  });
});

test('the end of an upgrade says no more than KubeVirt’s label does', () => {
  expect(after(anUpgrade([], but({ isSettled: true })), aStatus([1, 2], [])).message).toBe(
    "none of 2 VMs has KubeVirt's label of an outdated launcher any more",
  );
});

test('the end of a drain names the VMs that it did not wait for', () => {
  expect(after(aDrain([], but({ others: 2 })), aStatus([1], [1])).message).toBe(
    'every VM with an eviction strategy has left node node1: 1 VM; still there: 2 VMs without one',
  );
});

test('a drain whose last VMs migrate to its node says so', () => {
  expect(after(aDrain([], but({ arriving: 1 })), aStatus([1], [1])).message).toBe(
    'VMs that have left the node: 1 of 1; migrating to it: 1',
  );
});

describe('the time of the last migration', () => {
  const running = but({ buckets: [bucket('running', 1)] });
  const runs = aStatus([1, 2], [1, 2], { buckets: [bucket('running', 1)] });

  test.each<[string, Maintenance, ProgressStatus, string | undefined]>([
    ['is left out while none was', aDrain([1, 2]), aStatus([1, 2], [1, 2]), undefined],
    ['is not written while one runs', aDrain([1, 2], running), runs, undefined],
    ['is written when none runs any more', aDrain([1, 2]), runs, seconds(1)],
    ['is written when a VM has left unseen', aDrain([1]), aStatus([1, 2], [1, 2]), seconds(1)],
    ['stays', aDrain([1, 2]), aStatus([1, 2], [1, 2], { movedAt: seconds(0) }), seconds(0)],
  ])('%s', (...[, seen, before, want]) => {
    expect(after(seen, before).movedAt).toBe(want);
  });
});

describe('the time when KubeVirt’s own components are updated', () => {
  const rollingOut = anUpgrade([1], but({ kubevirt: { ...KUBEVIRT, observed: 'old', target: 'new' } }));
  const deployed = aStatus([1], [1], { deployedAt: seconds(0) });

  test.each<[string, Maintenance, ProgressStatus | undefined, string | undefined]>([
    ['is left out while they are not', rollingOut, aStatus([1], [1]), undefined],
    ['is written once they are', anUpgrade([1]), aStatus([1], [1]), seconds(1)],
    ['is written at once where they were before', anUpgrade([1]), undefined, seconds(1)],
    ['stays', anUpgrade([1]), deployed, seconds(0)],
    ['goes when they are replaced again', rollingOut, deployed, undefined],
    ['is left out of a drain', aDrain([1]), aStatus([1], [1]), undefined],
  ])('%s', (...[, seen, before, want]) => {
    expect(after(seen, before).deployedAt).toBe(want);
  });
});

describe('counts', () => {
  test('a repeated run changes nothing, and neither does one that is late', () => {
    const first = after(aDrain([2, 3], QUOTA), aStatus([1, 2, 3], [1, 2, 3]));
    expect(isSame(after(aDrain([2, 3], QUOTA), first, 30), first)).toBe(true);
  });

  test('a VM that comes back is left again, and is not counted twice', () => {
    const gone = after(aDrain([2]), aStatus([1, 2], [1, 2]));
    expect(after(aDrain([1, 2]), gone)).toMatchObject({ progress: '0/2' });
  });

  test('what was counted is dropped at the end', () => {
    expect(after(aDrain([1]), aStatus([1], [1])).counted).toBe(keysOf(1).join(''));
    expect(after(aDrain([]), aStatus([1], [1])).counted).toBe('');
  });
});

describe('events', () => {
  test('that repeat are 45 minutes apart', () => {
    const seen = aDrain([1, 2], QUOTA);
    const first = after(seen, aStatus([1, 2], [1, 2]), 10);
    const soon = after(seen, first, 10 + 45 * 60 - 1);
    const again = after(seen, soon, 10 + 45 * 60);
    const after1s = after(seen, again, 10 + 45 * 60 + 1);
    expect([first, soon, again, after1s].map(({ outbox }) => outbox.length)).toEqual([1, 1, 2, 2]);
  });

  test('have ids of uid and number, and numbers without gaps', () => {
    const begun = after(aDrain([1, 2], QUOTA));
    const ended = after(aDrain([]), { ...begun, outbox: begun.outbox.slice(1) });
    expect(ended.outbox.map(({ id, sequence }) => [id, sequence])).toEqual([
      ['uid-of-drain-12345678-1-2', 2],
      ['uid-of-drain-12345678-1-3', 3],
    ]);
    expect(ended.sequence).toBe(3);
  });

  test('carry the counts of their moment', () => {
    const [{ data, time }] = after(
      aDrain([2], QUOTA),
      aStatus([1, 2], [1, 2], { reported: { done: 1, at: seconds(0) } }),
    ).outbox as [ProgressStatus['outbox'][number]];
    expect(time).toBe(seconds(1));
    expect(data).toMatchObject({
      ...{ name: 'drain-12345678-1', kind: 'Drain', subject: 'node1', reason: 'Quota' },
      ...{ total: 2, done: 1, left: 1, blocked: 2, buckets: { blocked: 2 } },
      message: expect.stringContaining('tenant/vm0 (Some)'),
    });
  });

  test('of a quota name it, its keys and what is missing of each', () => {
    const quotas = [{ name: 'quota', missing: { 'requests.cpu': '605m', pods: '1' } }];
    const vms = [{ namespace: 'tenant', name: 'vm0', reason: 'NotEnough', quotas }];
    const refused = but({ blockedBy: { Quota: 1 }, buckets: [{ name: 'blocked', count: 1, vms }] });
    expect(after(aDrain([1], refused)).message).toBe(
      '1 of 1 VM left is blocked by Quota: tenant/vm0 (NotEnough: ResourceQuota quota lacks ' +
        'requests.cpu=605m, pods=1). Free quota there, or create what kubectl vmmrq preflight node node1 --suggest prints.',
    );
  });

  test('without a quota have the advice of their verdict', () => {
    const vms = [{ namespace: 'tenant', name: 'vm0', reason: 'RefusedByPolicy', message: 'no' }];
    const refused = but({ blockedBy: { Quota: 1 }, buckets: [{ name: 'blocked', count: 1, vms }] });
    expect(after(aDrain([1], refused)).message).toBe(
      '1 of 1 VM left is blocked by Quota: tenant/vm0 (RefusedByPolicy: no). ' +
        "Ask the cluster's admin to let our service accounts (mtq-system) through the named policy.",
    );
  });

  test.each<[what: string, reason: string, want: string]>([
    // Feasibility reports no verdict that a pod fits.
    ['no verdict is known', 'Unexamined', EXPLAIN],
    ['a verdict has no advice of its own', REASON.noSourcePod, EXPLAIN],
    ['a newer version has given a reason', 'Later', EXPLAIN],
    [
      'quota is lacking',
      REASON.noVmmrq,
      'Free quota there, or create what kubectl vmmrq preflight node node1 --suggest prints.',
    ],
  ])('where %s, advise only what is true', (_, reason, want) => {
    const vms = [{ namespace: 'tenant', name: 'vm0', reason }];
    const refused = but({ blockedBy: { Quota: 1 }, buckets: [{ name: 'blocked', count: 1, vms }] });
    expect(after(aDrain([1], refused)).message).toBe(
      `1 of 1 VM left is blocked by Quota: tenant/vm0 (${reason}). ${want}`,
    );
  });

  test('of a verdict that says later have its advice', () => {
    const vms = [{ namespace: 'tenant', name: 'vm0', reason: 'BackOff', message: 'later' }];
    const refused = but({ blockedBy: { Pending: 1 }, buckets: [{ name: 'waiting', count: 1, vms }] });
    expect(after(aDrain([1], refused)).message).toBe(
      '1 of 1 VM left is blocked by Pending: tenant/vm0 (BackOff: later). ' +
        "Wait, or ask the VMMRQ's admin to change it: that retries at once.",
    );
  });

  test.each<[BlockedReason, BucketName, string]>([
    ['Stopping', 'restarted', 'Force-stop these VMs: virtctl stop --force --grace-period=0.'],
    ['ExternalEviction', 'waiting', 'Another controller must move or stop these VMs: see what it does.'],
    ['NotEvicted', 'waiting', 'Nothing evicts these VMs: run kubectl drain again, or uncordon the node.'],
  ])('of %s have its advice', (reason, name, advice) => {
    const stuck = but({ blockedBy: { [reason]: 1 }, buckets: [bucket(name, 1, reason)] });
    expect(after(aDrain([1], stuck)).message).toBe(
      `1 of 1 VM left is blocked by ${reason}: tenant/vm0 (${reason}). ${advice}`,
    );
  });

  test('have no longer message than their schema allows', () => {
    const vms = [{ namespace: 'tenant', name: 'vm0', reason: 'NotEnough', message: 'x'.repeat(4_000) }];
    const refused = but({ blockedBy: { Quota: 1 }, buckets: [{ name: 'blocked', count: 1, vms }] });
    const status = after(aDrain([1], refused));
    expect(status.message.length).toBeGreaterThan(4_000);
    expect(status.outbox.map(({ data }) => data.message.length)).toEqual([2_000, 2_000]);
  });

  test('`progressed` waits where fifty are not posted: it takes no number', () => {
    const [entry] = after(aDrain([1, 2])).outbox as [ProgressStatus['outbox'][number]];
    const outbox = Array.from({ length: 50 }, (_, index) => ({ ...entry, id: String(index) }));
    const status = after(aDrain([2]), aStatus([1, 2], [1, 2], { outbox }));
    expect([status.sequence, status.outbox.length, status.reported.done]).toEqual([1, 50, 0]);
    expect(after(aDrain([]), status).outbox).toHaveLength(51);
  });
});
