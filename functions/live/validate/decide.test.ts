import { expect, test } from '@jest/globals';
import { aRecordedRun, aRun, summary } from '../../../test/support/builders/live-run.ts';
import { aRecord } from '../../../test/support/builders/live.ts';
import type { RunSnapshot } from '../../domain/live/run-snapshot.ts';
import { decide } from './decide.ts';

const BLOCKED = { hub: { blockers: ['The provider does not have the Ready condition.'] } };

test.each<[string, RunSnapshot, string]>([
  ['a plan that is Ready', aRun(), 'done'],
  ['a plan with a blocker: no VM starts', aRun(BLOCKED), 'wait PlanNotReady'],
  ['a blocker of a VM that has started: it goes on', aRecordedRun(aRecord(), BLOCKED), 'done'],
  [
    'a blocker of a VM that another run has started',
    { ...aRecordedRun(aRecord(), BLOCKED), run: { ...aRun().run, migration: 'another' } },
    'wait PlanNotReady',
  ],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});
