import { expect, test } from '@jest/globals';
import { aProgress, aStatus } from '../../test/support/builders/maintenance.ts';
import { beingDeleted, NOW, seconds } from '../../test/support/builders/object.ts';
import type { MaintenanceProgress, ProgressStatus } from '../../functions/domain/progress/progress-object.ts';
import { expiredAmong } from './retention.ts';

const HOUR = 3_600;
const ended = (
  kind: 'Drain' | 'Upgrade',
  secondsAgo: number,
  different: Partial<ProgressStatus> = {},
): MaintenanceProgress =>
  aProgress(kind, aStatus([], [], { state: 'Completed', endedAt: seconds(-secondsAgo), ...different }));
const many = (count: number, kind: 'Drain' | 'Upgrade' = 'Drain'): MaintenanceProgress[] =>
  Array.from({ length: count }, () => ended(kind, 10));
const [ENTRY] = [
  { id: 'x', type: 'io.kubevirt.mtq.drain.completed', sequence: 1, time: '', data: {} },
] as never as ProgressStatus['outbox'];

test.each<[string, readonly MaintenanceProgress[], MaintenanceProgress, boolean]>([
  ['the eleventh after an hour', many(10), ended('Drain', HOUR), true],
  ['the eleventh within the hour', many(10), ended('Drain', HOUR - 1), false],
  ['the tenth', many(9), ended('Drain', HOUR), false],
  ['the tenth of its kind', many(10, 'Upgrade'), ended('Drain', HOUR), false],
  [
    'one with an event to post',
    many(10),
    ended('Drain', HOUR, { outbox: ENTRY === undefined ? [] : [ENTRY] }),
    false,
  ],
  ['one that is open', many(10), aProgress('Drain', aStatus([1], [1], { startedAt: seconds(-HOUR) })), false],
  ['one that is being deleted', many(10), beingDeleted()(ended('Drain', HOUR)), false],
  ['one that was never written', many(10), aProgress('Drain'), false],
])('%s: deleted or not', (...[, others, one, want]) => {
  expect(expiredAmong([...others, one], NOW)).toEqual(want ? [one] : []);
});
