import { describe, expect, test } from '@jest/globals';
import {
  aReceiver,
  aRecordedRun,
  aRun,
  arrived,
  aWaitingVmi,
  migrated,
  recorded,
} from '../../../test/support/builders/live-run.ts';
import { NOW, seconds } from '../../../test/support/builders/object.ts';
import type { VmStatus } from '../../domain/live/forklift.ts';
import { hasMoved } from '../run/state.ts';
import type { RunRecord } from '../run/record.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import type { RunDecision } from '../run/decision.ts';
import { nextVmStatus } from './vm.ts';

const SEEN: Partial<RunRecord> = { marks: [{ mark: 'GuestReady', at: seconds(0) }] };
const ARRIVED: Partial<RunRecord> = { ...SEEN, arrivedAt: seconds(0) };
const runOf = (record: Partial<RunRecord>, vm: RunSnapshot['target']['vm'] = aReceiver()): RunSnapshot => ({
  ...aRecordedRun(recorded(record), { target: { vm } }),
});
const gone = (record: Partial<RunRecord>): RunSnapshot => {
  const run = runOf(record);
  return { ...run, target: { ...run.target, vm: undefined } };
};
const LEFT: RunDecision = {
  ...({ kind: 'ended', as: 'Failed', reason: 'CutOverUndecided', message: 'look at both' } as const),
  ...{ leftovers: ['the record of VirtualMachine vms/web'], recordRemoval: [] },
};
/** The decision by which the record is removed. */
const SETTLED: RunDecision = {
  ...LEFT,
  leftovers: [],
  recordRemoval: [{ verb: 'replace', on: 'source', object: runOf({}).source.vm ?? aReceiver() }],
};
const ALONE: RunDecision = {
  ...({ kind: 'ended', as: 'Failed', reason: 'HookFailed', message: 'run it by hand' } as const),
  ...{ leftovers: [], recordRemoval: [] },
};
const alone = (...changes: Parameters<typeof aWaitingVmi>): RunSnapshot => ({
  ...aRun({ target: { vm: aReceiver(), vmi: aWaitingVmi(...changes) } }),
  source: { ...aRun().source, vm: undefined, vmi: undefined },
});
type Pass = readonly [RunDecision, RunSnapshot];
const shownAfter = (...passes: readonly Pass[]): VmStatus => {
  const entry = { name: 'web', namespace: 'vms' };
  const shown = passes.reduce<VmStatus | undefined>(
    (before, [decision, snapshot]) => nextVmStatus({ entry, decision, snapshot }, before, NOW),
    undefined,
  );
  if (shown === undefined) throw new Error('no pass');
  return shown;
};

describe('a VM that has failed counts as moved', () => {
  test.each<[string, readonly Pass[], boolean]>([
    ['not before its cut-over', [[LEFT, runOf({})]], false],
    ['past its cut-over, in doubt', [[LEFT, runOf(SEEN)]], true],
    [
      'past its cut-over, once the one on the source is off',
      [
        [LEFT, runOf(SEEN)],
        [SETTLED, runOf(SEEN)],
      ],
      true,
    ],
    [
      'not once a user has deleted the one on the target instead',
      [
        [LEFT, runOf(SEEN)],
        [SETTLED, gone(SEEN)],
      ],
      false,
    ],
    ['not where a user has deleted that before the end is shown', [[SETTLED, gone(SEEN)]], false],
    [
      'where a user has deleted it after it had arrived: the one on the source is out of date',
      [
        [LEFT, runOf(ARRIVED)],
        [SETTLED, gone(ARRIVED)],
      ],
      true,
    ],
    [
      'where the guest arrives after its end was shown',
      [
        [LEFT, runOf({})],
        [LEFT, runOf(ARRIVED)],
      ],
      true,
    ],
    ['where it is there alone, because the one on the source was deleted', [[ALONE, alone(arrived)]], true],
    [
      'where its guest was active there, and the one on the source was deleted',
      [[ALONE, alone(migrated({ targetNodeDomainReadyTimestamp: seconds(0) }))]],
      true,
    ],
    ['not where its guest had not come by then', [[ALONE, alone()]], false],
  ])('%s', (_what, passes, wanted) => {
    expect(hasMoved(shownAfter(...passes))).toBe(wanted);
  });
});
