import { expect, test } from '@jest/globals';
import { firstAttempt } from '../../../test/support/builders/live-run.ts';
import { aPlanMigration, RUN } from '../../../test/support/builders/live.ts';
import { seconds } from '../../../test/support/builders/object.ts';
import type { LiveCondition, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, LIVE_REASON } from '../../domain/live/names.ts';
import { launchesBefore } from './launch-order.ts';

const vm = (name: string, different: Partial<VmStatus> = {}): VmStatus => ({
  ...{ name, namespace: 'vms', id: name === 'web' ? RUN.vm : `uid-of-${name}` },
  ...{ phase: 'CreateSourceMigration', pipeline: [], started: seconds(0) },
  ...different,
});
const condition = (type: string, reason: string): LiveCondition => ({
  ...{ type, reason, status: 'True', category: 'Advisory', lastTransitionTime: seconds(0) },
});
const waits = (reason: string): Partial<VmStatus> => ({ conditions: [condition('Waiting', reason)] });
const toBegin = (name: string): VmStatus => {
  const { started: _, ...rest } = vm(name, waits(LIVE_REASON.waitingToStart));
  return rest;
};

test.each<[string, VmStatus[], string[] | undefined, string | undefined]>([
  ['no quota counts', [vm('db'), vm('web')], undefined, undefined],
  ['it is the first', [vm('web'), vm('db')], [], undefined],
  ['the one before it has no launcher yet', [vm('db'), vm('web')], [], 'db'],
  ['the one before it has a launcher', [vm('db'), vm('web')], ['db'], undefined],
  [
    'it has one under its name of the target',
    [vm('db', { targetName: 'data' }), vm('web')],
    ['data'],
    undefined,
  ],
  ['it has ended', [vm('db', { completed: seconds(9) }), vm('web')], [], undefined],
  ['both begin in this moment', [toBegin('db'), vm('web')], [], 'db'],
  ['it waits for its launcher', [vm('db', waits(LIVE_REASON.targetPending)), vm('web')], [], 'db'],
  ['it waits in turn itself', [vm('db', waits(LIVE_REASON.inTurn)), vm('web')], [], 'db'],
  ['it does not fit', [vm('db', waits(LIVE_REASON.overQuota)), vm('web')], [], undefined],
  ['it waits for a hook', [vm('db', waits(LIVE_REASON.hookRuns)), vm('web')], [], undefined],
  [
    'its guest has moved',
    [vm('db', { conditions: [condition(LIVE_CONDITION.cutOver, '')] }), vm('web')],
    [],
    undefined,
  ],
  ['of two before it, the first', [vm('db'), vm('mail'), vm('web')], [], 'db'],
])('whose launcher comes first: %s', (_what, ...[vms, launched, wanted]) => {
  const migration = aPlanMigration((one) => ({ ...one, status: { started: seconds(0), vms } }));
  const run = firstAttempt({ hub: { migration } });
  const target = { ...run.target, launched: launched && new Set(launched) };
  expect(launchesBefore({ ...run, target })).toBe(wanted);
});
