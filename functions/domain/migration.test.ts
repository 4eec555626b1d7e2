import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  anAttachment,
  aTarget,
  inPhase,
  ofVm,
  onNode,
  podPhase,
  ready,
  receiving,
  withCondition,
  withContainer,
  withPriority,
} from '../../test/support/builders/kubevirt.ts';
import {
  beingDeleted,
  createdAt,
  labelled,
  named,
  withUid,
  type Change,
} from '../../test/support/builders/object.ts';
import {
  candidatesAmong,
  byPriority,
  allAdmitted,
  isFinal,
  isReceiving,
  isRejectedByQuota,
  isRunning,
  overlaps,
  referenceOf,
  sourceAttachmentOf,
  sourcePodOf,
  targetPodOf,
  blockedMigrationOf,
} from './migration.ts';
import { HELD_BACK, KUBEVIRT } from './names.ts';
import type { Condition, ContainerStatus, Migration, Pod } from './objects.ts';

const condition = (type: string, status: Condition['status']): Condition => ({ type, status });
const REFUSED = condition(KUBEVIRT.rejectedByQuota, 'True');

describe('isRejectedByQuota', () => {
  test.each<[string, Migration, boolean]>([
    ['Pending, with KubeVirt’s condition', aMigration(), true],
    ['not Pending any more: the condition is stale', aMigration(inPhase('Scheduling')), false],
    ['no condition', aMigration(withCondition()), false],
    ['the condition says no', aMigration(withCondition(condition(KUBEVIRT.rejectedByQuota, 'False'))), false],
    ['another condition', aMigration(withCondition(condition('migrationAbortRequested', 'True'))), false],
    [
      'another casing is another condition',
      aMigration(withCondition(condition('MigrationRejectedByResourceQuota', 'True'))),
      false,
    ],
    ['cancelled', aMigration(beingDeleted()), false],
    ...HELD_BACK.flatMap((type): [string, Migration, boolean][] => [
      [`held back by ${type}`, aMigration(withCondition(REFUSED, condition(type, 'True'))), false],
      [`${type} is over`, aMigration(withCondition(REFUSED, condition(type, 'False'))), true],
    ]),
    ['no status yet', aMigration(({ status: _, ...migration }) => migration), false],
  ])('%s', (_, migration, want) => {
    expect(isRejectedByQuota(migration)).toBe(want);
  });
});

test('of two targets the living one counts', () => {
  const going = beingDeleted()(aTarget());
  const living = named('virt-launcher-vm0-again')(aTarget());
  expect(targetPodOf(referenceOf(aMigration()), [going, living])).toBe(living);
  expect(targetPodOf(referenceOf(aMigration()), [going])).toBe(going);
});

describe('targetPodOf', () => {
  test.each<[string, Pod[], boolean]>([
    ['no pods', [], false],
    ['the source alone', [aLauncher()], false],
    ['its target', [aLauncher(), aTarget()], true],
    ['in any phase: it was charged', [aTarget(aMigration(), podPhase('Failed'))], true],
    ['the target of another migration', [aTarget(aMigration(named('mig1')))], false],
    [
      'of an earlier migration of the same name: the uid counts',
      [aTarget(aMigration(withUid('earlier')))],
      false,
    ],
    [
      'a pod with its UID that is no launcher',
      [aTarget(aMigration(), labelled(KUBEVIRT.launcherLabel, 'hotplug-disk'))],
      false,
    ],
  ])('%s', (_, pods, want) => {
    expect(targetPodOf(referenceOf(aMigration()), pods) !== undefined).toBe(want);
    expect(blockedMigrationOf(aMigration(), pods)).toEqual(want ? undefined : referenceOf(aMigration()));
  });
});

/** A launcher has every label of its VMI: a tenant who may create a VMI may give it the UID of another tenant's migration. */
test('the launcher of another VM with the migration’s label is not what it waits for', () => {
  const forged = labelled(KUBEVIRT.migrationJobUID, 'uid-of-mig0')(aLauncher('vm9'));
  const locked = { ...referenceOf(aMigration()), vmi: 'uid-of-vm0' };
  expect(allAdmitted([locked], [aLauncher(), forged])).toBe(false);
  expect(allAdmitted([locked], [aLauncher(), forged, aTarget()])).toBe(true);
  expect(blockedMigrationOf(aMigration(), [aLauncher(), forged])).toEqual(referenceOf(aMigration()));
  expect(blockedMigrationOf(aMigration(), [aLauncher(), forged, aTarget()])).toBeUndefined();
});

describe('with hotplugged volumes', () => {
  const source = aLauncher();
  const target = aTarget(aMigration(), ready);
  const [ours, its] = [anAttachment(source), anAttachment(target, aMigration())];
  const running = { running: {} };
  const compute = (is: Omit<ContainerStatus, 'name'>): Change<Pod> => withContainer('compute', is);
  const notRefused = aMigration(withCondition());

  test.each<[string, Pod[], boolean]>([
    ['the target is ready, and has no attachment pod', [source, ours, target], true],
    ['the target has it', [source, ours, target, its], false],
    ['in any phase: it was charged', [source, ours, target, podPhase('Pending')(its)], false],
    ['the target is not up yet', [source, ours, aTarget()], false],
    ['where the guest will run does not run', [source, ours, compute({ ready: false })(target)], false],
    ['the guest’s own probe', [source, ours, compute({ ready: false, state: running })(target)], true],
    [
      'a mesh’s proxy',
      [source, ours, withContainer('istio-proxy', { ready: false, state: running })(target)],
      true,
    ],
    [
      'another container',
      [source, ours, withContainer('hook', { ready: false, state: running })(target)],
      false,
    ],
    ['the target is going', [source, ours, beingDeleted()(target)], false],
    ['of its own is going', [source, ours, target, beingDeleted()(its)], true],
    [
      'an attachment pod of another launcher',
      [source, ours, target, anAttachment(aLauncher('vm9', withUid('other')), aMigration())],
      true,
    ],
    ['the VM has no such volumes', [source, target], false],
    ['the source’s is done', [source, podPhase('Succeeded')(ours), target], false],
    ['that of another VM', [source, anAttachment(aLauncher('vm1', withUid('other'))), target], false],
  ])('%s', (_, pods, want) => {
    const locked = want ? { ...referenceOf(notRefused), lacks: 'attachment' } : undefined;
    expect(blockedMigrationOf(notRefused, pods)).toEqual(locked);
    // The condition outlives the refusal of the target.
    expect(blockedMigrationOf(aMigration(), pods)).toEqual(locked);
  });

  test('only while Pending, and not cancelled', () => {
    const pods = [source, ours, target];
    expect(blockedMigrationOf(aMigration(inPhase('Scheduling')), pods)).toBeUndefined();
    expect(blockedMigrationOf(aMigration(beingDeleted()), pods)).toBeUndefined();
  });

  test('a target alone settles a migration only if it does not wait for an attachment pod', () => {
    const locked = { ...referenceOf(aMigration()), vmi: 'uid-of-vm0' };
    expect(allAdmitted([locked], [target])).toBe(true);
    expect(allAdmitted([locked], [its])).toBe(false);
    expect(allAdmitted([{ ...locked, lacks: 'attachment' }], [its])).toBe(false);
    expect(allAdmitted([{ ...locked, lacks: 'attachment' }], [target])).toBe(false);
    expect(allAdmitted([{ ...locked, lacks: 'attachment' }], [target, its])).toBe(true);
  });

  test('the newest attachment pod of the source has all volumes', () => {
    const old = createdAt(60)(named('old')(ours));
    expect(sourceAttachmentOf(aMigration(), [source, ours, old], 'node1')?.metadata.name).toBe('old');
    expect(sourceAttachmentOf(aMigration(), [source, old, ours], 'node1')?.metadata.name).toBe('old');
  });

  test('a migration with its target goes first, then priority decides', () => {
    const urgent = aMigration(named('mig1'), ofVm('vm1'), withPriority('system-critical'));
    const names = candidatesAmong([urgent, notRefused], [source, ours, target, aLauncher('vm1')]).map(
      ({ migration }) => migration.metadata.name,
    );
    expect(names).toEqual(['mig0', 'mig1']);
  });

  test('its second launcher is no headroom that returns by itself', () => {
    const migration = aMigration();
    const locked = { ...referenceOf(migration), lacks: 'attachment' } as const;
    const pods = [source, ours, target];
    expect(overlaps(pods)).toBe(true);
    expect(overlaps(pods, [{ migration, blocked: locked }])).toBe(false);
    const other = aMigration(named('mig1'), ofVm('vm1'));
    expect(overlaps([...pods, aLauncher('vm1'), aTarget(other)], [{ migration, blocked: locked }])).toBe(
      true,
    );
  });
});

describe('byPriority', () => {
  test('priority, then age, then name', () => {
    const pairs = [
      aMigration(named('d'), createdAt(3), withPriority('system-critical')),
      aMigration(named('c'), createdAt(3), withPriority('user-triggered')),
      aMigration(named('b'), createdAt(3), withPriority('system-maintenance')),
      aMigration(named('z'), createdAt(1)),
      aMigration(named('a'), createdAt(2)),
      aMigration(named('e'), createdAt(2), withPriority('of tomorrow')),
    ];
    for (const order of [pairs, pairs.toReversed()]) {
      expect(order.toSorted(byPriority).map(({ metadata }) => metadata.name)).toEqual([
        'd',
        'c',
        'b',
        'z',
        'a',
        'e',
      ]);
    }
  });
});

describe('sourcePodOf', () => {
  const nameOf = (...launchers: Pod[]): string | undefined =>
    sourcePodOf(aMigration(), launchers, 'node1')?.metadata.name;
  const notController = (pod: Pod): Pod => ({
    ...pod,
    metadata: {
      ...pod.metadata,
      ownerReferences: (pod.metadata.ownerReferences ?? []).map((owner) => ({ ...owner, controller: false })),
    },
  });

  test.each<[string, Pod[], string | undefined]>([
    ['no pods', [], undefined],
    ['the VM’s launcher', [aLauncher('vm1'), aLauncher()], 'virt-launcher-vm0-source'],
    ['the launcher of another VM', [aLauncher('vm1')], undefined],
    ['never its own target', [aTarget()], undefined],
    ['one that is done', [aLauncher('vm0', podPhase('Succeeded'))], undefined],
    ['one that failed', [aLauncher('vm0', podPhase('Failed'))], undefined],
    ['a pod that only mentions the VM', [aLauncher('vm0', notController)], undefined],
    [
      'of several the one on the VM’s node',
      [aLauncher('vm0', named('old'), onNode('node9')), aLauncher()],
      'virt-launcher-vm0-source',
    ],
    ['none on that node: any', [aLauncher('vm0', named('old'), onNode('node9'))], 'old'],
    [
      'a former target is a source',
      [aTarget(aMigration(named('before')), onNode('node1'))],
      'virt-launcher-vm0-for-before',
    ],
  ])('%s', (_, launchers, want) => {
    expect(nameOf(...launchers)).toBe(want);
  });
});

describe('overlaps', () => {
  test.each<[string, Pod[], boolean]>([
    ['one launcher for each VM', [aLauncher(), aLauncher('vm1')], false],
    ['source and target', [aLauncher(), aTarget()], true],
    ['the source is done', [aLauncher('vm0', podPhase('Succeeded')), aTarget()], false],
  ])('%s', (_, launchers, want) => {
    expect(overlaps(launchers)).toBe(want);
  });
});

test.each([
  ['', false, false],
  ['Pending', false, false],
  ['WaitingForSync', false, false],
  ['Synchronizing', false, false],
  ['Scheduling', true, false],
  ['Scheduled', true, false],
  ['Running', true, false],
  ['Succeeded', false, true],
  ['Failed', false, true],
])("phase '%s': running %s, final %s", (phase, running, final) => {
  expect(isRunning(aMigration(inPhase(phase)))).toBe(running);
  expect(isFinal(aMigration(inPhase(phase)))).toBe(final);
});

test.each<[string, Migration['spec'], boolean]>([
  ['is sent', { sendTo: { migrationID: 'a' } }, false],
  ['receives', { receive: { migrationID: 'a' } }, true],
  ['is sent, by an id that is too long to be kept', { sendTo: {} }, false],
  ['is sent to itself', { sendTo: { migrationID: 'a' }, receive: { migrationID: 'a' } }, true],
])('isRunning: one that %s, while Scheduling', (_, spec, running) => {
  expect(isRunning({ ...aMigration(inPhase('Scheduling')), spec })).toBe(running);
});

test('isReceiving: not a migration that is sent to itself', () => {
  const toItself = aMigration(receiving('a'), (one) => ({
    ...one,
    spec: { ...one.spec, sendTo: { migrationID: 'a' } },
  }));
  const unreadable = aMigration((one) => ({ ...one, spec: { ...one.spec, receive: {} } }));
  const all = [aMigration(), aMigration(receiving('a')), toItself, unreadable];
  expect(all.map(isReceiving)).toEqual([false, true, false, true]);
});
