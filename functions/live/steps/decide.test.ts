import { describe, expect, test } from '@jest/globals';
import {
  aDataVolume,
  aReceiver,
  aRecordedRun,
  aRerunningVm,
  aRun,
  arrived,
  aWaitingVmi,
  firstAttempt,
  going,
  migrated,
  OWN_STATE,
  received,
  recorded,
  sent,
  showing,
  summary,
  writtenRecord,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { aLauncher } from '../../../test/support/builders/kubevirt.ts';
import { aHook, aRecord, aVm, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import { annotated, metadata, NOW, seconds, type Change } from '../../../test/support/builders/object.ts';
import type { VmStatus } from '../../domain/live/forklift.ts';
import type { Job, Vmi, Vmim } from '../../domain/live/kubevirt.ts';
import type { RunRecord } from '../run/record.ts';
import { runLabels } from '../run/names.ts';
import type { HookView, HubSide, RunSnapshot } from '../run/snapshot.ts';
import { decide } from './decide.ts';
import { ITINERARY } from './itinerary.ts';

const STOP = { reason: 'UserRequested', message: 'the migration has been canceled' } as const;
const END = { as: 'Failed', reason: 'TransferFailed', message: 'it failed', at: seconds(0) } as const;
const MADE = { volumes: [aDataVolume('Succeeded')], unused: [] };
const PROVED = { ...END, proved: true } as const;
const HALTED = aVm((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Halted' } }));
const OFF = { vm: HALTED, vmi: undefined, pods: [] };
const THERE = {
  vm: aReceiver((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Always' } })),
  vmi: aWaitingVmi(arrived),
};
/** A VM that a user has started from its disks. */
const STARTED_THERE = {
  vm: THERE.vm,
  vmi: itsVmi((vmi) => ({ ...vmi, metadata: { ...vmi.metadata, namespace: 'target' } })),
  vmims: [received('Failed')],
};
const DONE_THERE = { ...THERE, vmims: [] };
const HOOK_FAILED = { ...END, reason: 'HookFailed' } as const;
const GONE_HOOK: Pick<HubSide, 'hooks'> = { hooks: [{ step: 'PostHook', hook: undefined, job: undefined }] };
const RUNNING_JOB: Job = {
  kind: 'Job',
  metadata: { ...metadata('posthook'), creationTimestamp: seconds(0), labels: runLabels(RUN) },
  status: {},
};
const MARKS: RunRecord['marks'] = [{ mark: 'GuestReady', at: seconds(0) }];
const past = (): Partial<RunRecord> => ({ marks: MARKS, arrivedAt: seconds(0) });
const RECORD = 'replace VirtualMachine web on source';
const shown = (
  type: string,
  leftovers: string[] = [],
  ...others: string[]
): Pick<RunSnapshot['hub'], 'status'> => ({
  status: {
    completed: seconds(0),
    conditions: [...others.map((other) => ({ type: other })), { type, items: leftovers }],
  } as unknown as VmStatus,
});

const stepOf = (snapshot: RunSnapshot): string => {
  const decision = decide(snapshot);
  return decision.kind === 'ended' ? '' : `${decision.step}: `;
};

describe('a run', () => {
  test.each<[string, RunSnapshot, string]>([
    ['waits while its plan is not Ready', aRun({ hub: { blockers: ['x'] } }), 'Validate: wait PlanNotReady'],
    ['begins with its record', aRun(), `Started: ${RECORD}`],
    ['makes the volumes', aRecordedRun(), 'CreateEmptyDataVolumes: create DataVolume web-root on target'],
    [
      'takes the first step that is not done',
      firstAttempt(),
      expect.stringContaining('CreateSourceMigration: create') as never,
    ],
    [
      'records its end where the VM does not run',
      aRun({ source: { vm: HALTED, vmi: undefined } }),
      `WaitForStateTransfer: ${RECORD}`,
    ],
    [
      'is over then, whatever runs on the target',
      aRecordedRun(recorded({ end: { ...END, reason: 'SourceStopped' } }), {
        source: { vm: HALTED, vmi: undefined },
        target: { vmi: aWaitingVmi() },
      }),
      'Failed SourceStopped',
    ],
    [
      'records why it fails, before it goes back',
      firstAttempt({ source: { vmi: undefined } }),
      `WaitForStateTransfer: ${RECORD}`,
    ],
    [
      'is over, where another run moves the VM',
      { ...aRecordedRun(), run: { ...aRun().run, migration: 'x' } },
      'Failed VMInUse',
    ],
    [
      'leaves a VM alone whose record it cannot read',
      aRun({ source: { vm: aVm(annotated('live.mtq.kubevirt.io/run', '{}')) } }),
      'Failed VMInUse',
    ],
    [
      'goes back',
      aRecordedRun(recorded({ end: PROVED }), { target: { vm: aReceiver() } }),
      'Undo: delete VirtualMachine web on target',
    ],
    [
      'proves it first',
      aRecordedRun(recorded({ end: END }), { target: { vm: aReceiver() } }),
      `Undo: ${RECORD}`,
    ],
    ['has gone back', aRecordedRun(recorded({ end: PROVED })), 'Failed TransferFailed'],
    [
      'lists what is left after ten minutes',
      firstAttempt(
        {
          hub: { now: NOW + 601_000 },
          source: { vmi: undefined, pods: [] },
          target: { vmims: [], vmi: undefined },
        },
        { end: END },
      ),
      'Failed RestoringSource, left: the record of VirtualMachine vms/web, VirtualMachine target/web',
    ],
    [
      'lists what is left at once, where nothing can be done',
      firstAttempt({ source: OFF, target: { vmi: undefined, vmims: [] } }, { end: END }),
      'Failed SourceDownUndecided, left: the record of VirtualMachine vms/web, VirtualMachine target/web',
    ],
  ])('%s', (_what, snapshot, wanted) => {
    expect(stepOf(snapshot) + summary(decide(snapshot))).toEqual(wanted);
  });

  test('lists what it has made, where another run has the VM by now', () => {
    const made = { volumes: [aDataVolume('Succeeded')], unused: [] };
    const target = { vm: undefined, vmims: [received('Pending')], made };
    const run = firstAttempt({ source: { vmims: [] }, target });
    expect(decide({ ...run, run: { ...RUN, migration: 'x' } })).toMatchObject({
      reason: 'VMInUse',
      leftovers: [
        expect.stringMatching(/^VirtualMachineInstanceMigration target\/live-/),
        'DataVolume target/web-root',
      ],
    });
  });

  test('of a VM that came by an earlier run, a cancel before it has begun is one', () => {
    const came = itsVmi(
      migrated({ ...OWN_STATE, completed: true, targetNodeDomainReadyTimestamp: seconds(-60) }),
    );
    const stop = { reason: 'UserRequested', message: 'canceled' } as const;
    const waiting = aRun({ hub: { stop }, source: { vmi: came } });
    const record = writtenRecord(decide(waiting) as never);
    expect(record?.end?.as).toBe('Canceled');
    const next = aRecordedRun(record ?? recorded({}), { hub: { stop }, source: { vmi: came } });
    expect(summary(decide(next))).toBe('Canceled UserRequested');
  });

  test('takes the record off at its end, and nothing else of the VM', () => {
    const vm = aVm(annotated('example.com/note', 'stays'));
    const decision = decide(aRecordedRun(recorded({ end: PROVED }), { source: { vm } }));
    expect(decision).toMatchObject({ recordRemoval: [{ verb: 'replace', on: 'source', object: vm }] });
  });

  test.each<[string, Partial<RunRecord>]>([
    ['a success', past()],
    ['a hook that failed', { ...past(), end: HOOK_FAILED }],
  ])('after %s the VM says where it has moved in place of the record', (_what, record) => {
    const decision = decide(aRecordedRun(recorded(record), { source: OFF, target: DONE_THERE }));
    const removal = decision.kind === 'ended' ? decision.recordRemoval : [];
    const annotations = removal.map(({ object }) => Object.keys(object.metadata.annotations ?? {}));
    expect(annotations).toEqual([['live.mtq.kubevirt.io/moved-to']]);
  });

  test.each([
    [
      'says so where nothing runs any more',
      { vmi: undefined, vm: HALTED },
      'it failed; the VM does not run on the source',
    ],
    [
      'says so of one that runs again only on failure, and has shut down',
      { vmi: undefined, vm: aRerunningVm('Stopped') },
      'it failed; the VM does not run on the source',
    ],
    [
      'says nothing of one that KubeVirt is about to start',
      { vmi: undefined, vm: aRerunningVm('Stopped', 'Start') },
      'it failed',
    ],
    ['says nothing of a VM that starts', { vmi: undefined }, 'it failed'],
  ])('%s', (_what, source, wanted) => {
    const decision = decide(aRecordedRun(recorded({ end: PROVED }), { source }));
    expect(decision).toMatchObject({ message: expect.stringMatching(`^${wanted}($|: start it)`) });
  });

  test('records its end with the reason of the step', () => {
    expect(writtenRecord(decide(firstAttempt({ source: { vmi: undefined } })) as never)?.end).toEqual({
      as: 'Failed',
      reason: 'SourceStopped',
      message: 'the VM was stopped on the source before its guest moved',
      at: seconds(0),
    });
  });
});

describe('a cancel', () => {
  test.each<[string, RunSnapshot, string]>([
    [
      'is recorded before anything was written: a process that begins by what it read before fails then',
      aRun({ hub: { stop: STOP } }),
      RECORD,
    ],
    [
      'is over then',
      aRecordedRun(recorded({ end: { ...END, as: 'Canceled', reason: 'UserRequested' } })),
      'Canceled UserRequested',
    ],
    ['is recorded first', aRecordedRun(aRecord(), { hub: { stop: STOP } }), RECORD],
    [
      'undoes everything',
      aRecordedRun(recorded({ end: { ...PROVED, as: 'Canceled' } }), { target: { vm: aReceiver() } }),
      'delete VirtualMachine web on target',
    ],
    [
      'comes too late: the VM is turned off on the source',
      firstAttempt({ hub: { stop: STOP }, target: THERE }, { marks: MARKS, arrivedAt: seconds(0) }),
      RECORD,
    ],
    [
      'comes too late while KubeVirt completes the migration',
      firstAttempt({ hub: { stop: STOP }, source: { vmims: [sent('Running')] } }, { marks: MARKS }),
      'wait Transferring',
    ],
  ])('%s', (_what, snapshot, wanted) => {
    expect(summary(decide(snapshot))).toBe(wanted);
  });
});

describe('an end that is recorded while the guest arrives comes too late', () => {
  const CANCELED = { ...END, as: 'Canceled', reason: 'UserRequested', message: 'it was canceled' } as const;
  const arrivedWith = (end: RunRecord['end'], different: Different = {}): RunSnapshot =>
    firstAttempt({ source: OFF, target: DONE_THERE, ...different }, { ...past(), halted: true, end });
  const hookWith = (job: HookView['job']): Pick<HubSide, 'hooks'> => ({
    hooks: [{ step: 'PostHook', hook: aHook(), job }],
  });

  test.each<[string, RunSnapshot, string]>([
    ['a cancel', arrivedWith(CANCELED), 'Succeeded Succeeded'],
    ['a deadline', arrivedWith(END), 'Succeeded Succeeded'],
    ['not a hook that failed', arrivedWith(HOOK_FAILED), 'Failed HookFailed'],
    [
      'not a record that was lost: what it said is not known',
      arrivedWith({ ...END, reason: 'RecordLost' }),
      'Failed RecordLost',
    ],
    [
      'so the PostHook runs',
      arrivedWith(CANCELED, { hub: hookWith(undefined) }),
      expect.stringMatching(/^create ConfigMap .*, create Job/) as never,
    ],
    ['and is not suspended', arrivedWith(CANCELED, { hub: hookWith(RUNNING_JOB) }), 'wait HookRuns'],
    ['and its failure is recorded', arrivedWith(CANCELED, { hub: GONE_HOOK }), RECORD],
    [
      'but not once the end is shown',
      arrivedWith(CANCELED, { hub: { ...hookWith(undefined), ...shown('Canceled', ['x']) } }),
      'Succeeded Succeeded',
    ],
    [
      'and the source may not be off in time',
      arrivedWith(CANCELED, {
        hub: { now: NOW + 86_401_000 },
        source: { ...OFF, vmi: going()(itsVmi()) },
      }),
      'Failed SourceNotVerified, left: the record of VirtualMachine vms/web',
    ],
    [
      'not where the guest was only seen',
      firstAttempt(
        { source: { vmims: [sent('Failed')] }, target: { vmims: [received('Failed')] } },
        { marks: MARKS, end: CANCELED },
      ),
      'Failed CutOverUndecided, left: the record of VirtualMachine vms/web, VirtualMachine target/web',
    ],
  ])('%s', (_what, snapshot, wanted) => {
    expect(summary(decide(snapshot))).toEqual(wanted);
  });

  test.each<[string, RunRecord['end'], string]>([
    ['a cancel', CANCELED, 'the VM runs on the target: the cancel came too late (it was canceled)'],
    ['a failure', END, 'the VM runs on the target: its guest arrived after the run had failed (it failed)'],
    ['nothing', undefined, 'the VM runs on the target'],
  ])('and the message names it: %s', (_what, end, message) => {
    expect(decide(arrivedWith(end))).toMatchObject({ as: 'Succeeded', message });
  });

  test.each(['HookFailed', 'RecordLost'])('a guest that does not run is said beside %s', (reason) => {
    const target = { ...DONE_THERE, vmi: undefined };
    const hub = showing('TargetNotRunning', 300);
    const decision = decide(arrivedWith({ ...END, reason }, { target, hub }));
    expect(writtenRecord(decision as never)?.end).toMatchObject({
      reason: 'TargetNotRunning',
      message: expect.stringMatching(/^too late: the guest has arrived .*newest data.*; it failed$/),
    });
  });

  test('the failure of the PostHook replaces it', () => {
    const decision = decide(arrivedWith(CANCELED, { hub: GONE_HOOK }));
    expect(writtenRecord(decision as never)?.end).toMatchObject({ as: 'Failed', reason: 'HookFailed' });
  });

  test('a cancel does not say that the VM stayed where nothing proves it', () => {
    const lost = { source: OFF, target: { vmi: undefined, vmims: [] } };
    expect(summary(decide(firstAttempt(lost, { end: CANCELED })))).toMatch(/^Failed SourceDownUndecided/);
  });
});

describe('a VMI on the target that has taken the place of the first one', () => {
  const second: Change<Vmi> = (vmi) => ({ ...vmi, metadata: { ...vmi.metadata, uid: 'uid-of-second' } });
  const state =
    (more: object): Change<Vmim> =>
    (vmim) => ({
      ...vmim,
      status: { ...vmim.status, migrationState: { targetNodeDomainReadyTimestamp: seconds(-30), ...more } },
    });
  const halting = { manager: 'virt-controller', fieldsV1: { 'f:spec': { 'f:runStrategy': {} } } };
  const vm = { ...HALTED, metadata: { ...HALTED.metadata, managedFields: [halting] } };
  const downByKubeVirt = { ...OFF, vm };

  test('shows no cut-over, but the VMIM there does', () => {
    const vmims = [received('Failed', state({ completed: true, failed: true }))];
    const run = firstAttempt({ source: downByKubeVirt, target: { vmi: aWaitingVmi(second), vmims } });
    expect(writtenRecord(decide(run) as never)?.marks.map(({ mark }) => mark)).toEqual(['GuestReady']);
  });

  test('shows an arrival by that VMIM, and the source goes off', () => {
    const vmims = [received('Succeeded', state({ completed: true }))];
    const restarted: Change<Vmi> = ({ status: { migrationState: _, ...status } = {}, ...vmi }) => ({
      ...vmi,
      status,
    });
    const vmi = aWaitingVmi(arrived, second, restarted);
    const run = firstAttempt({ target: { vm: THERE.vm, vmi, vmims } }, { marks: MARKS.slice(1) });
    expect(writtenRecord(decide(run) as never)).toMatchObject({ arrivedAt: seconds(0) });
  });

  test('proves nothing once that VMIM is gone: the source is not started, and nothing is deleted', () => {
    const end = { ...END, reason: 'SourceStopped' };
    const target = { vmi: aWaitingVmi(second), vmims: [], made: MADE };
    expect(summary(decide(firstAttempt({ source: downByKubeVirt, target }, { end })))).toMatch(
      /^Failed SourceDownUndecided, left: /,
    );
  });
});

describe('the cut-over', () => {
  const ready = aWaitingVmi(migrated({ targetNodeDomainReadyTimestamp: seconds(0), targetPod: 'p' }));

  test.each<[string, RunSnapshot]>([
    ['before a cancel', firstAttempt({ hub: { stop: STOP }, target: { vmi: ready } })],
    ['before a failure', firstAttempt({ target: { vmi: ready, vmims: [received('Failed')] } })],
    ['before the way back goes on', firstAttempt({ target: { vmi: ready } }, { end: END })],
  ])('is recorded %s', (_what, snapshot) => {
    expect(writtenRecord(decide(snapshot) as never)?.marks).toEqual([{ mark: 'GuestReady', at: seconds(0) }]);
  });

  test('an arrival is recorded with it', () => {
    const { marks, arrivedAt } = writtenRecord(decide(firstAttempt({ target: THERE })) as never) ?? {};
    expect(marks?.map(({ mark }) => mark)).toEqual(['GuestReady', 'NotWaiting', 'StrategyRestored']);
    expect(arrivedAt).toBe(seconds(0));
  });

  test('an arrival is recorded by the write that halts the source', () => {
    const decision = decide(firstAttempt({ target: THERE }, { marks: MARKS }));
    expect(writtenRecord(decision as never)).toMatchObject({ arrivedAt: seconds(0), halted: true });
  });

  test.each<[string, Parameters<typeof firstAttempt>[0]]>([
    [
      'a start is to be taken off the source first',
      {
        source: {
          vm: aVm((vm) => ({ ...vm, status: { ...vm.status, stateChangeRequests: [{ action: 'Start' }] } })),
        },
      },
    ],
    ['the halt was refused', { hub: showing('Refused', 1) }],
  ])('an arrival is recorded by itself where %s', (_what, different) => {
    const decision = decide(firstAttempt({ ...different, target: THERE }, { marks: MARKS }));
    const { arrivedAt, halted } = writtenRecord(decision as never) ?? {};
    expect([arrivedAt, halted]).toEqual([seconds(0), undefined]);
  });

  test('none is recorded by another VM than the attempt was for: it is a sign, by which nothing is deleted', () => {
    const run = firstAttempt({ target: { ...THERE, vmims: [] } }, { receiver: 'uid-of-another' });
    const record = writtenRecord(decide(run) as never);
    expect(record?.arrivedAt).toBeUndefined();
    expect(record?.marks).not.toEqual([]);
  });

  test('nor by a migration within the target', () => {
    const state = { migrationUID: 'uid-of-local' };
    const local = migrated({ completed: true, sourceState: state, targetState: state });
    const vmi = aWaitingVmi(arrived, local);
    const run = firstAttempt({ target: { ...THERE, vmi, vmims: [] } });
    expect(writtenRecord(decide(run) as never)?.arrivedAt).toBeUndefined();
  });

  test('a VM of somebody else on the target shows none', () => {
    const vm = aVm((one) => ({ ...one, metadata: { ...one.metadata, namespace: 'target' } }));
    expect(writtenRecord(decide(firstAttempt({ target: { ...THERE, vm } })) as never)?.marks).toEqual([]);
  });

  const off = { ...past(), halted: true as const };

  test.each<[string, RunSnapshot, string]>([
    [
      'runs the PostHook when the source is off',
      firstAttempt(
        {
          source: OFF,
          target: { ...THERE, vmims: [] },
          hub: { hooks: [{ step: 'PostHook', hook: aHook(), job: undefined }] },
        },
        off,
      ),
      expect.stringMatching(/^create ConfigMap .*, create Job/) as never,
    ],
    [
      'takes the VMIMs away',
      firstAttempt({ source: OFF, target: { ...THERE, vmims: [received('Succeeded')] } }, off),
      expect.stringMatching(/^delete VirtualMachineInstanceMigration/) as never,
    ],
    ['is done', firstAttempt({ source: OFF, target: { ...THERE, vmims: [] } }, off), 'Succeeded Succeeded'],
    [
      'is not done while the guest does not run on the target',
      firstAttempt({ source: OFF, target: { ...THERE, vmi: undefined, vmims: [] } }, off),
      'wait TargetNotRunning',
    ],
    [
      'records that after a while',
      firstAttempt(
        {
          source: OFF,
          target: { ...THERE, vmi: undefined, vmims: [] },
          hub: showing('TargetNotRunning', 300),
        },
        off,
      ),
      RECORD,
    ],
    [
      'has failed then, with nothing left over',
      firstAttempt(
        { source: OFF, target: { ...THERE, vmi: undefined, vmims: [] } },
        { ...off, end: { ...END, reason: 'TargetNotRunning' } },
      ),
      'Failed TargetNotRunning',
    ],
    [
      'keeps the VM on the target when the PostHook fails',
      firstAttempt({ source: OFF, target: DONE_THERE, hub: GONE_HOOK }, { ...off, end: HOOK_FAILED }),
      'Failed HookFailed',
    ],
    [
      'waits whether the guest runs on the target when the PostHook has failed',
      firstAttempt(
        { source: OFF, target: { ...THERE, vmi: undefined, vmims: [] } },
        { ...off, end: HOOK_FAILED },
      ),
      'wait TargetNotRunning',
    ],
    [
      'only tidies up when that end is shown',
      firstAttempt(
        { source: OFF, target: { ...THERE, vmi: undefined, vmims: [] }, hub: shown('Failed') },
        { ...off, end: HOOK_FAILED },
      ),
      'Failed HookFailed',
    ],
    [
      'keeps both VMs where nobody knows which is right',
      firstAttempt(
        { source: { vmims: [sent('Failed')] }, target: { vmims: [received('Failed')] } },
        { marks: MARKS, end: END },
      ),
      'Failed CutOverUndecided, left: the record of VirtualMachine vms/web, VirtualMachine target/web',
    ],
    [
      'removes the record if a user has deleted the VM on the target',
      firstAttempt(
        { source: { vmims: [sent('Failed')] }, target: { vm: undefined, vmi: undefined, vmims: [] } },
        { marks: MARKS, end: END },
      ),
      'Failed CutOverUndecided',
    ],
    [
      'waits then for a VMIM that KubeVirt may still remove',
      firstAttempt(
        {
          source: { vmims: [sent('Failed')] },
          target: { vm: undefined, vmi: undefined, vmims: [going(-1)(received('Failed'))] },
        },
        { marks: MARKS, end: END },
      ),
      'wait Aborting',
    ],
    [
      'takes the finalizers of one off that it never removes',
      firstAttempt(
        {
          source: { vmims: [sent('Failed')] },
          target: { vm: undefined, vmi: undefined, vmims: [going(-3_600)(received('Failed'))] },
        },
        { marks: MARKS, end: END },
      ),
      `replace VirtualMachineInstanceMigration ${received('Failed').metadata.name} on target`,
    ],
    [
      'does not where the VM on the target is only off: it may have the newest data',
      firstAttempt(
        {
          source: { vmims: [sent('Failed')] },
          target: {
            vm: aReceiver((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Halted' } })),
            vmi: undefined,
            vmims: [received('Failed')],
          },
        },
        { marks: MARKS, end: END },
      ),
      'Failed CutOverUndecided, left: the record of VirtualMachine vms/web, VirtualMachine target/web',
    ],
    [
      'does not while a launcher is left there',
      firstAttempt(
        {
          source: { vmims: [sent('Failed')] },
          target: { vm: undefined, vmi: undefined, pods: [aLauncher()], vmims: [received('Failed')] },
        },
        { marks: MARKS, end: END },
      ),
      'Failed CutOverUndecided, left: the record of VirtualMachine vms/web',
    ],
    [
      'removes the record if a user has started the VM on the target, and the source is off',
      firstAttempt({ source: OFF, target: STARTED_THERE }, { marks: MARKS, end: END }),
      'Failed CutOverUndecided',
    ],
    [
      'keeps it for a while then: the owner may start it again',
      firstAttempt(
        { source: OFF, target: STARTED_THERE },
        { marks: MARKS, end: END, undone: { at: seconds(-60), by: 'argocd' } },
      ),
      'wait SourceStartedAgain',
    ],
    [
      'does where that was long ago',
      firstAttempt(
        { source: OFF, target: STARTED_THERE },
        { marks: MARKS, end: END, undone: { at: seconds(-601), by: 'argocd' } },
      ),
      'Failed CutOverUndecided',
    ],
    [
      'keeps the VM on the target where the source is not proved off',
      firstAttempt(
        {
          source: { ...OFF, vmims: [going(-9)(sent('Succeeded'))] },
          target: { ...THERE, vmims: [] },
          hub: { now: NOW + 86_401_000 },
        },
        { ...off, end: { ...END, reason: 'SourceNotVerified' } },
      ),
      'Failed SourceNotVerified, left: the record of VirtualMachine vms/web',
    ],
  ])('%s', (_what, snapshot, wanted) => {
    expect(summary(decide(snapshot))).toEqual(wanted);
  });
});

describe('what has been refused for long', () => {
  const hub = { refused: 'the webhook says no' };

  test.each<[string, RunSnapshot, string]>([
    ['before the record: it is over', aRun({ hub }), 'Failed Refused'],
    ['before the cut-over: it goes back', aRecordedRun(aRecord(), { hub }), RECORD],
    [
      'on the way back: what is left is listed',
      aRecordedRun(recorded({ end: PROVED }), { hub, target: { vm: aReceiver() } }),
      'Failed Refused, left: the record of VirtualMachine vms/web, VirtualMachine target/web',
    ],
    [
      'on the way back, with nothing on the target: the run stays with its record',
      aRecordedRun(recorded({ end: END }), { hub }),
      'Failed Refused, left: the record of VirtualMachine vms/web',
    ],
    ['past the cut-over: its end is recorded', firstAttempt({ hub, target: THERE }, past()), RECORD],
    [
      'past the cut-over, and recorded: the VM on the target stays',
      firstAttempt({ hub, target: THERE }, { ...past(), end: END }),
      'Failed Refused, left: the record of VirtualMachine vms/web',
    ],
  ])('%s', (_what, snapshot, wanted) => {
    expect(summary(decide(snapshot))).toBe(wanted);
  });

  test('is the reason of the end', () => {
    const { end } = writtenRecord(decide(aRecordedRun(aRecord(), { hub })) as never) ?? {};
    expect(end).toMatchObject({ as: 'Failed', reason: 'Refused', message: hub.refused });
  });
});

describe('somebody deletes the source VM, or its record', () => {
  const VMIM = sent('').kind ?? '';
  const ACTIVE = aWaitingVmi(migrated({ ...OWN_STATE, targetNodeDomainReadyTimestamp: seconds(0) }));
  const ENDED_THERE = aWaitingVmi(arrived, (vmi) => ({ ...vmi, status: { ...vmi.status, phase: 'Failed' } }));
  const gone = { vm: undefined, vmi: undefined, pods: [] };
  const replaced = { ...gone, successor: aVm() };
  /** The Migration shows that the guest was on the target, and a wait for so many seconds. */
  const cutOver = (...wait: Parameters<typeof showing> | []): Partial<HubSide> => {
    const [reason = 'Transferring', since = 0] = wait;
    const { status } = showing(reason, since);
    const condition = { type: 'CutOver', status: 'True' };
    return { status: { ...status, conditions: [condition, ...(status?.conditions ?? [])] } as VmStatus };
  };
  const oneUid = { migrationUID: 'uid-of-local' };
  const migratedThere = migrated({ completed: true, sourceState: oneUid, targetState: oneUid });
  const UP_THERE = { vm: THERE.vm, vmi: aWaitingVmi(arrived, migratedThere), pods: [aLauncher()] };
  const SUCCEEDED_JOB: Job = {
    ...RUNNING_JOB,
    status: { succeeded: 1, conditions: [{ type: 'Complete', status: 'True' }] },
  };
  const postHook = (job: HookView['job']): Pick<HubSide, 'hooks'> => ({
    hooks: [{ step: 'PostHook', hook: aHook(), job }],
  });

  test.each<[string, RunSnapshot, string]>([
    ['before anything was made', aRun({ source: gone }), 'Failed SourceGone'],
    [
      'when there are volumes on the target, and a VMIM',
      aRun({ source: { ...gone, vmims: [sent('Running')] }, target: { made: MADE } }),
      `Failed SourceGone, left: ${sent('').kind ?? ''} target/${sent('').metadata.name}, DataVolume target/web-root`,
    ],
    [
      'before the guest arrived: the VM on the target stays',
      aRun({ source: gone, target: { vm: aReceiver(), vmi: aWaitingVmi() } }),
      'Failed SourceGone, left: VirtualMachine target/web',
    ],
    ['when the guest has arrived', aRun({ source: gone, target: THERE }), 'Succeeded Succeeded'],
    [
      'when the guest has arrived, and another VM of its name may run',
      aRun({ source: replaced, target: THERE }),
      'wait SourceStartedAgain',
    ],
    [
      'the same for a day',
      aRun({ source: replaced, target: THERE, hub: showing('SourceStartedAgain', 86_400) }),
      'Failed SourceNotVerified',
    ],
    [
      'the same, when the run has ended',
      aRun({ source: replaced, target: THERE, hub: shown('Failed') }),
      'Failed Succeeded',
    ],
    [
      'when the guest has arrived, and another VM of its name is off',
      aRun({ source: { ...gone, successor: HALTED }, target: THERE }),
      'Succeeded Succeeded',
    ],
    [
      'before its PostHook ran',
      aRun({ source: gone, target: THERE, hub: postHook(undefined) }),
      'Failed HookFailed',
    ],
    [
      'while its PostHook runs: that is suspended first',
      aRun({ source: gone, target: THERE, hub: postHook(RUNNING_JOB) }),
      'replace Job posthook on hub',
    ],
    [
      'while its PostHook runs, which is suspended',
      aRun({ source: gone, target: THERE, hub: postHook({ ...RUNNING_JOB, spec: { suspend: true } }) }),
      'Failed HookFailed',
    ],
    [
      'before its PostHook ran, and the guest does not run there',
      aRun({ source: gone, target: { ...THERE, vmi: ENDED_THERE }, hub: postHook(undefined) }),
      'wait TargetNotRunning',
    ],
    [
      'after its PostHook has succeeded',
      aRun({ source: gone, target: THERE, hub: postHook(SUCCEEDED_JOB) }),
      'Succeeded Succeeded',
    ],
    [
      'after a Job of somebody else has',
      aRun({
        source: gone,
        target: THERE,
        hub: postHook({ ...SUCCEEDED_JOB, metadata: { ...RUNNING_JOB.metadata, labels: {} } }),
      }),
      'Failed HookFailed',
    ],
    [
      'when its run had a PreHook only',
      aRun({
        source: gone,
        target: THERE,
        hub: { hooks: [{ step: 'PreHook', hook: aHook(), job: undefined }] },
      }),
      'Succeeded Succeeded',
    ],
    [
      'before its PostHook ran, and another VM of its name may run',
      aRun({ source: replaced, target: THERE, hub: postHook(undefined) }),
      'wait SourceStartedAgain',
    ],
    ['when the run has ended', aRun({ source: gone, hub: shown('Canceled') }), 'Canceled Succeeded'],
    [
      'when its guest is active on the target: the run waits for the only copy',
      aRun({ source: gone, target: { vm: aReceiver(), vmi: ACTIVE, pods: [aLauncher()] } }),
      'wait Transferring',
    ],
    [
      'when its guest was active on the target, and does not arrive within ten minutes',
      aRun({
        source: gone,
        target: { vm: aReceiver(), vmi: ACTIVE, pods: [aLauncher()] },
        hub: showing('Transferring', 600),
      }),
      'wait TargetNotRunning',
    ],
    [
      'when its guest was active on the target, and is lost: the only copy is no leftover',
      aRun({
        source: gone,
        target: { vm: aReceiver(), vmi: ACTIVE },
        hub: showing('TargetNotRunning', 300),
      }),
      'Failed TargetNotRunning',
    ],
    [
      'when only the status says that the guest is on the target, which was migrated there since',
      aRun({ source: gone, target: UP_THERE, hub: cutOver() }),
      'Succeeded Succeeded',
    ],
    [
      'the same, where KubeVirt there has cleared the state',
      aRun({
        source: gone,
        target: { ...UP_THERE, vmi: aWaitingVmi(arrived, migrated({})) },
        hub: cutOver(),
      }),
      'Succeeded Succeeded',
    ],
    [
      'the same, and another VM of its name may run',
      aRun({ source: replaced, target: UP_THERE, hub: cutOver() }),
      'wait SourceStartedAgain',
    ],
    [
      'the same, before its PostHook ran',
      aRun({ source: gone, target: UP_THERE, hub: { ...cutOver(), ...postHook(undefined) } }),
      'Failed HookFailed',
    ],
    [
      'the same, when KubeVirt there has not finished the migration',
      aRun({
        source: gone,
        target: { vm: aReceiver(), vmi: aWaitingVmi(), pods: [aLauncher()] },
        hub: cutOver(),
      }),
      'wait Transferring',
    ],
    [
      'the same, when the VM on the target was deleted too',
      aRun({ source: gone, hub: cutOver('TargetNotRunning', 300) }),
      'Failed TargetNotRunning',
    ],
    [
      'when the status says so, and the run has failed: the only copy is no leftover',
      aRun({
        source: gone,
        target: { vm: aReceiver(), vmi: aWaitingVmi() },
        hub: shown('Failed', ['VirtualMachine target/web'], 'CutOver'),
      }),
      'Failed Succeeded',
    ],
    [
      'when the guest has arrived, with both VMIMs left, which are listed',
      aRun({
        source: { ...gone, vmims: [sent('Running')] },
        target: { ...THERE, vmims: [received('Succeeded')] },
      }),
      `Succeeded Succeeded, left: ${VMIM} target/${sent('').metadata.name}, ${VMIM} target/${sent('').metadata.name}`,
    ],
    [
      'when that is shown: they are deleted',
      aRun({
        source: { ...gone, vmims: [sent('Running')] },
        target: { ...THERE, vmims: [received('Succeeded')] },
        hub: shown('Succeeded'),
      }),
      `delete ${VMIM} ${sent('').metadata.name} on source, delete ${VMIM} ${sent('').metadata.name} on target`,
    ],
    [
      'when the guest has arrived, and does not run any more',
      aRun({
        source: gone,
        target: { vm: THERE.vm, vmi: undefined, vmims: [received('Succeeded')] },
        hub: cutOver(),
      }),
      'wait TargetNotRunning',
    ],
    [
      'the same for long: the only copy is no leftover',
      aRun({
        source: gone,
        target: { vm: THERE.vm, vmi: undefined, vmims: [received('Succeeded')] },
        hub: cutOver('TargetNotRunning', 300),
      }),
      `Failed TargetNotRunning, left: ${VMIM} target/${received('').metadata.name}`,
    ],
    [
      'when nothing but KubeVirt’s word there says that the guest has arrived (kubevirt#17261)',
      aRun({ source: gone, target: { vm: THERE.vm, vmi: undefined, vmims: [received('Succeeded')] } }),
      `Failed SourceGone, left: ${VMIM} target/${received('').metadata.name}, VirtualMachine target/web`,
    ],
    [
      'when the guest had arrived, and its VMI ends',
      aRun({ source: gone, target: { ...THERE, vmi: ENDED_THERE } }),
      'wait TargetNotRunning',
    ],
    [
      'when that has lasted',
      aRun({ source: gone, target: { ...THERE, vmi: ENDED_THERE }, hub: showing('TargetNotRunning', 300) }),
      'Failed TargetNotRunning',
    ],
    [
      'when the run has failed, and what it made is still there: it is listed until it is gone',
      aRun({ source: gone, target: { made: MADE }, hub: shown('Failed') }),
      'Failed Succeeded, left: DataVolume target/web-root',
    ],
    [
      'when the run has failed, and the guest has arrived',
      aRun({ source: gone, target: { ...THERE, made: MADE }, hub: shown('Failed') }),
      'Failed Succeeded',
    ],
    [
      'the record, of a run that has ended',
      aRun({ hub: shown('Succeeded'), target: THERE }),
      'Succeeded Succeeded',
    ],
    [
      'the record, of one that has left something over: it is recorded again',
      aRun({ hub: shown('Failed', ['DataVolume target/web-root']), target: { made: MADE } }),
      RECORD,
    ],
    [
      'the record, of one that had left something over, which is gone',
      aRun({
        hub: shown('Failed', ['DataVolume target/web-root']),
        target: { made: { volumes: [], unused: [] } },
      }),
      'Failed Succeeded',
    ],
    [
      'the record, of one that has not: it is recorded again',
      aRun({ target: { vm: aReceiver(), vmi: aWaitingVmi() } }),
      RECORD,
    ],
    ['the record, and only volumes are there', aRun({ target: { made: MADE } }), RECORD],
    [
      'the record, and only a copied Secret is there',
      aRun({ target: { made: { volumes: [], unused: [aDataVolume('')] } } }),
      RECORD,
    ],
    ['the record, and only a VMIM is there', aRun({ source: { vmims: [sent('Running')] } }), RECORD],
  ])('%s', (_what, snapshot, wanted) => {
    expect(summary(decide(snapshot))).toBe(wanted);
  });

  test.each([
    ['the source VM runs: the volumes go', {}, 'recording that the guest is not on the target'],
    [
      'the source VM is down: nothing is deleted',
      { vm: HALTED, vmi: undefined, pods: [] },
      /nothing proves.*Nothing is deleted/,
    ],
  ])('a record that was removed, with nothing but volumes left; %s', (_what, source, wanted) => {
    const lost = aRun({ source, target: { made: MADE } });
    const record = writtenRecord(decide(lost) as never);
    expect(decide(aRecordedRun(record, { source, target: { made: MADE } }))).toMatchObject({
      message: expect.stringMatching(wanted),
    });
  });

  test('a record that was removed after the cut-over was shown comes back with a mark, and the copy stays', () => {
    // The copy shows nothing of the migration any more: it has the newest data all the same.
    const target = { vm: aReceiver(), made: MADE };
    const record = writtenRecord(decide(aRun({ hub: cutOver(), target })) as never);
    expect(record?.marks).toMatchObject([{ mark: 'NotWaiting' }]);
    expect(decide(aRecordedRun(record, { hub: cutOver(), target }))).toMatchObject({
      kind: 'ended',
      reason: 'CutOverUndecided',
    });
  });

  test('a record that was removed comes back with its end, and takes no VMI for its own', () => {
    const lost = aRun({ target: { vm: aReceiver(), vmi: aWaitingVmi(), vmims: [received('Running')] } });
    const record = writtenRecord(decide(lost) as never);
    expect(record).toMatchObject({
      attempt: 1,
      vmi: 'lost',
      runStrategy: 'Always',
      end: { reason: 'RecordLost' },
    });
  });

  test.each([
    ['succeeded, which halted the VM: an owner who starts it is known', 'Succeeded', true],
    ['failed, which may have left it on', 'Failed', false],
  ] as const)('a record that comes back after the run has %s', (_what, as, wanted) => {
    const lost = aRun({
      hub: shown(as, ['DataVolume target/web-root']),
      target: { ...THERE, made: MADE },
    });
    const { halted = false } = writtenRecord(decide(lost) as never) as RunRecord;
    expect(halted).toBe(wanted);
  });

  test('a run that another call has begun, just before its end was shown, goes back', () => {
    const begun = aRecordedRun(aRecord(), { hub: shown('Failed') });
    expect(writtenRecord(decide(begun) as never)?.end).toMatchObject({ as: 'Failed', reason: 'Refused' });
  });

  test('also where the source’s VMI is another one', () => {
    expect(summary(decide(aRun({ source: { vmi: itsVmi() }, target: { vm: aReceiver() } })))).toBe(RECORD);
  });
});

test('the itinerary has the steps of the proposal, in its order', () => {
  expect(ITINERARY.map(({ name }) => name)).toEqual([
    'Validate',
    'Started',
    'PreHook',
    'CreateEmptyDataVolumes',
    'EnsureResources',
    'CreateStandbyVM',
    'CreateTargetMigration',
    'WaitForTargetMigration',
    'CreateSourceMigration',
    'WaitForStateTransfer',
    'PostHook',
    'Completed',
  ]);
});

test.each([
  ['runs is suspended while the VMIMs go', {}, 'Undo: replace Job posthook on hub'],
  [
    'has ended stays as it is',
    { conditions: [{ type: 'Failed', status: 'True' }] },
    'Completed: wait CleaningUp',
  ],
])('a PostHook that took too long, and %s', (_what, status, wanted) => {
  const job: Job = { ...RUNNING_JOB, status };
  const run = aRecordedRun(recorded({ ...past(), end: { ...END, reason: 'HookFailed' } }), {
    hub: { hooks: [{ step: 'PostHook', hook: aHook(), job }] },
    source: OFF,
    target: { ...THERE, vmims: [going()(received('Succeeded'))] },
  });
  expect(`${stepOf(run)}${summary(decide(run))}`).toBe(wanted);
});
