import { describe, expect, test } from '@jest/globals';
import {
  aMigration,
  aVmi,
  evictedFrom,
  inPhase,
  withCondition,
  withPriority,
} from '../../test/support/builders/kubevirt.ts';
import { aProgress, aStatus, bucket } from '../../test/support/builders/maintenance.ts';
import {
  annotated,
  beingDeleted,
  build,
  createdAt,
  labelled,
  metadata,
  NOW,
  seconds,
  type Change,
} from '../../test/support/builders/object.ts';
import { aKubeVirt, aVm, protectedBy } from '../../test/support/builders/preflight.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { Migration, VirtualMachineInstance } from '../../functions/domain/objects.ts';
import type { Maintenance } from '../../functions/domain/progress/maintenance.ts';
import type { MaintenanceProgress, ProgressStatus } from '../../functions/domain/progress/progress-object.ts';
import { keyOf } from '../../functions/progress/counts.ts';
import { observe, outdated, type MaintenanceFacts } from './observe.ts';

const vmiIn = (phase: string | undefined): VirtualMachineInstance =>
  labelled(KUBEVIRT.outdatedLauncher, '')({ ...aVmi(), status: phase === undefined ? {} : { phase } });

/** A cordoned node, and slots are left. */
const FACTS: MaintenanceFacts = {
  kubevirt: undefined,
  node: { metadata: metadata('node1'), spec: { unschedulable: true } },
  vmis: [],
  arriving: [],
  migrations: new Map(),
  progresses: [],
  isFull: false,
  more: () => ({ isQueued: false, isLocked: false }),
  isSettled: false,
  label: 'drain-12345678',
  now: NOW,
};
const onNode1 = (different: Partial<MaintenanceFacts>): Maintenance =>
  observe({ kind: 'Drain', node: 'node1' }, { ...FACTS, ...different });

test.each<[string | undefined, string[]]>([
  ['Running', ['vm0']],
  ['Pending', []],
  ['Scheduling', []],
  ['Failed', []],
  [undefined, []],
])(
  'a VMI in phase %s with the label of an outdated launcher, which a user may create it with: %j',
  (phase, wanted) => {
    expect(outdated({ ...FACTS, vmis: [vmiIn(phase)] }).map(({ name }) => name)).toEqual(wanted);
  },
);

/** A migration of the workload updater, for an upgrade or for a change of the VM. */
const byUpdater = annotated(KUBEVIRT.workloadUpdate, '')(aMigration());

test.each<[string, Migration, string[]]>([
  ['of an upgrade', withPriority('system-critical')(byUpdater), ['vm0']],
  ['of a change of the VM', withPriority('user-triggered')(byUpdater), []],
  // A migration does not show which of both it is before KubeVirt 1.7 (facts/kubevirt.md §3.1).
  ['without a priority', byUpdater, []],
])('a VM without the label counts for an upgrade by a migration %s', (_, migration, wanted) => {
  const migrations = new Map([['tenant/vm0', migration]]);
  const counted = (...vmis: VirtualMachineInstance[]): string[] =>
    outdated({ ...FACTS, vmis, migrations }).map(({ name }) => name);
  expect(counted()).toEqual(wanted);
  expect(counted(vmiIn('Running'))).toEqual(['vm0']);
});

test.each<[string, VirtualMachineInstance, string[], object]>([
  ['waits for one that is being deleted', beingDeleted()(vmiIn('Running')), ['Stopping'], {}],
  ['says when it does not stop', beingDeleted(-420)(vmiIn('Running')), ['Stopping'], { Stopping: 1 }],
  ['does not wait for one that has stopped', beingDeleted()(vmiIn('Succeeded')), [], {}],
])('an upgrade with a VM in an outdated launcher %s', (...[, vmi, want, blockedBy]) => {
  const seen = observe({ kind: 'Upgrade' }, { ...FACTS, vmis: [vmi] });
  expect(seen.buckets.flatMap(({ vms }) => vms.map(({ reason }) => reason))).toEqual(want);
  expect(seen.blockedBy).toEqual(blockedBy);
});

/** node1 with vm0, whose migration waits for a slot since long ago. */
const drained = (current?: MaintenanceProgress, ...vmis: VirtualMachineInstance[]): Maintenance =>
  onNode1({
    vmis: [aVm(), ...vmis],
    migrations: new Map([
      ['tenant/vm0', annotated(KUBEVIRT.evacuation, 'node1')(createdAt(-999)(aMigration(withCondition())))],
    ]),
    progresses: current === undefined ? [] : [current],
    more: () => ({ isQueued: true, isLocked: false }),
  });

test.each<[string, MaintenanceProgress | undefined, object]>([
  ['no report', undefined, { Limit: 1 }],
  ['nothing moved', aProgress('Drain', aStatus([1], [1])), { Limit: 1 }],
  ['a migration ran', aProgress('Drain', aStatus([1], [1], { buckets: [bucket('running', 1)] })), {}],
  ['more VMs were left', aProgress('Drain', aStatus([1, 2], [1, 2])), {}],
  ['one moved a moment ago', aProgress('Drain', aStatus([1], [1], { movedAt: seconds(-9) })), {}],
  ['one moved long ago', aProgress('Drain', aStatus([1], [1], { movedAt: seconds(-360) })), { Limit: 1 }],
  [
    'its target found no node',
    aProgress(
      'Drain',
      aStatus([1], [1], {
        buckets: [
          {
            ...bucket('waiting', 1, 'TargetPodNotReady'),
            vms: [{ namespace: 'tenant', name: 'vm0', reason: 'TargetPodNotReady', since: seconds(-400) }],
          },
        ],
      }),
    ),
    { Capacity: 1 },
  ],
])('a VM that waits for a slot, where by the last status %s', (_, current, blockedBy) => {
  expect(drained(current).blockedBy).toEqual(blockedBy);
});

test.each<[string, string, Partial<ProgressStatus>, object]>([
  ['while KubeVirt updates its own components', 'old', {}, {}],
  ['that KubeVirt could begin a moment ago', 'new', { deployedAt: seconds(-359) }, {}],
  ['that KubeVirt could begin long ago', 'new', { deployedAt: seconds(-360) }, { Pending: 1 }],
])('a VM without a migration, in an upgrade %s', (...[, observed, status, want]) => {
  const current = aProgress('Upgrade', aStatus([1], [1], { startedAt: seconds(-999), ...status }));
  const kubevirt = {
    ...aKubeVirt(),
    status: { observedDeploymentID: observed, targetDeploymentID: 'new' },
  };
  const facts = { ...FACTS, kubevirt, node: undefined, vmis: [vmiIn('Running')], progresses: [current] };
  const { blockedBy } = observe({ kind: 'Upgrade' }, facts);
  expect(blockedBy).toEqual(want);
});

test.each([
  ['1m0s', { Pending: 1 }],
  ['10m0s', {}],
])('a VM without a migration, in an upgrade that evicts VMs each %s', (batchEvictionInterval, want) => {
  const status = { startedAt: seconds(-700), deployedAt: seconds(-700) };
  const { blockedBy } = observe(
    { kind: 'Upgrade' },
    {
      ...FACTS,
      kubevirt: {
        ...aKubeVirt(),
        spec: { workloadUpdateStrategy: { workloadUpdateMethods: ['Evict'], batchEvictionInterval } },
      },
      vmis: [protectedBy('LiveMigrate')(vmiIn('Running'))],
      progresses: [aProgress('Upgrade', aStatus([1], [1], status))],
    },
  );
  expect(blockedBy).toEqual(want);
});

const running = (vm: string): readonly [string, Migration] => [
  `tenant/${vm}`,
  aMigration(inPhase('Running')),
];

test.each<[string, Partial<MaintenanceFacts>, object]>([
  ['are left', { migrations: new Map([running('vm1')]) }, { Pending: 1 }],
  ['the cluster has none left', { isFull: true }, { Limit: 1 }],
  ['its node has none left', { migrations: new Map([running('vm1'), running('vm2')]) }, { Limit: 1 }],
  [
    'its node has none left, by KubeVirt’s own limit',
    {
      kubevirt: aKubeVirt({ migrations: { parallelOutboundMigrationsPerNode: 1 } }),
      migrations: new Map([running('vm2')]),
    },
    { Limit: 1 },
  ],
])('a VM that KubeVirt creates no migration for, where of the slots %s', (_, different, want) => {
  const progresses = [aProgress('Drain', aStatus([1], [1], { startedAt: seconds(-360) }))];
  // The drain does not wait for vm1 and vm2, which their users migrate.
  const vmis = [evictedFrom('node1')(aVm()), aVmi('vm1'), aVmi('vm2')];
  const { blockedBy } = onNode1({ vmis, progresses, ...different });
  expect(blockedBy).toEqual(want);
});

const arrives = (migration: Migration): Partial<MaintenanceFacts> => ({
  arriving: [aVm('vm0', 'node2')],
  migrations: new Map([['tenant/vm0', migration]]),
});

test.each<[string, Partial<MaintenanceFacts>, number | undefined]>([
  ['are not listed', { arriving: undefined }, undefined],
  ['are on their way', arrives(aMigration(inPhase('Running'))), 1],
  ['have the label of a migration before', arrives(aMigration(withCondition())), 0],
  ['have the label of a migration that has ended', { arriving: [aVm('vm0', 'node2')] }, 0],
  [
    'have no eviction strategy',
    { ...arrives(aMigration(inPhase('Running'))), arriving: [aVmi('vm0', 'node2')] },
    0,
  ],
])('VMs that migrate to the node, where those %s', (_, different, want) => {
  expect(onNode1(different).arriving).toBe(want);
});

/** Moved vm0, and ended this many seconds after NOW. */
const moving = (after: number, ...changes: Change<Migration>[]): Migration =>
  build(aMigration(inPhase('Succeeded')), [
    (migration) => ({
      ...migration,
      status: {
        ...migration.status,
        phaseTransitionTimestamps: [{ phase: 'Succeeded', phaseTransitionTimestamp: seconds(after) }],
        migrationState: { sourceNode: 'node1' },
      },
    }),
    ...changes,
  ]);
const offNode1 = annotated(KUBEVIRT.evacuation, 'node1');
const cordonedAt = (after: number): Partial<MaintenanceFacts> => ({
  node: {
    metadata: metadata('node1'),
    spec: {
      unschedulable: true,
      taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule', timeAdded: seconds(after) }],
    },
  },
});
/** Created a minute before NOW, and ended so many seconds later. */
const ended = (kind: 'Drain' | 'Upgrade', after: number, clockWrongBy = 0): Partial<MaintenanceFacts> => {
  const [startedAt, endedAt] = [seconds(clockWrongBy - 60), seconds(clockWrongBy + after - 60)];
  return {
    progresses: [
      createdAt(-60)(aProgress(kind, aStatus([], [], { state: 'Completed', startedAt, endedAt }))),
    ],
  };
};

describe('a drain is about a VM that has left by', () => {
  test.each<[string, Migration, Partial<MaintenanceFacts>, boolean]>([
    ['its evacuation', moving(-9, offNode1), {}, true],
    [
      'one that virt-controller has not written the node of',
      createdAt(-9)(aMigration(inPhase('Succeeded'), offNode1)),
      {},
      true,
    ],
    ['one that began and failed', createdAt(-9)(aMigration(inPhase('Failed'), offNode1)), {}, false],
    ['its user’s migration', moving(-9), {}, false],
    ['the evacuation of another node', moving(-9, annotated(KUBEVIRT.evacuation, 'node2')), {}, false],
    [
      'a migration from another node, with an annotation that is not KubeVirt’s',
      moving(-9, offNode1, (one) => ({
        ...one,
        status: { ...one.status, migrationState: { sourceNode: 'node2' } },
      })),
      {},
      false,
    ],
    ['one that ended ten minutes ago', moving(-600, offNode1), {}, false],
    ['one that ended before the node was cordoned', moving(-10, offNode1), cordonedAt(-9), false],
    ['one that ended after the node was cordoned', moving(-9, offNode1), cordonedAt(-9), true],
    [
      'one that the drain before this one counted',
      createdAt(-30)(moving(-20, offNode1)),
      ended('Drain', 40),
      false,
    ],
    [
      'one that ended after the drain before this one',
      createdAt(-30)(moving(-18, offNode1)),
      ended('Drain', 40),
      true,
    ],
    [
      'one that the drain before this one counted, whose times are of a wrong clock',
      createdAt(-30)(moving(-20, offNode1)),
      ended('Drain', 40, -7_200),
      false,
    ],
    [
      'one from before the drain before this one, by a wrong clock of virt-controller',
      createdAt(-61)(moving(-1, offNode1)),
      ended('Drain', 40),
      false,
    ],
  ])('%s', (...[, move, different, isCounted]) => {
    const { moved } = onNode1({ ...different, moves: [move] });
    expect(moved).toEqual(isCounted ? [keyOf('tenant', 'vm0')] : []);
  });
});

describe('an upgrade is about a VM that was moved by', () => {
  const update = annotated(KUBEVIRT.workloadUpdate, '');
  const critical = withPriority('system-critical');
  test.each<[string, Migration, Partial<MaintenanceFacts>, boolean]>([
    ['its update', moving(-9, update, critical), {}, true],
    ['a change of the VM', moving(-9, update, withPriority('user-triggered')), {}, false],
    ['an evacuation', moving(-9, offNode1, critical), {}, false],
    ['the upgrade before it', createdAt(-30)(moving(-20, update, critical)), ended('Upgrade', 40), false],
  ])('%s', (...[, move, different, isCounted]) => {
    const { moved } = observe({ kind: 'Upgrade' }, { ...FACTS, ...different, moves: [move] });
    expect(moved).toEqual(isCounted ? [keyOf('tenant', 'vm0')] : []);
  });
});

test('VMs without an eviction strategy are counted apart', () => {
  expect(drained(undefined, aVmi('vm1'))).toMatchObject({ left: [expect.anything()], others: 1 });
});
