import { expect, test } from '@jest/globals';
import {
  aReceiver,
  aWaitingVmi,
  arrived,
  firstAttempt,
  going,
  showing,
  summary,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { aVm } from '../../../test/support/builders/live.ts';
import { seconds } from '../../../test/support/builders/object.ts';
import { crossHistory } from '../../../test/support/live/cross-history.ts';
import type { RunStrategy, VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { decide } from './target-runs.ts';

const HALTED = aVm((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Halted' } }));
const OFF = { vm: HALTED, vmi: undefined, pods: [] };
const there = (runStrategy: RunStrategy): VirtualMachine =>
  aReceiver((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy } }));
const run = (target: NonNullable<Different['target']>, more: Different = {}): RecordedRun =>
  firstAttempt({ source: OFF, ...more, target: { vmims: [], ...target } }, { arrivedAt: seconds(0) });
/** A VMI as KubeVirt leaves it for a moment: the migration has completed, and the VMI is still its target. */
const HANDED_OVER = aWaitingVmi(arrived, (vmi) => ({
  ...vmi,
  metadata: { ...vmi.metadata, annotations: aWaitingVmi().metadata.annotations ?? {} },
  status: { ...vmi.status, phase: 'Scheduled' },
}));
/** A VMI whose guest has ended. */
const ended = (phase: string): Vmi =>
  aWaitingVmi(arrived, (vmi) => ({ ...vmi, status: { ...vmi.status, phase } }));
const START = /: start it there \(virtctl start web -n target\)$/;
const BY_ITSELF = /: KubeVirt there starts it by itself: see the Events of the VM target\/web$/;
const PATCH = `kubectl patch vm web -n target --type=merge -p '{"spec":{"runStrategy":"Always"}}'`;
const DOWN = { vm: there('Halted'), vmi: undefined };

test.each<[string, RecordedRun, string]>([
  ['the guest runs', run({ vm: there('Always'), vmi: aWaitingVmi(arrived) }), 'done'],
  ['KubeVirt has halted the VM', run(DOWN), 'wait TargetNotRunning'],
  [
    'for less than five minutes',
    run(DOWN, { hub: showing('TargetNotRunning', 299) }),
    'wait TargetNotRunning',
  ],
  ['for five minutes', run(DOWN, { hub: showing('TargetNotRunning', 300) }), 'fail TargetNotRunning'],
  ['the VM was deleted', run({ vm: undefined, vmi: undefined }), 'wait TargetNotRunning'],
])('%s', (_what, snapshot, wanted) => {
  expect(summary(decide(snapshot))).toBe(wanted);
});

test.each<[string, RecordedRun, RegExp | undefined]>([
  ['off', run(DOWN), /newest data.*virtctl start web -n target/],
  ['Always, without a VMI', run({ vm: there('Always'), vmi: undefined }), BY_ITSELF],
  ['Once, without a VMI', run({ vm: there('Once'), vmi: undefined }), BY_ITSELF],
  [
    'Once, and has ended',
    run({ vm: there('Once'), vmi: ended('Succeeded') }),
    /kubectl delete vmi web -n target/,
  ],
  ['Manual, and has ended', run({ vm: there('Manual'), vmi: ended('Failed') }), START],
  ['Manual, without a VMI', run({ vm: there('Manual'), vmi: undefined }), START],
  ['RerunOnFailure, and has shut down', run({ vm: there('RerunOnFailure'), vmi: ended('Succeeded') }), START],
  [
    'RerunOnFailure, and has failed',
    run({ vm: there('RerunOnFailure'), vmi: ended('Failed') }),
    /Events of its VMI target\/web$/,
  ],
  ['being deleted', run({ vm: going()(there('Always')), vmi: undefined }), /: it is being deleted there/],
  [
    'on, with a VMI that starts',
    run({ vm: there('Always'), vmi: aWaitingVmi() }),
    /Events of its VMI target\/web/,
  ],
  [
    'a receiver whose VMI may have the guest',
    run({ vm: aReceiver(), vmi: ended('Scheduled') }),
    /Events of its VMI target\/web$/,
  ],
  ['being handed over', run({ vm: there('Always'), vmi: HANDED_OVER }), undefined],
  ['off, and the source is on', run(DOWN, { source: { ...OFF, vm: aVm() } }), undefined],
  ['deleted', run({ vm: undefined, vmi: undefined }), undefined],
])('how to start the VM that is %s', (_what, snapshot, advice) => {
  expect(decide(snapshot)).toMatchObject({
    message:
      advice === undefined ? expect.not.stringMatching(/virtctl|Events/) : expect.stringMatching(advice),
  });
});

test('a VM that waits for a guest again gets its own strategy, and its VMI goes', () => {
  const message = (vmi: Vmi | undefined): unknown =>
    (decide(run({ vm: aReceiver(), vmi })) as { message: string }).message;
  expect(message(undefined)).toEqual(expect.stringContaining(`: ${PATCH}`));
  expect(message(aWaitingVmi())).toEqual(
    expect.stringContaining(`: ${PATCH}; kubectl delete vmi web -n target`),
  );
});

test('a VMI that is being handed over is not said to have failed', () => {
  const { message } = decide(run({ vm: there('Always'), vmi: HANDED_OVER })) as { message: string };
  expect(message).toBe(
    'the guest has arrived on the target, and KubeVirt there does not say yet that it runs',
  );
});

test('as recorded: the target fails just after its arrival, and nothing runs anywhere', () => {
  const last = crossHistory('target-fails-after-arrival').at(-1);
  expect(last?.source.vm?.spec.runStrategy).toBe('Halted');
  const { vm, vmi } = last?.target ?? {};
  const own = vm && { ...vm, metadata: { ...vm.metadata, labels: there('Halted').metadata.labels ?? {} } };
  expect(summary(decide(run({ vm: own, vmi })))).toBe('wait TargetNotRunning');
});
