import { describe, expect, test } from '@jest/globals';
import {
  aDataVolume,
  aLauncherPod,
  aReceiver,
  aRecordedRun,
  aRerunningVm,
  aWaitingVmi,
  BEFORE_IT_BEGAN,
  firstAttempt,
  going,
  migrated,
  OWN_STATE,
  received,
  recorded,
  sent,
  summary,
  writtenRecord,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { aVm, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import { labelled, named, NOW, seconds, unlabelled, withUid } from '../../../test/support/builders/object.ts';
import { LIVE_KIND, LIVE_LABEL } from '../../domain/live/names.ts';
import { vmimName } from '../run/names.ts';
import type { MigrationState, VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import type { RunEnd } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import type { StepDecision } from '../run/decision.ts';
import { decide as undo } from './undo.ts';

/** The way back, and the way back once it is proved that the guest is not on the target. */
const END: RunEnd = { as: 'Failed', reason: 'TransferFailed', message: 'it failed', at: seconds(0) };
const decide = (snapshot: RecordedRun): StepDecision => undo(snapshot, END);
const proved = (snapshot: RecordedRun): StepDecision => undo(snapshot, { ...END, proved: true });
const PROOF = 'replace VirtualMachine web on source';

const NAME = vmimName(RUN, 1);
const VMIM = `VirtualMachineInstanceMigration ${NAME}`;
const POD = [aLauncherPod('target-launcher')];
const EMPTY = { vm: undefined, vmi: undefined, pods: [], vmims: [], made: { volumes: [], unused: [] } };
const LEFT = { volumes: [aDataVolume('Succeeded')], unused: [] };
const DELETE_VM = 'delete VirtualMachine web on target';

const run = (different: Different = {}): RecordedRun => firstAttempt(different);
const both = (sending: string, receiving: string, more: Different = {}): RecordedRun =>
  run({
    ...more,
    source: { vmims: [sent(sending)], ...more.source },
    target: { vmims: [received(receiving)], ...more.target },
  });

const COPIES = itsVmi(migrated({ ...OWN_STATE, startTimestamp: seconds(-30) }));
const KNOWS = itsVmi(migrated({ ...OWN_STATE, targetNodeAddress: '10.0.0.1' }));
/** The target's node has the launcher. */
const HANDED_OVER = {
  vmi: aWaitingVmi(migrated({ migrationUid: 'uid-of-received', targetPod: 'target-launcher' })),
  pods: POD,
};
const handedOver = (sending: string, receiving: string, more: Different = {}): RecordedRun => {
  const target = { ...HANDED_OVER, vmims: [received(receiving)] };
  return firstAttempt({ ...more, source: { vmims: [sent(sending)] }, target }, { end: END });
};
/** The target's VMIM is being deleted since so many seconds after NOW, too late to go by itself. */
const waitsSince = (after: number): NonNullable<Different['target']> => ({
  ...HANDED_OVER,
  vmims: [going(after)(received('TargetReady'))],
});

describe('the VMIMs are deleted, in the order that KubeVirt can follow', () => {
  test.each<[string, RecordedRun, string]>([
    ['only the target’s', run(), `delete ${VMIM} on target`],
    [
      'the target’s is going',
      run({ target: { vmims: [going()(received('WaitingForSync'))] } }),
      'wait Aborting',
    ],
    [
      'the clusters have not met',
      both('Synchronizing', 'WaitingForSync'),
      `delete ${VMIM} on source, delete ${VMIM} on target`,
    ],
    ['the source waits for a launcher', both('Scheduling', 'Pending'), `delete ${VMIM} on target`],
    [
      'the source waits, and the target’s is going',
      both('Scheduling', 'Pending', { target: { vmims: [going()(received('Pending'))] } }),
      'wait Aborting',
    ],
    [
      'the source waits, and the target’s is gone',
      both('Scheduling', '', { target: { vmims: [] } }),
      `delete ${VMIM} on source`,
    ],
    [
      'the source’s is going',
      both('', '', { source: { vmims: [going(-9)(sent('Scheduling'))] }, target: { vmims: [] } }),
      'wait Aborting',
    ],
    [
      'the source’s is stuck',
      both('', '', { source: { vmims: [going(-11)(sent('Scheduling'))] }, target: { vmims: [] } }),
      `replace ${VMIM} on source`,
    ],
    [
      'the source’s is forgotten, because its VMI is gone',
      both('', '', {
        source: { vmi: undefined, vmims: [going(-11)(sent('Running'))] },
        target: { vmims: [] },
      }),
      `replace ${VMIM} on source`,
    ],
    [
      // Recorded: cross-rerunonfailure-source-fails.
      'the source’s is over, and another VMI is there that does not name it',
      both('', '', {
        source: { vmims: [going(-11)(sent('Failed'))] },
        target: { vmims: [], pods: POD },
      }),
      `replace ${VMIM} on source`,
    ],
    [
      'the source’s is over, and KubeVirt may still remove it',
      both('', '', { source: { vmims: [going(-9)(sent('Failed'))] }, target: { vmims: [] } }),
      'wait Aborting',
    ],
    [
      'the target’s is over, and its VMI waits again',
      both('', '', { source: { vmims: [] }, target: { vmims: [going(-11)(received('Failed'))] } }),
      `replace ${VMIM} on target`,
    ],
    [
      'the target’s is over, and its launcher is still there',
      both('', '', { source: { vmims: [] }, target: { vmims: [going(-11)(received('Failed'))], pods: POD } }),
      PROOF,
    ],
    [
      'the source’s VMI is gone, and a launcher is still there',
      both('', '', {
        source: { vmi: undefined, vmims: [going(-11)(sent('Running'))] },
        target: { vmims: [], pods: POD },
      }),
      'wait Aborting',
    ],
    [
      'the source’s is going, and a launcher is still there',
      both('', '', { source: { vmims: [going(-11)(sent('Scheduling'))] }, target: { vmims: [], pods: POD } }),
      'wait Aborting',
    ],
    [
      'the target’s node has the launcher: the copy is to begin first',
      handedOver('Scheduling', 'PreparingTarget'),
      'wait Aborting',
    ],
    [
      'the source knows the target’s node: the copy is to begin first',
      both('TargetReady', '', {
        source: { vmi: KNOWS, vmims: [sent('TargetReady')] },
        target: waitsSince(-11),
      }),
      'wait Aborting',
    ],
    [
      'the source’s says so later than its node: it is copied',
      both('', '', { source: { vmi: COPIES, vmims: [sent('Scheduling')] }, target: waitsSince(-11) }),
      `delete ${VMIM} on source`,
    ],
    [
      'the target’s has failed, and has a launcher still',
      handedOver('Scheduling', 'Failed'),
      `delete ${VMIM} on target`,
    ],
    [
      'the source has heard of the launcher, and hears nothing more',
      both('PreparingTarget', '', { target: waitsSince(-11) }),
      `delete ${VMIM} on source`,
    ],
    [
      'the target’s node has the launcher, and no copy begins',
      handedOver('Scheduling', 'PreparingTarget', { hub: { now: NOW + 61_000 } }),
      `delete ${VMIM} on target`,
    ],
    [
      'the target’s is going, with a launcher that waits for the source',
      both('Scheduling', '', { target: waitsSince(-9) }),
      'wait Aborting',
    ],
    [
      'it tells the source nothing',
      both('Scheduling', '', { target: waitsSince(-11) }),
      `delete ${VMIM} on source`,
    ],
    [
      'it tells the source nothing, and the source’s is stuck',
      both('', '', { source: { vmims: [going(-11)(sent('Scheduling'))] }, target: waitsSince(-30) }),
      `replace ${VMIM} on source`,
    ],
    [
      'it tells the source nothing, which copies the guest all the same',
      both('', '', {
        source: { vmi: COPIES, vmims: [going(-11)(sent('Scheduling'))] },
        target: waitsSince(-30),
      }),
      'wait Aborting',
    ],
    [
      'it is all that is left, and goes with its VM',
      both('', '', { source: { vmims: [] }, target: waitsSince(-30) }),
      PROOF,
    ],
    [
      'it is all that is left, but the guest is being copied',
      both('', '', { source: { vmi: COPIES, vmims: [] }, target: waitsSince(-30) }),
      'wait Aborting',
    ],
    [
      'it is all that is left, but the target’s node has seen the guest come',
      both('', '', {
        source: { vmims: [] },
        target: { ...waitsSince(-30), vmi: aWaitingVmi(migrated({ targetNodeDomainDetected: true })) },
      }),
      'wait Aborting',
    ],
    [
      'it is forgotten, because its VMI is gone',
      both('', '', { source: { vmims: [] }, target: { ...waitsSince(-30), vmi: undefined, pods: [] } }),
      `replace ${VMIM} on target`,
    ],
    ['the guest is copied: the source’s first', both('Running', 'Running'), `delete ${VMIM} on source`],
    [
      'the copy is being aborted',
      both('', 'Running', {
        source: { vmims: [going(-11)(sent('Running'))] },
        target: { vmims: [received('Running')] },
      }),
      'wait Aborting',
    ],
    ['both have failed', both('Failed', 'Failed'), `delete ${VMIM} on source, delete ${VMIM} on target`],
  ])('%s', (_what, snapshot, wanted) => {
    expect(summary(decide(snapshot))).toBe(wanted);
  });

  test('one that is left on the target without its VM is no end', () => {
    const target = { ...waitsSince(-30), vm: undefined, made: { volumes: [], unused: [] } };
    expect(summary(proved(run({ source: { vmims: [] }, target })))).toBe('wait Aborting');
  });

  test('a stuck VMIM loses its finalizers, by the version that was read', () => {
    const stuck = going(-11)(
      sent('Scheduling', (one) => ({ ...one, metadata: { ...one.metadata, finalizers: ['f'] } })),
    );
    expect(decide(both('', '', { source: { vmims: [stuck] }, target: { vmims: [] } }))).toMatchObject({
      writes: [
        { verb: 'replace', on: 'source', object: { metadata: { resourceVersion: '100', finalizers: [] } } },
      ],
    });
  });
});

describe('the guest is proved to be on the source, or was never sent, before anything is deleted', () => {
  const hadOne = aWaitingVmi(migrated({ targetPod: 'target-launcher', completed: true, failed: true }));
  const failed = { vmi: hadOne, vmims: [] };
  const ofAnother = aWaitingVmi((vmi) => ({
    ...vmi,
    metadata: { ...vmi.metadata, ownerReferences: [{ ...LIVE_KIND.vm, name: 'web', uid: 'uid-of-another' }] },
  }));
  const ABORTED = { ...OWN_STATE, completed: true, failed: true };

  test.each<[string, RecordedRun, string]>([
    ['the guest runs on the source', run({ target: failed }), PROOF],
    [
      'the guest runs on the source, after an abort',
      run({ target: failed, source: { vmi: itsVmi(migrated(ABORTED)) } }),
      PROOF,
    ],
    [
      'the launcher on the source is gone, and its VMI still says Running',
      run({ target: failed, source: { pods: [aLauncherPod('source-launcher', 'Succeeded')] } }),
      'wait RestoringSource',
    ],
    [
      'the VMI on the source says Running, and its migration succeeded',
      run({ target: failed, source: { vmi: itsVmi(migrated({ ...OWN_STATE, completed: true })) } }),
      'wait RestoringSource',
    ],
    [
      'a local migration that succeeded is no sign of that',
      run({
        target: failed,
        source: {
          vmi: itsVmi(
            migrated({
              completed: true,
              sourceState: { migrationUID: 'u' },
              targetState: { migrationUID: 'u' },
            }),
          ),
        },
      }),
      PROOF,
    ],
    [
      'the source VM starts again by itself',
      run({ target: failed, source: { vmi: undefined } }),
      'wait RestoringSource',
    ],
    [
      'the source VM starts again by itself, and has a VMIM that is over and that KubeVirt does not remove',
      run({ target: failed, source: { vmi: undefined, vmims: [going(-11)(sent('Failed'))] } }),
      `replace ${VMIM} on source`,
    ],
    [
      'the source VM has shut down, and runs again only on failure',
      run({ target: failed, source: { vmi: undefined, vm: aRerunningVm('Stopped') } }),
      'fail SourceDownUndecided',
    ],
    [
      'the source VM has failed, so that KubeVirt starts it again',
      run({ target: failed, source: { vmi: undefined, vm: aRerunningVm('Stopped', 'Start') } }),
      'wait RestoringSource',
    ],
    [
      'the source VM is going down, and whether it failed is not known yet',
      run({ target: failed, source: { vmi: undefined, vm: aRerunningVm('Stopping') } }),
      'wait RestoringSource',
    ],
    [
      'the VMI of a source VM that runs again only on failure is still there',
      run({
        target: failed,
        source: {
          vmi: itsVmi((vmi) => ({ ...vmi, status: { phase: 'Failed' } })),
          vm: aRerunningVm('Stopped'),
        },
      }),
      'wait RestoringSource',
    ],
    [
      'KubeVirt is about to start the source VM again, of which a restart was requested',
      run({
        target: failed,
        source: {
          vmi: undefined,
          vm: { ...halted('kubectl'), status: { stateChangeRequests: [{ action: 'Start' }] } },
        },
      }),
      'wait RestoringSource',
    ],
    [
      'the source VM was stopped by its user, after a launcher was on the target',
      run({ target: failed, source: { vmi: undefined, vm: halted('kubectl') } }),
      'fail SourceDownUndecided',
    ],
    [
      'the source VM was stopped by its user, and no launcher was ever on the target',
      run({ target: { vmims: [] }, source: { vmi: undefined, vm: halted('kubectl') } }),
      PROOF,
    ],
    [
      'the source VM was stopped by its user, and a late call has made another VM on the target',
      run({ target: { vmi: ofAnother, vmims: [] }, source: { vmi: undefined, vm: halted('kubectl') } }),
      'fail SourceDownUndecided',
    ],
    [
      'KubeVirt halted the source VM, and late calls have made another VM on the target and its VMIM, which failed',
      run({
        target: { vmi: ofAnother, vmims: [received('Failed')] },
        source: { vmi: undefined, vm: halted('virt-controller') },
      }),
      'fail SourceDownUndecided',
    ],
    [
      'the source VM was stopped, and the VM on the target is gone with its volumes',
      run({ target: EMPTY, source: { vmi: undefined, vm: halted('kubectl') } }),
      'done',
    ],
    [
      'KubeVirt halted the source VM, and the VM on the target is gone: nobody knows which data was newest',
      run({ target: EMPTY, source: { vmi: undefined, vm: halted('virt-controller') } }),
      'done',
    ],
    [
      'the VM on the target is gone, and a volume is left',
      run({ target: { ...EMPTY, made: LEFT }, source: { vmi: undefined, vm: halted('kubectl') } }),
      'fail SourceDownUndecided',
    ],
    [
      'the VM on the target is gone, and its VMI is left',
      run({ target: { ...EMPTY, vmi: hadOne }, source: { vmi: undefined, vm: halted('kubectl') } }),
      'fail SourceDownUndecided',
    ],
    [
      'the VM on the target is gone, and its launcher is left',
      run({ target: { ...EMPTY, pods: POD }, source: { vmi: undefined, vm: halted('kubectl') } }),
      'fail SourceDownUndecided',
    ],
    [
      'the VM on the target is gone, and nobody looked for volumes',
      run({ target: { ...EMPTY, made: undefined }, source: { vmi: undefined, vm: halted('kubectl') } }),
      'fail SourceDownUndecided',
    ],
    [
      'another VM runs where the one on the target was',
      run({
        target: { ...EMPTY, vm: aReceiver(unlabelled(LIVE_LABEL.vm)), vmi: aWaitingVmi(), pods: POD },
        source: { vmi: undefined, vm: halted('kubectl') },
      }),
      'done',
    ],
    [
      'no launcher is known, but the VMI on the target is another one than before',
      run({ target: { vmims: [], vmi: undefined }, source: { vmi: undefined, vm: halted('kubectl') } }),
      'fail SourceDownUndecided',
    ],
    ['before any attempt', aRecordedRun(recorded({}), { target: { vm: aReceiver() } }), PROOF],
    ['nothing was made', aRecordedRun(), PROOF],
  ])('%s', (_what, snapshot, wanted) => {
    expect(summary(decide(snapshot))).toBe(wanted);
  });

  test('the proof is recorded with the end, by the version of the source VM that was read', () => {
    const snapshot = run({ target: failed });
    expect(writtenRecord(decide(snapshot))).toEqual({ ...snapshot.record, end: { ...END, proved: true } });
    expect(decide(snapshot)).toMatchObject({
      writes: [{ object: { metadata: { resourceVersion: '100' } } }],
    });
  });
});

describe('then what the run made goes, although the proof goes with it', () => {
  const halfGone = { vm: undefined, vmi: undefined, vmims: [] };
  const stopped = { vmi: undefined, pods: [], vm: halted('kubectl') };

  test.each<[string, RecordedRun, string]>([
    ['the VM', run({ target: { vmims: [] } }), DELETE_VM],
    [
      'the VM, which a policy of the cluster protects: its label first',
      run({ target: { vmims: [], vm: aReceiver(labelled('kubevirt.io/vm-delete-protection', 'true')) } }),
      'replace VirtualMachine web on target',
    ],
    ['the VM is going', run({ target: { vmims: [], vm: going()(aReceiver()) } }), 'wait CleaningUp'],
    ['the source VM was stopped meanwhile', run({ target: { vmims: [] }, source: stopped }), DELETE_VM],
    [
      'a VM of somebody else stays',
      run({ target: { vmims: [], vm: aReceiver(unlabelled(LIVE_LABEL.vm)) } }),
      'done',
    ],
    ['nothing is left', run({ target: halfGone, source: stopped }), 'done'],
    ['a late call made a VMIM again', run(), `delete ${VMIM} on target`],
    [
      'one of an earlier attempt',
      run({ target: { vmims: [received('WaitingForSync', named(vmimName(RUN, 7)))] } }),
      `delete VirtualMachineInstanceMigration ${vmimName(RUN, 7)} on target`,
    ],
    [
      'KubeVirt halted the source VM at its next crash: it starts again',
      run({ target: halfGone, source: { ...stopped, vm: halted('virt-controller') } }),
      PROOF,
    ],
    [
      'KubeVirt halted it, and its VMI is still there: it is started when that is gone',
      run({ target: halfGone, source: { vm: halted('virt-controller') } }),
      'wait RestoringSource',
    ],
    [
      'and nothing on the target waits for that',
      run({ target: { vmims: [] }, source: { vm: halted('virt-controller') } }),
      DELETE_VM,
    ],
    [
      'a user halted it, and its VMI is still there',
      run({ target: halfGone, source: { vm: halted('kubectl') } }),
      'done',
    ],
  ])('%s', (_what, snapshot, wanted) => {
    expect(summary(proved(snapshot))).toBe(wanted);
  });

  test('it is deleted by uid and by the version that was read', () => {
    expect(proved(run({ target: { vmims: [] } }))).toMatchObject({
      writes: [
        {
          verb: 'delete',
          asRead: true,
          object: { metadata: { uid: 'uid-of-receiver', resourceVersion: '100' } },
        },
      ],
    });
  });

  test('then what it did not take with it', () => {
    const made = {
      volumes: [aDataVolume('Succeeded')],
      unused: [going()(aDataVolume('Succeeded', labelled('x')))],
    };
    const gone = { vm: undefined, vmi: undefined, vmims: [], made };
    expect(summary(proved(run({ target: gone })))).toBe('delete DataVolume web-root on target');
    expect(summary(proved(run({ target: { ...gone, made: { volumes: [], unused: made.unused } } })))).toBe(
      'wait CleaningUp',
    );
  });
});

/** The source VM, halted by this writer. */
function halted(manager: string): VirtualMachine {
  return aVm((vm) => ({
    ...vm,
    metadata: {
      ...vm.metadata,
      managedFields: [
        { manager: 'kubectl', fieldsV1: { 'f:spec': { 'f:template': {} } } },
        { manager, fieldsV1: { 'f:spec': { 'f:runStrategy': {} } } },
      ],
    },
    spec: { ...vm.spec, runStrategy: 'Halted' },
  }));
}

describe('KubeVirt halts the source VM when its launcher dies during the migration (recorded)', () => {
  const waiting = aWaitingVmi(migrated({ targetPod: 'target-launcher', completed: true, failed: true }));
  const down = (different: Different = {}): RecordedRun =>
    run({
      ...different,
      source: { vm: halted('virt-controller'), vmi: undefined, pods: [], ...different.source },
      target: { vmi: waiting, vmims: [received('Failed')], ...different.target },
    });

  test('it gets its strategy again, and nothing else of it changes', () => {
    const snapshot = down();
    const { vm } = snapshot.source;
    expect(decide(snapshot)).toMatchObject({ kind: 'write', writes: [{ verb: 'replace', on: 'source' }] });
    const decision = decide(snapshot);
    expect(decision.kind === 'write' ? decision.writes[0]?.object : undefined).toEqual({
      ...vm,
      spec: { ...vm.spec, runStrategy: 'Always' },
    });
  });

  test.each<[string, RecordedRun, string]>([
    [
      'a user stopped it in the copy: the proof is recorded, before the target’s VMIM goes',
      down({ source: { vm: halted('virt-api') } }),
      'replace VirtualMachine web on source',
    ],
    [
      'a user stopped it, and the target has another VMI',
      down({
        source: { vm: halted('virt-api') },
        target: { vmi: { ...waiting, metadata: { ...waiting.metadata, uid: 'uid-of-second' } } },
      }),
      'fail SourceDownUndecided',
    ],
    [
      'the target has not failed yet',
      down({ target: { vmims: [received('Running')] } }),
      'wait RestoringSource',
    ],
    ['the target’s proof is gone', down({ target: { vmims: [] } }), 'fail SourceDownUndecided'],
    ['a launcher is on the target', down({ target: { pods: POD } }), 'wait RestoringSource'],
    [
      'a launcher is on the target for ten minutes',
      down({ hub: { now: NOW + 601_000 }, target: { pods: POD } }),
      'fail SourceDownUndecided',
    ],
    [
      'a launcher on the target that has ended is no longer one',
      down({ target: { pods: [aLauncherPod('target-launcher', 'Failed')] } }),
      'replace VirtualMachine web on source',
    ],
    [
      'the VM on the target is no receiver any more',
      down({ target: { vm: aReceiver((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Always' } })) } }),
      'fail SourceDownUndecided',
    ],
    ['the VM on the target is gone', down({ target: { vm: undefined } }), 'fail SourceDownUndecided'],
    [
      'the source VMIM is not over',
      down({ source: { vmims: [sent('Running')] } }),
      `delete ${VMIM} on source`,
    ],
    [
      'the source VM runs again',
      down({ source: { vm: aVm(), vmi: itsVmi(), pods: [aLauncherPod()] } }),
      `delete ${VMIM} on target`,
    ],
  ])('%s', (_what, snapshot, wanted) => {
    expect(summary(decide(snapshot))).toBe(wanted);
  });

  describe('one of the older form, which KubeVirt cannot halt', () => {
    const old = aVm(({ spec: { runStrategy: _, ...spec }, ...vm }) => ({
      ...vm,
      spec: { ...spec, running: true },
    }));
    const withStrategyBeside = (vm: VirtualMachine): VirtualMachine => ({
      ...vm,
      spec: { ...vm.spec, running: true },
    });
    const over = (failed: boolean, phase = 'Failed'): Vmi =>
      itsVmi(migrated({ ...OWN_STATE, completed: true, failed }), (vmi) => ({
        ...vmi,
        status: { ...vmi.status, phase },
      }));
    const kept = (vmi: Vmi, different: Different = {}): RecordedRun =>
      down({ ...different, source: { vm: old, vmi } });

    test.each<[string, RecordedRun, string]>([
      [
        'its VMI goes, so that it starts again',
        kept(over(true)),
        'delete VirtualMachineInstance web on source',
      ],
      [
        'nor is halted, where its webhook is not there',
        down({ source: { vm: withStrategyBeside(halted('virt-controller')), vmi: over(true) } }),
        'delete VirtualMachineInstance web on source',
      ],
      [
        'its VMI is gone then',
        down({ source: { vm: withStrategyBeside(halted('virt-controller')) } }),
        'replace VirtualMachine web on source',
      ],
      [
        'a user has written that',
        down({ source: { vm: withStrategyBeside(halted('kubectl')), vmi: over(true) } }),
        'wait RestoringSource',
      ],
      ['its VMI is going', kept(going()(over(true))), 'wait RestoringSource'],
      ['its guest may have left', kept(over(false)), 'wait RestoringSource'],
      [
        'its launcher ended by itself',
        kept(over(true, 'Succeeded')),
        'delete VirtualMachineInstance web on source',
      ],
      ['its VMI is not over', kept(over(true, 'Scheduled')), 'wait RestoringSource'],
      [
        'that VMI has started since the run began',
        kept(withUid('another')(over(true))),
        'delete VirtualMachineInstance web on source',
      ],
      ['a launcher is on the target', kept(over(true), { target: { pods: POD } }), 'wait RestoringSource'],
    ])('%s', (_what, snapshot, wanted) => {
      expect(summary(decide(snapshot))).toBe(wanted);
    });
  });

  /** A source VM that KubeVirt neither halts nor starts (recorded: cross-unreachable). */
  const unfinished = (state: MigrationState = {}, source: Partial<Different['source']> = {}): Different => ({
    source: {
      vm: aVm(),
      vmi: itsVmi(migrated({ ...BEFORE_IT_BEGAN, ...state }), (vmi) => ({
        ...vmi,
        status: { ...vmi.status, phase: 'Failed' },
      })),
      ...source,
    },
  });

  test.each<[string, RecordedRun, string]>([
    [
      'it goes, so that the VM starts again',
      down(unfinished()),
      'delete VirtualMachineInstance web on source',
    ],
    ['a launcher is on the target', down({ ...unfinished(), target: { pods: POD } }), 'wait RestoringSource'],
    ['the migration has come to its end', down(unfinished({ completed: true })), 'wait RestoringSource'],
    [
      'a migration of others goes on',
      down(unfinished({}, { others: [sent('Running')] })),
      'wait RestoringSource',
    ],
    ['its VMIM is not over', down(unfinished({}, { vmims: [sent('Running')] })), `delete ${VMIM} on source`],
  ])('the VMI ended after a migration that ended before it began: %s', (_what, snapshot, wanted) => {
    expect(summary(decide(snapshot))).toBe(wanted);
  });

  test('while it starts, everything waits', () => {
    expect(summary(decide(down({ source: { vm: aVm(), now: NOW } })))).toBe('wait RestoringSource');
  });
});
