import { describe, expect, test } from '@jest/globals';
import {
  aLauncherPod,
  aReceiver,
  aRerunningVm,
  firstAttempt,
  received,
  recorded,
  sent,
  showing,
  summary,
  writtenRecord,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { aVm, itsVmi } from '../../../test/support/builders/live.ts';
import { seconds } from '../../../test/support/builders/object.ts';
import { FIELD_MANAGER } from '../../domain/names.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import type { StepDecision } from '../run/decision.ts';
import { withoutRecord, withRecord, withStrategy, type RunRecord } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { decide as createSourceMigration } from './create-source-migration.ts';
import { rebuiltRecord } from './rebuild-record.ts';
import { decide as undo } from './undo.ts';
import { decide as waitForStateTransfer } from './wait-for-state-transfer.ts';

const RERUN = aRerunningVm('Running');
const MANUAL = withStrategy(RERUN, 'Manual');
const strategyIn = (decision: StepDecision): string | undefined => {
  const [one] = decision.kind === 'write' ? decision.writes : [];
  return (one?.object as VirtualMachine | undefined)?.spec.runStrategy;
};
const run = (vm: VirtualMachine, record: Partial<RunRecord> = {}, more: Different = {}): RecordedRun =>
  firstAttempt({ ...more, source: { vm, ...more.source } }, { runStrategy: 'RerunOnFailure', ...record });
const COPYING: Different = { source: { vmims: [sent('Running')] }, target: { vmims: [received('Running')] } };

describe('a source VM that KubeVirt starts again on failure', () => {
  test('is Manual before the VMIM that sends is made, with the record in one write', () => {
    const decision = createSourceMigration(run(RERUN));
    expect(summary(decision)).toBe('replace VirtualMachine web on source');
    expect(strategyIn(decision)).toBe('Manual');
    expect(writtenRecord(decision)).toMatchObject({ held: true, runStrategy: 'RerunOnFailure' });
    expect(summary(createSourceMigration(run(MANUAL, { held: true })))).toMatch(/^create .* on source$/);
  });

  test.each(['Always', 'Manual', 'Once', 'running'] as const)('is no VM of %s', (strategy) => {
    expect(summary(createSourceMigration(run(withStrategy(aVm(), strategy))))).toMatch(
      /^create .* on source$/,
    );
  });

  test('is Manual again if a tool has put its strategy back in the copy', () => {
    expect(strategyIn(waitForStateTransfer(run(RERUN, { held: true }, COPYING)))).toBe('Manual');
    expect(summary(waitForStateTransfer(run(MANUAL, { held: true }, COPYING)))).toBe('wait Transferring');
  });
});

describe('a strategy that an owner sets in the copy', () => {
  type Strategy = RunRecord['runStrategy'];

  test.each<[string, Strategy, Partial<RunRecord>, Strategy | undefined]>([
    ['is recorded', 'Manual', { runStrategy: 'Always' }, 'Manual'],
    ['is recorded with the hold', 'RerunOnFailure', { runStrategy: 'Always' }, 'RerunOnFailure'],
    ['is recorded of a VM that is held', 'Always', { held: true }, 'Always'],
    ['is recorded where it is changed again', 'Once', { changedTo: 'Always', held: true }, 'Once'],
    ['is none once it is back', 'Always', { runStrategy: 'Always', changedTo: 'Manual' }, undefined],
  ])('%s', (_what, strategy, record, wanted) => {
    const decision = waitForStateTransfer(run(withStrategy(aVm(), strategy), record, COPYING));
    expect(summary(decision)).toBe('replace VirtualMachine web on source');
    expect(writtenRecord(decision)).toMatchObject({ attempt: 1 });
    expect(writtenRecord(decision)?.changedTo).toBe(wanted);
  });

  test.each<[string, VirtualMachine, Partial<RunRecord>]>([
    ['the hold of the run', MANUAL, { held: true }],
    ['the hold after a change', MANUAL, { runStrategy: 'Always', held: true, changedTo: 'RerunOnFailure' }],
    ['the older form of Always', withStrategy(aVm(), 'running'), { runStrategy: 'Always' }],
    ['one that is recorded', withStrategy(aVm(), 'Manual'), { runStrategy: 'Always', changedTo: 'Manual' }],
    ['a stop', withStrategy(aVm(), 'Halted'), { runStrategy: 'Always' }],
  ])('is not %s', (_what, vm, record) => {
    expect(writtenRecord(waitForStateTransfer(run(vm, record, COPYING)))).toBeUndefined();
  });
});

describe('an owner that sets it back', () => {
  const setBack = (since: number): VirtualMachine => ({
    ...RERUN,
    metadata: {
      ...RERUN.metadata,
      managedFields: [
        { manager: FIELD_MANAGER, time: seconds(-since), fieldsV1: {} },
        { manager: 'argocd', fieldsV1: { 'f:spec': { 'f:runStrategy': {} } } },
      ],
    },
  });
  const copying = (since: number, more: Different = COPYING): StepDecision =>
    waitForStateTransfer(run(setBack(since), { held: true }, more));
  const blocked = { hub: showing('SourceSetBack', 3_600) };

  test.each<[string, StepDecision, string]>([
    ['is waited for in the copy', copying(9), 'wait SourceSetBack'],
    ['is overruled a while later', copying(10), 'replace VirtualMachine web on source'],
    ['hides no failure', copying(9, { source: { vmims: [sent('Failed')] } }), 'fail TransferFailed'],
    [
      'keeps the copy from its beginning',
      createSourceMigration(run(setBack(9), { held: true })),
      'wait SourceSetBack',
    ],
    [
      'does not keep the run for ever',
      createSourceMigration(run(setBack(9), { held: true }, blocked)),
      'fail SourceSetBack',
    ],
    [
      'of another field has nothing to do with it',
      createSourceMigration(run(setBack(9))),
      'replace VirtualMachine web on source',
    ],
  ])('%s', (_what, decision, wanted) => {
    expect(summary(decision)).toBe(wanted);
  });

  test('also past the cut-over, where the guest is waited for', () => {
    const marks = [{ mark: 'GuestReady' as const, at: seconds(0) }];
    expect(summary(waitForStateTransfer(run(setBack(9), { held: true, marks }, COPYING)))).toBe(
      'wait SourceSetBack',
    );
  });

  test('is named', () => {
    expect(copying(9)).toMatchObject({
      message: expect.stringMatching(/vms\/web .* set back to RerunOnFailure by the field manager argocd/),
    });
  });

  test.each(['', undefined])('is left out where the managed fields do not name it: %j', (manager) => {
    const [ours, owner] = setBack(9).metadata.managedFields ?? [];
    const vm = {
      ...RERUN,
      metadata: { ...RERUN.metadata, managedFields: [{ ...ours }, { ...owner, manager }] },
    };
    expect(waitForStateTransfer(run(vm, { held: true }, COPYING))).toMatchObject({
      reason: 'SourceSetBack',
      message: expect.stringMatching(/was set back to RerunOnFailure, by which KubeVirt/),
    });
  });
});

describe('its strategy comes back', () => {
  const VMI = itsVmi((vmi) => vmi);
  const held = (vm: VirtualMachine, record: Partial<RunRecord> = { held: true }): VirtualMachine =>
    withoutRecord(withRecord(vm, recorded({ runStrategy: 'RerunOnFailure', ...record })), VMI);

  const stopped = (vm: VirtualMachine): VirtualMachine =>
    withoutRecord(withRecord(vm, recorded({ runStrategy: 'RerunOnFailure', held: true })), undefined);

  test.each<[string, VirtualMachine, string | undefined]>([
    ['with the removal of the record', held(MANUAL), 'RerunOnFailure'],
    ['not to a VM that is off', held(withStrategy(MANUAL, 'Halted')), 'Halted'],
    ['not to a VM that a user has set to another one', held(withStrategy(MANUAL, 'Always')), 'Always'],
    ['not to a VM that was Manual', held(MANUAL, {}), 'Manual'],
    ['not to a VM that was stopped meanwhile: KubeVirt would start it', stopped(MANUAL), 'Manual'],
    [
      'not once its guest may have left: KubeVirt would start it',
      held(MANUAL, { held: true, arrivedAt: seconds(0) }),
      'Manual',
    ],
  ])('%s', (_what, vm, strategy) => {
    expect(vm.spec.runStrategy).toBe(strategy);
    expect(JSON.stringify(vm.metadata.annotations)).not.toContain('live.mtq.kubevirt.io/run');
  });

  const end = { as: 'Failed', reason: 'TransferFailed', message: 'it failed', at: seconds(0) } as const;
  const FAILED = itsVmi((vmi) => ({ ...vmi, status: { ...vmi.status, phase: 'Failed' } }));
  const down = (target: NonNullable<Different['target']>, record: Partial<RunRecord> = {}): RecordedRun =>
    run(
      MANUAL,
      { held: true, ...record },
      { source: { vmi: FAILED, pods: [], vmims: [sent('Failed')] }, target },
    );

  test('at once if its launcher has failed and the target has given up, so that KubeVirt starts it', () => {
    const decision = undo(down({ vmims: [received('Failed')] }), end);
    expect(strategyIn(decision)).toBe('RerunOnFailure');
    expect(writtenRecord(decision)).not.toHaveProperty('held');
  });

  test('also once it is proved that the guest is not on the target', () => {
    expect(strategyIn(undo(down({ vmims: [] }), { ...end, proved: true }))).toBe('RerunOnFailure');
  });

  test('not while the target may have the guest', () => {
    expect(summary(undo(down({ vmims: [received('Running')], pods: [aLauncherPod('there')] }), end))).toBe(
      'wait RestoringSource',
    );
  });

  test('is known again after a user has removed the record', () => {
    const receiver = aReceiver((vm) => ({
      ...vm,
      metadata: {
        ...vm.metadata,
        annotations: { ...vm.metadata.annotations, 'kubevirt.io/restore-run-strategy': 'RerunOnFailure' },
      },
    }));
    const again = rebuiltRecord(run(MANUAL, {}, { target: { vm: receiver } }), MANUAL);
    expect(again).toMatchObject({ runStrategy: 'RerunOnFailure', held: true });
  });
});
