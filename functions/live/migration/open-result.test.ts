import { expect, test } from '@jest/globals';
import { firstAttempt } from '../../../test/support/builders/live-run.ts';
import { aPlanMigration } from '../../../test/support/builders/live.ts';
import { seconds } from '../../../test/support/builders/object.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { wait } from '../run/decision.ts';
import type { RunRecord } from '../run/record.ts';
import { COMPLETED, COPYING, TRANSFER } from '../steps/itinerary.ts';
import { resultOfOpen } from './open-result.ts';

const MARKED: Partial<RunRecord> = { marks: [{ mark: 'GuestReady', at: seconds(0) }] };

test.each<[string, typeof TRANSFER.name, Partial<RunRecord>, boolean]>([
  ['while it waits for its cut-over', TRANSFER.name, {}, true],
  ['not before: the next step may be due', COPYING.name, {}, false],
  ['not past it: the source VM is to be turned off', TRANSFER.name, MARKED, false],
  ['once that is off', TRANSFER.name, { ...MARKED, arrivedAt: seconds(0) }, true],
  ['while it removes the VMIMs, and starts the guest', COMPLETED.name, MARKED, true],
])('a VM is left to KubeVirt %s', (_when, step, record, isLeft) => {
  const decision = { ...wait(LIVE_REASON.transferring, 'it waits'), step };
  const one = { entry: { name: 'web' }, snapshot: firstAttempt({}, record), decision, requeue: false };
  expect(resultOfOpen([one], aPlanMigration()).isWithKubeVirt).toBe(isLeft);
});
