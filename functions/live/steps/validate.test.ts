import { expect, test } from '@jest/globals';
import {
  aRecordedRun,
  aRun,
  showing,
  summary,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { aRecord } from '../../../test/support/builders/live.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { decide } from './validate.ts';

const BLOCKERS = { blockers: ['The provider does not have the Ready condition.'] };
const BLOCKED = { hub: BLOCKERS };
const UNREAD = { unread: 'User "mallory" cannot get storagemaps.' };
const edited = (second: number): Different => ({ hub: { ...UNREAD, ...showing('Refused', second) } });
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
  ['maps that are not read: no VM starts', aRun({ hub: UNREAD }), 'wait Refused'],
  ['maps that are not read: nothing more is made', aRecordedRun(aRecord(), { hub: UNREAD }), 'wait Refused'],
  ['maps that are not read for 15 minutes', aRecordedRun(aRecord(), edited(899)), 'wait Refused'],
  ['maps that are not read for longer', aRecordedRun(aRecord(), edited(900)), 'fail Refused'],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});
