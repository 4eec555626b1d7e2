import { expect, test } from '@jest/globals';
import { aReceiver, arrived, aWaitingVmi, firstAttempt } from '../../../test/support/builders/live-run.ts';
import { seconds } from '../../../test/support/builders/object.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { movedToOf, withMovedTo } from './moved-to.ts';

const placeIn = (run: RecordedRun): unknown => {
  const text = movedToOf(withMovedTo(run));
  return text === undefined ? undefined : JSON.parse(text);
};
const WHERE = { vm: 'target/web', provider: 'tenant/destination', cluster: 'target' };

test('it says where the VM has moved, and when', () => {
  expect(placeIn(firstAttempt({}, { arrivedAt: seconds(7) }))).toEqual({ ...WHERE, at: seconds(7) });
});

test('a VM whose guest a user has found on the target has it too', () => {
  const there = {
    vm: aReceiver((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Always' } })),
    vmi: aWaitingVmi(arrived),
  };
  expect(placeIn(firstAttempt({ target: there }))).toEqual({ ...WHERE, at: seconds(0) });
});

test('a VM that stays has none', () => {
  const run = firstAttempt();
  expect(withMovedTo(run)).toBe(run.source.vm);
});
