import { describe, expect, test } from '@jest/globals';
import {
  aLauncherPod,
  arrived,
  aWaitingVmi,
  firstAttempt,
  going,
  migrated,
  OWN_STATE,
  received,
  sent,
  summary,
  writtenRecord,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { aVm, itsVmi } from '../../../test/support/builders/live.ts';
import { annotated, NOW, seconds, withUid } from '../../../test/support/builders/object.ts';
import type { VmStatus } from '../../domain/live/forklift.ts';
import type { VirtualMachine, Vmim } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION, LIVE_KUBEVIRT } from '../../domain/live/names.ts';
import { FIELD_MANAGER } from '../../domain/names.ts';
import { LOST_VMI, recordOf, type RunRecord } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import type { Condition } from '../../domain/objects.ts';
import { decide } from './wait-for-state-transfer.ts';

const POD = [aLauncherPod('target-launcher')];
const JUST_MADE = POD.map((pod) => ({
  ...pod,
  metadata: { ...pod.metadata, creationTimestamp: seconds(0) },
}));
/** A VM with a restart that `virtctl restart` has requested; KubeVirt carries it out at the end of the migration. */
const TO_RESTART = aVm((vm) => ({
  ...vm,
  status: {
    ...vm.status,
    stateChangeRequests: [{ action: 'Stop', uid: itsVmi().metadata.uid }, { action: 'Start' }],
  },
}));
const EVACUATING = itsVmi((vmi) => ({ ...vmi, status: { ...vmi.status, evacuationNodeName: 's-node' } }));
const condition = (type: string, message = ''): Condition => ({ type, status: 'True', message });

/** The status in which the VM waits for this, since so many milliseconds after NOW. */
const shownWaiting = (reason: string, ms: number): VmStatus => ({
  phase: 'WaitForStateTransfer',
  pipeline: [],
  name: 'web',
  conditions: [
    {
      ...{ type: 'Waiting', status: 'True', category: 'Advisory', reason, message: '' },
      lastTransitionTime: new Date(NOW + ms).toISOString(),
    },
  ],
});

const transfer = (sending: string, receiving: string, more: Different = {}): RecordedRun =>
  firstAttempt({
    ...more,
    source: { vmims: [sent(sending)], ...more.source },
    target: { vmims: [received(receiving)], ...more.target },
  });

describe('before the cut-over', () => {
  const rejected = received('Pending', (vmim) => ({
    ...vmim,
    status: { phase: 'Pending', conditions: [condition('migrationRejectedByResourceQuota')] },
  }));
  const blocked = sent('Synchronizing', (vmim) => ({
    ...vmim,
    status: {
      phase: 'Synchronizing',
      conditions: [condition('decentralizedMigrationBlocked', 'x509: unknown authority')],
    },
  }));
  const minuteLater = { now: NOW + 61_000, pods: POD };
  const touched = (vmim: Vmim): Vmim => ({
    ...vmim,
    metadata: { ...vmim.metadata, annotations: { [LIVE_ANNOTATION.touched]: '1' } },
  });
  const filledLate = annotated(LIVE_KUBEVIRT.pendingTimeout, '1800');
  const late = { now: NOW + 901_000 };

  test.each<[string, RecordedRun, string]>([
    ['the clusters meet', transfer('Synchronizing', 'WaitingForSync'), 'wait TargetPending'],
    [
      'the clusters do not trust each other',
      transfer('', '', { source: { vmims: [blocked] } }),
      'wait Synchronizing',
    ],
    [
      'a quota refuses the launcher',
      transfer('Scheduling', '', { target: { vmims: [rejected] } }),
      'wait OverQuota',
    ],
    [
      'the launcher starts',
      transfer('Scheduling', 'Scheduling', { target: { pods: POD } }),
      'wait TargetPending',
    ],
    [
      'the source has not heard of the launcher for a minute',
      transfer('Scheduling', 'Scheduled', { target: { ...minuteLater, vmims: [received('Scheduled')] } }),
      `replace VirtualMachineInstanceMigration ${received('').metadata.name} on target`,
    ],
    [
      'and the target’s VMIM was touched for it',
      transfer('Scheduling', 'Scheduled', {
        target: { ...minuteLater, vmims: [received('Scheduled', touched)] },
      }),
      'wait TargetPending',
    ],
    ['the guest is copied', transfer('Running', 'Running', { target: { pods: POD } }), 'wait Transferring'],
    [
      'a restart is requested meanwhile',
      transfer('Running', 'Running', {
        source: { vm: TO_RESTART, vmims: [sent('Running')] },
        target: { pods: POD, vmims: [received('Running')] },
      }),
      'fail SourceStopped',
    ],
    [
      'no launcher after 15 minutes',
      transfer('Scheduling', 'Pending', {
        hub: { ...late, status: shownWaiting('TargetPending', 0) },
        source: { ...late, vmims: [sent('Scheduling')] },
      }),
      'fail TransferFailed',
    ],
    [
      'the guest is copied for longer than that',
      transfer('Running', 'Running', {
        source: { ...late, vmims: [sent('Running')] },
        target: { pods: POD, vmims: [received('Running')] },
      }),
      'wait Transferring',
    ],
    [
      'the guest is copied for longer than its size allows',
      transfer('Running', 'Running', {
        target: { now: NOW + 4_501_000, pods: JUST_MADE, vmims: [received('Running')] },
      }),
      'fail TransferFailed',
    ],
    [
      'the volumes were filled before that',
      transfer('Running', 'Running', {
        target: { now: NOW + 4_501_000, pods: JUST_MADE, vmims: [received('Running', filledLate)] },
      }),
      'wait Transferring',
    ],
    [
      'the launcher had waited for hours before that',
      transfer('Running', 'Running', {
        source: { now: NOW + 9 * 3_600_000, vmims: [sent('Running')] },
        target: { now: NOW + 4_499_000, pods: JUST_MADE, vmims: [received('Running')] },
      }),
      'wait Transferring',
    ],
    [
      'no launcher after 15 minutes, because other migrations take all slots of KubeVirt',
      transfer('Scheduling', 'Pending', {
        source: { ...late, vmims: [sent('Scheduling')] },
        target: { isQueued: true, vmims: [received('Pending')] },
      }),
      'wait TargetBusy',
    ],
    [
      'a slot has become free since',
      transfer('Scheduling', 'Pending', {
        hub: { now: NOW + 8_000_000, status: shownWaiting('TargetPending', 7_101_000) },
        source: { now: NOW + 8_000_000, vmims: [sent('Scheduling')] },
      }),
      'wait TargetPending',
    ],
    [
      'a slot was free for 15 minutes',
      transfer('Scheduling', 'Pending', {
        hub: { now: NOW + 8_000_000, status: shownWaiting('TargetPending', 7_099_000) },
        source: { now: NOW + 8_000_000, vmims: [sent('Scheduling')] },
      }),
      'fail TransferFailed',
    ],
    [
      'the same after a day',
      transfer('Scheduling', 'Pending', {
        source: { now: NOW + 86_401_000, vmims: [sent('Scheduling')] },
        target: { isQueued: true, vmims: [received('Pending')] },
      }),
      'fail TransferFailed',
    ],
    ['the target has failed', transfer('Running', 'Failed'), 'fail TransferFailed'],
    ['the source has failed', transfer('Failed', 'Running'), 'fail TransferFailed'],
    [
      'the target’s VMIM was deleted while the guest is copied: the guest may still arrive',
      transfer('Running', '', { target: { vmims: [], pods: POD } }),
      'wait Transferring',
    ],
    [
      'the source’s VMIM is gone with its VMI: the target will fail or succeed',
      transfer('', 'Running', {
        source: { vmims: [], vmi: undefined },
        target: { vmims: [received('Running')], pods: POD },
      }),
      'wait TargetPending',
    ],
    [
      'the source’s node is drained, and there is no launcher: withdrawn',
      transfer('Scheduling', 'Pending', { source: { vmims: [sent('Scheduling')], vmi: EVACUATING } }),
      'replace VirtualMachine web on source',
    ],
    [
      'the source’s node is drained, and the launcher is there',
      transfer('Running', 'Running', {
        source: { vmims: [sent('Running')], vmi: EVACUATING },
        target: { pods: POD, vmims: [received('Running')] },
      }),
      'wait Transferring',
    ],
  ])('%s', (_what, run, wanted) => {
    expect(summary(decide(run))).toBe(wanted);
  });

  test('a failure says why, as KubeVirt does', () => {
    const vmi = aWaitingVmi(migrated({ failed: true, failureReason: 'Target pod is down' }));
    expect(
      decide(transfer('Running', 'Failed', { target: { vmi, vmims: [received('Failed')] } })),
    ).toMatchObject({
      message: expect.stringContaining('has failed: Target pod is down'),
    });
  });

  test.each<[string, RecordedRun, string]>([
    [
      'KubeVirt creates none',
      transfer('Scheduling', 'Pending'),
      'the target has no launcher yet: see the Events of the VMI target/web there',
    ],
    [
      'the API server’s own words',
      transfer('Scheduling', 'Pending', { target: { refusal: 'maximum memory usage per Pod is 1Gi' } }),
      'the API server refuses the launcher on the target: maximum memory usage per Pod is 1Gi',
    ],
    [
      'it is there',
      transfer('Scheduling', 'Scheduling', { target: { pods: POD, refusal: 'of before' } }),
      'the VMIM on the source is Scheduling',
    ],
    [
      'a quota that does not count it by our figures',
      transfer('Scheduling', '', { target: { vmims: [rejected], refusal: 'exceeded quota: all-of-them' } }),
      'a quota refuses the launcher on the target: exceeded quota: all-of-them',
    ],
    [
      'a quota',
      transfer('Scheduling', '', {
        target: { vmims: [rejected], fit: { missing: '2 pods', isLetIn: false } },
      }),
      'a quota refuses the launcher on the target: 2 pods',
    ],
    [
      'a quota, where a VMMRQ was to let it in',
      transfer('Scheduling', '', {
        target: { vmims: [rejected], fit: { missing: '2 pods', isLetIn: true } },
      }),
      'a quota refuses the launcher on the target: 2 pods. A VMMRQ gives that: if this stays, see that managed-tenant-quota runs on that cluster',
    ],
  ])('a wait for the launcher says where the cause is: %s', (_what, run, message) => {
    expect(decide(run)).toMatchObject({ kind: 'wait', message });
  });

  test.each<[string, Partial<RecordedRun['target']>, boolean]>([
    ['a VMMRQ gives what is missing', { fit: { missing: '2 pods', isLetIn: true } }, true],
    ['a VMMRQ has just given it', { fit: { missing: undefined, isLetIn: false } }, true],
    ['nothing gives it', { fit: { missing: '2 pods', isLetIn: false } }, false],
  ])(
    'a refusal by a quota is no blocker at once where it usually ends by itself: %s',
    (_what, target, endsItself) => {
      const run = transfer('Scheduling', '', { target: { vmims: [rejected], ...target } });
      expect(decide(run)).toMatchObject({ kind: 'wait', reason: 'OverQuota', endsItself });
    },
  );

  test('a withdrawn attempt is recorded as such', () => {
    const run = transfer('Scheduling', 'Pending', {
      source: { vmims: [sent('Scheduling')], vmi: EVACUATING },
    });
    expect(writtenRecord(decide(run))).toEqual({ ...run.record, withdrawn: true });
  });
});

describe('the guest was seen on the target, which has not said that it arrived', () => {
  const marked: Partial<RunRecord> = { marks: [{ mark: 'GuestReady', at: seconds(0) }] };
  const seen = (different: Different): RecordedRun => firstAttempt(different, marked);

  test.each<[string, RecordedRun, string]>([
    ['for a moment', seen({ source: { vmims: [sent('Running')] } }), 'wait Transferring'],
    [
      'and a restart is requested, which KubeVirt would carry out after the arrival',
      seen({ source: { vm: TO_RESTART, vmims: [sent('Running')] } }),
      'replace VirtualMachine web on source',
    ],
    [
      'and a restart is requested of a VM that may be the right one',
      seen({
        source: { vm: TO_RESTART, vmims: [sent('Failed')] },
        target: { vmims: [received('Failed')] },
      }),
      'fail CutOverUndecided',
    ],
    [
      'for ten minutes',
      seen({ source: { vmims: [sent('Running')] }, hub: { now: NOW + 601_000 } }),
      'fail CutOverUndecided',
    ],
    [
      'and both have failed',
      seen({ source: { vmims: [sent('Failed')] }, target: { vmims: [received('Failed')] } }),
      'fail CutOverUndecided',
    ],
    ['and both are gone', seen({ target: { vmims: [] } }), 'fail CutOverUndecided'],
  ])('%s', (_what, run, wanted) => {
    expect(summary(decide(run))).toBe(wanted);
  });

  /** A run in post-copy for so many seconds: the guest still gets the rest of its memory. */
  const pulling = (since: number, different: Different = {}, record: Partial<RunRecord> = {}): RecordedRun =>
    firstAttempt(
      {
        source: {
          vmims: [sent('Running')],
          vmi: itsVmi(migrated({ ...OWN_STATE, mode: 'PostCopy' })),
          ...different.source,
        },
        target: { vmims: [received('Running')], ...different.target },
        hub: { now: NOW + since * 1_000 },
      },
      { ...marked, transferSeconds: 3_600, ...record },
    );
  const onTarget = aWaitingVmi(migrated({ mode: 'PostCopy' }));

  test.each<[string, RecordedRun, string]>([
    ['for a moment', pulling(0), 'wait Transferring'],
    ['for as long as its size allows', pulling(3_599), 'wait Transferring'],
    ['for longer', pulling(3_600), 'fail CutOverUndecided'],
    ['for ten minutes, of a small VM', pulling(599, {}, { transferSeconds: 60 }), 'wait Transferring'],
    ['for longer, of a small VM', pulling(600, {}, { transferSeconds: 60 }), 'fail CutOverUndecided'],
    [
      'as the target says, whose source is gone',
      pulling(601, { source: { vmims: [], vmi: undefined }, target: { vmi: onTarget } }),
      'wait Transferring',
    ],
    [
      'until both have failed',
      pulling(0, { source: { vmims: [sent('Failed')] }, target: { vmims: [received('Failed')] } }),
      'fail CutOverUndecided',
    ],
  ])('and gets the rest of its memory there: %s', (_what, run, wanted) => {
    expect(summary(decide(run))).toBe(wanted);
  });

  test.each<[string, RecordedRun, RegExp]>([
    [
      'its node said so',
      seen({ target: { vmims: [] } }),
      /^the guest was active on the target, and its VMIM there is gone: nothing/,
    ],
    [
      'KubeVirt alone said so (kubevirt#17261)',
      firstAttempt(
        { source: { vmims: [sent('Failed')] }, target: { vmims: [received('Failed')] } },
        { marks: [{ mark: 'Received', at: seconds(0) }] },
      ),
      /^KubeVirt reports that the guest has left the source, and its VMIM there is Failed/,
    ],
  ])('what the message says of the guest: %s', (_what, run, wanted) => {
    expect(decide({ ...run, hub: { ...run.hub, now: NOW + 601_000 } })).toMatchObject({
      message: expect.stringMatching(wanted),
    });
  });

  test.each([0, 3_600])('no advice ends it while it gets the rest of its memory, after %i s', (since) => {
    expect(decide(pulling(since))).toMatchObject({
      message: expect.stringMatching(/both VMs are needed until/),
    });
  });
});

test('a restart that is requested is taken off before the halt, which waits for no right to do so', () => {
  const run = firstAttempt(
    { source: { vm: TO_RESTART }, target: { vmi: aWaitingVmi(arrived), vmims: [received('Succeeded')] } },
    { arrivedAt: seconds(0) },
  );
  expect(decide(run)).toMatchObject({
    writes: [
      {
        ...{ subresource: 'status', isOptional: true },
        object: { status: expect.not.objectContaining({ stateChangeRequests: expect.anything() }) },
      },
      { object: { spec: { runStrategy: 'Halted' } } },
    ],
  });
});

describe('the guest has arrived', () => {
  const HALTED = aVm((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Halted' } }));
  const UP = { vmi: aWaitingVmi(arrived), vmims: [received('Succeeded')] };
  const DOWN = { vmi: undefined, vmims: [received('Succeeded')] };
  const there = (different: Different, record: Partial<RunRecord> = {}): RecordedRun =>
    firstAttempt({ target: UP, ...different }, { arrivedAt: seconds(0), ...record });
  const RESTARTED = itsVmi(withUid('another'));
  /** An owner has undone its halt so many seconds before NOW. */
  const undone = (
    since: number,
    source: NonNullable<Different['source']>,
    hub: Different['hub'] = {},
  ): RecordedRun => there({ source, hub }, { halted: true, undone: { at: seconds(-since), by: 'argocd' } });
  /** A VMIM whose VMI is gone. */
  const left = (vmim: Vmim, hub: Different['hub'] = {}): RecordedRun =>
    there({ source: { vm: HALTED, vmi: undefined, vmims: [vmim] }, hub });
  const VMIM = `VirtualMachineInstanceMigration ${sent('').metadata.name}`;
  const HALT = 'replace VirtualMachine web on source';
  const REMOVE = 'delete VirtualMachineInstance web on source';

  test.each<[string, RecordedRun, string]>([
    ['the source VM is halted first', there({}), HALT],
    ['also while the one on the target is down', there({ target: DOWN }), HALT],
    ['then its VMI goes', there({ source: { vm: HALTED } }), REMOVE],
    [
      'which KubeVirt does by itself',
      there({ source: { vm: HALTED, vmi: going()(itsVmi()) } }),
      'wait EndingSource',
    ],
    ['its VMIM goes after its VMI', left(sent('Succeeded')), 'wait EndingSource'],
    ['its VMIM is going', left(going(-9)(sent('Running'))), 'wait EndingSource'],
    [
      'its VMIM is going, which KubeVirt looks at no more without its VMI',
      left(going(-11)(sent('Running'))),
      `replace ${VMIM} on source`,
    ],
    [
      'also for a day',
      left(going(-11)(sent('Running')), { now: NOW + 86_401_000 }),
      `replace ${VMIM} on source`,
    ],
    ['it is off', there({ source: { vm: HALTED, vmi: undefined } }), 'done'],
    [
      'a restart is requested, which would start it again',
      there({ source: { vm: TO_RESTART } }),
      'replace VirtualMachine web on source, replace VirtualMachine web on source',
    ],
    [
      'a start is still requested',
      there({
        source: { vm: { ...HALTED, status: { stateChangeRequests: [{ action: 'Start' }] } }, vmi: undefined },
      }),
      'replace VirtualMachine web on source',
    ],
    ['an owner starts it again', there({ source: { vmi: RESTARTED } }, { halted: true }), HALT],
    ['what it started goes too', there({ source: { vm: HALTED, vmi: RESTARTED } }), REMOVE],
    [
      'but not while the one on the target is down: nobody knows which disks are wanted',
      there({ source: { vmi: RESTARTED }, target: DOWN }, { halted: true }),
      'wait SourceStartedAgain',
    ],
    [
      'nobody has decided for a day',
      there({ source: { vmi: RESTARTED }, target: DOWN, hub: { now: NOW + 86_401_000 } }, { halted: true }),
      'fail SourceNotVerified',
    ],
    ['an owner starts it again in the next moment', undone(9, { vmi: RESTARTED }), 'wait SourceStartedAgain'],
    ['an owner starts it again a while later', undone(10, { vmi: RESTARTED }), HALT],
    ['what it started goes', undone(10, { vm: HALTED, vmi: RESTARTED }), REMOVE],
    [
      'what it started is going',
      undone(10, { vm: HALTED, vmi: going()(RESTARTED) }),
      'wait SourceStartedAgain',
    ],
    ['an owner may start it again', undone(599, { vm: HALTED, vmi: undefined }), 'wait SourceStartedAgain'],
    ['an owner has left it off', undone(600, { vm: HALTED, vmi: undefined }), 'done'],
    [
      'an owner starts it again for a day',
      undone(-86_392, { vmi: RESTARTED, now: NOW + 86_401_000 }, { now: NOW + 86_401_000 }),
      'fail SourceNotVerified',
    ],
    ['also after a day it is halted', there({ hub: { now: NOW + 86_401_000 } }), HALT],
  ])('%s', (_what, run, wanted) => {
    expect(summary(decide(run))).toBe(wanted);
  });

  test('what an owner does is recorded with its name, and said', () => {
    const managedFields = [{ manager: 'argocd', fieldsV1: { 'f:spec': { 'f:runStrategy': {} } } }];
    const vm = aVm((one) => ({ ...one, metadata: { ...one.metadata, managedFields } }));
    const run = there({ source: { vm, vmi: RESTARTED } }, { halted: true });
    expect(writtenRecord(decide(run))).toEqual({ ...run.record, undone: { at: seconds(0), by: 'argocd' } });
    expect(decide(undone(0, { vm, vmi: RESTARTED }))).toMatchObject({
      message: expect.stringMatching(/field manager argocd.*set the one on the source to Halted/),
    });
  });

  /** Whatever the writers of the VM have done since, which managed fields and generations tell (recorded: cross-source-edited). */
  const edited = (since: number, manager = 'argocd'): VirtualMachine =>
    aVm((one) => {
      const fieldsV1 = { 'f:spec': { 'f:runStrategy': {} } };
      const managedFields = [{ manager, time: seconds(since), fieldsV1 }];
      return { ...one, metadata: { ...one.metadata, generation: 6, managedFields } };
    });
  const ITS_OWN = itsVmi();

  test.each<[string, Partial<RecordedRun['source']>, Partial<RunRecord>, object | undefined]>([
    ['its VMI is there', { vm: edited(-3_600), vmi: ITS_OWN }, {}, undefined],
    ['the VM was edited meanwhile, several times', { vm: edited(-1), vmi: ITS_OWN }, {}, undefined],
    ['it has another VMI, and who started it is not known', { vm: edited(-1), vmi: RESTARTED }, {}, {}],
    ['it is about to get another VMI', { vm: edited(-1), vmi: undefined }, {}, {}],
    ['the run had halted it', { vm: edited(-1), vmi: RESTARTED }, { halted: true }, { by: 'argocd' }],
    [
      'the run had halted it, and KubeVirt follows a start request',
      { vm: edited(-1, 'virt-controller'), vmi: RESTARTED },
      { halted: true },
      {},
    ],
    ['which VMI was to move is not known', { vm: edited(-1), vmi: RESTARTED }, { vmi: LOST_VMI }, undefined],
  ])('whether the VM was started again: %s', (_what, source, record, by) => {
    const run = there({ source }, record);
    const undone = by && { undone: { at: seconds(0), ...by } };
    expect(writtenRecord(decide(run))).toEqual({ ...run.record, halted: true, ...undone });
  });

  /** A VM that the run had halted, and that a tool has set to Manual since. */
  const madeManual = (time: string): VirtualMachine =>
    aVm((vm) => ({
      ...vm,
      metadata: { ...vm.metadata, managedFields: [{ manager: FIELD_MANAGER, time }] },
      spec: { template: vm.spec.template, runStrategy: 'Manual' },
    }));
  const REQUESTED = { stateChangeRequests: [{ action: 'Start' as const }] };

  test.each<[string, Partial<RecordedRun['source']>, boolean]>([
    ['is off', { vm: madeManual(seconds(-10)), vmi: undefined }, false],
    ['still has its VMI', { vm: madeManual(seconds(-10)), vmi: ITS_OWN }, false],
    ['has another VMI', { vm: madeManual(seconds(-10)), vmi: RESTARTED }, true],
    ['is to start', { vm: { ...madeManual(seconds(-10)), status: REQUESTED }, vmi: undefined }, true],
  ])('a VM that was set to Manual after its halt, and %s', (_what, source, isStart) => {
    const run = there({ source }, { halted: true });
    const decision = decide(run);
    expect(decision).toMatchObject({
      message: expect.stringMatching(isStart ? / again$/ : /on the source$/),
    });
    expect(JSON.stringify(decision).includes('undone')).toBe(isStart);
  });

  test('a VM that was set to Manual is halted again only after a moment, and nobody is blamed', () => {
    const run = there({ source: { vm: madeManual(seconds(-9)), vmi: undefined } }, { halted: true });
    expect(summary(decide(run))).toBe('wait EndingSource');
  });

  test('halted by KubeVirt after the run had halted it: it was started in between, and has to stay off', () => {
    const managedFields = [{ manager: 'virt-controller', fieldsV1: { 'f:spec': { 'f:runStrategy': {} } } }];
    const vm = { ...HALTED, metadata: { ...HALTED.metadata, managedFields } };
    const run = there({ source: { vm, vmi: undefined } }, { halted: true });
    const record = { ...run.record, undone: { at: seconds(0) } };
    expect(writtenRecord(decide(run))).toEqual(record);
    expect(summary(decide({ ...run, record }))).toBe('wait SourceStartedAgain');
    expect(summary(decide(there({ source: { vm, vmi: undefined } })))).toBe('done');
  });

  test('nobody is blamed who is not known', () => {
    const run = there({ source: { vm: HALTED, vmi: RESTARTED } }, { undone: { at: seconds(0) } });
    const waiting = decide({ ...run, source: { ...run.source, vmi: undefined } });
    expect(waiting).toMatchObject({ reason: 'SourceStartedAgain' });
    expect(JSON.stringify(waiting)).not.toMatch(/manager|unknown|virt-controller/);
  });

  /** A run whose VM is off, and was halted again by a call that has read the VM long before. */
  const haltedLate = (since: number): RecordedRun => {
    const managedFields = [
      { manager: 'argocd', time: seconds(-3_600) },
      { manager: FIELD_MANAGER, time: seconds(-since) },
    ];
    const vm = { ...HALTED, metadata: { ...HALTED.metadata, managedFields } };
    return undone(7_200, { vm, vmi: undefined });
  };

  test.each([
    [599, 'wait SourceStartedAgain'],
    [600, 'done'],
  ])('halted again %i s ago by what was read two hours before', (since, wanted) => {
    expect(summary(decide(haltedLate(since)))).toBe(wanted);
  });

  test('how long it stays off is by the clock of its own cluster', () => {
    const ahead = { vm: HALTED, vmi: undefined };
    expect(summary(decide(undone(599, ahead, { now: NOW + 3_600_000 })))).toBe('wait SourceStartedAgain');
  });

  const strategy = (spec: Partial<VirtualMachine['spec']>): VirtualMachine =>
    aVm((vm) => ({ ...vm, spec: { template: vm.spec.template, ...spec } }));

  test.each<[string, VirtualMachine]>([
    ['Always', aVm()],
    ['RerunOnFailure', strategy({ runStrategy: 'RerunOnFailure' })],
    ['Manual', strategy({ runStrategy: 'Manual' })],
    ['Once', strategy({ runStrategy: 'Once' })],
    ['running: true', strategy({ running: true })],
    [
      'running: true, with Halted beside it as KubeVirt writes',
      strategy({ running: true, runStrategy: 'Halted' }),
    ],
  ])(
    'a VM of strategy %s is halted, whatever KubeVirt does, and the record says that the run did it',
    (_name, vm) => {
      const run = there({ source: { vm } });
      const decision = decide(run);
      const [write] = decision.kind === 'write' ? decision.writes : [];
      const written = write?.object as VirtualMachine;
      expect(written.spec).toEqual({ template: vm.spec.template, runStrategy: 'Halted' });
      expect(recordOf(written, run.run)).toEqual({ kind: 'ours', record: { ...run.record, halted: true } });
    },
  );
});
