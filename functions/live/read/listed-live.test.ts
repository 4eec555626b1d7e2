import { expect, test } from '@jest/globals';
import { aPlan, aPlanMigration } from '../../../test/support/builders/live.ts';
import { annotated, seconds } from '../../../test/support/builders/object.ts';
import { kept, LONG } from '../../../test/support/builders/oversized.ts';
import type { LiveCondition, PlanVm, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION, LIVE_CONDITION, LIVE_FINALIZER } from '../../domain/live/names.ts';
import { LISTED_PLAN_MIGRATIONS, LISTED_PLANS } from './listed-live.ts';

const many = <T>(value: T): T[] => Array.from({ length: 2_000 }, () => value);
const condition: LiveCondition = {
  ...{ type: LIVE_CONDITION.restartWouldBeRefused, status: 'True', category: 'Warn' },
  ...{ message: LONG, lastTransitionTime: seconds(0) },
};
const vm: PlanVm = { namespace: 'vms', name: 'web' };
const underWay: VmStatus = {
  ...{ ...vm, phase: 'WaitForStateTransfer', started: seconds(0), conditions: [condition] },
  pipeline: [{ name: 'Synchronization', phase: 'Running', progress: { total: 1, completed: 0 } }],
};

test('a Plan is kept in 16 KiB, however many VMs it has', () => {
  const [plan] = kept(LISTED_PLANS, [
    aPlan((one) => ({
      ...one,
      spec: { ...one.spec, vms: many(vm), description: LONG },
      status: { conditions: many(condition), migration: { vms: many(underWay) } },
    })),
  ]);
  expect(plan?.spec).toMatchObject({ type: 'live', targetNamespace: 'target' });
  expect(JSON.stringify(plan).length).toBeLessThan(16 * 1024);
});

test('of its finalizers only that of `live` is kept: anybody may write others', () => {
  const finalizers = [...Array.from({ length: 50 }, (_, n) => `theirs/${String(n)}`), LIVE_FINALIZER];
  const metadata = { ...aPlan().metadata, finalizers };
  const [plan] = kept(LISTED_PLANS, [{ ...aPlan(), metadata }]);
  const [migration] = kept(LISTED_PLAN_MIGRATIONS, [{ ...aPlanMigration(), metadata }]);
  const own = [LIVE_FINALIZER];
  expect([plan, migration].map((one) => one?.metadata.finalizers)).toEqual([own, own]);
});

test.each<[string, object, number]>([
  ['has ended', {}, 0],
  ['has ended, and has events that no Broker has taken', { outbox: [{ id: 'one' }] }, 1],
])('of a Migration that %s so many are kept', (_what, left, length) => {
  const status = { started: seconds(0), completed: seconds(1), ...left };
  expect(kept(LISTED_PLAN_MIGRATIONS, [aPlanMigration((one) => ({ ...one, status }))])).toHaveLength(length);
});

test('a Migration is kept in 16 KiB, however many VMs move', () => {
  const [migration] = kept(LISTED_PLAN_MIGRATIONS, [
    aPlanMigration(annotated(LIVE_ANNOTATION.requester, LONG), (one) => ({
      ...one,
      spec: { ...one.spec, cancel: many(vm) },
      status: { started: seconds(0), conditions: many(condition), vms: many(underWay), leftovers: [LONG] },
    })),
  ]);
  expect(migration?.status).toMatchObject({
    started: seconds(0),
    vms: expect.arrayContaining([expect.objectContaining({ name: 'web' })]),
  });
  expect(JSON.stringify(migration).length).toBeLessThan(16 * 1024);
});
