import { expect, test } from '@jest/globals';
import { aRecordedRun, aRun, showing, summary } from '../../../test/support/builders/live-run.ts';
import { aRecord } from '../../../test/support/builders/live.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { decide } from './validate.ts';

const BLOCKERS = { blockers: ['The provider does not have the Ready condition.'] };
const BLOCKED = { hub: BLOCKERS };
const since = (second: number): RunSnapshot =>
  aRun({ hub: { ...BLOCKERS, ...showing('PlanNotReady', second) } });

test.each<[string, RunSnapshot, string]>([
  ['a plan that is Ready', aRun(), 'done'],
  ['a plan with a blocker: no VM starts', aRun(BLOCKED), 'wait PlanNotReady'],
  ['a plan with a blocker for almost an hour', since(3_599), 'wait PlanNotReady'],
  ['a plan with a blocker for longer: the VM does not move', since(3_600), 'fail PlanNotReady'],
  ['a blocker of a VM that has started: it goes on', aRecordedRun(aRecord(), BLOCKED), 'done'],
  [
    'a blocker of a VM that another run has started',
    { ...aRecordedRun(aRecord(), BLOCKED), run: { ...aRun().run, migration: 'another' } },
    'wait PlanNotReady',
  ],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});
