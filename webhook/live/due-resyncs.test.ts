import { expect, test } from '@jest/globals';
import { LISTED_PLAN_MIGRATIONS, LISTED_PLANS } from '../../functions/live/read/listed-live.ts';
import type { LiveCondition, Plan, PlanMigration, VmStatus } from '../../functions/domain/live/forklift.ts';
import type { MoveEvent } from '../../functions/domain/live/move-events.ts';
import { LIVE_CONDITION, LIVE_FINALIZER, MOVE_EVENT } from '../../functions/domain/live/names.ts';
import { aPlan, aPlanMigration } from '../../test/support/builders/live.ts';
import { seconds, type Change } from '../../test/support/builders/object.ts';
import { kept } from '../../test/support/builders/oversized.ts';
import { resyncsDue } from './due-resyncs.ts';

const inStage = (name: string): VmStatus => ({
  name: 'web',
  phase: 'WaitForStateTransfer',
  started: seconds(0),
  pipeline: [{ name, phase: 'Running', progress: { total: 1, completed: 0 } }],
});
const withStatus =
  (status: PlanMigration['status'] & object): Change<PlanMigration> =>
  (one) => ({ ...one, status });
const held: Change<PlanMigration> = (one) => ({
  ...one,
  metadata: { ...one.metadata, finalizers: [LIVE_FINALIZER] },
});
const started = { started: seconds(0) };
const ended = { ...started, completed: seconds(9) };
const condition = (type: string): LiveCondition => ({
  ...{ type, status: 'True', category: 'Required', lastTransitionTime: seconds(0) },
});
const withConditions =
  (...types: string[]): Change<Plan> =>
  (plan) => ({ ...plan, status: { conditions: types.map(condition) } });
const ready = withConditions(LIVE_CONDITION.ready);

/** All its VMs have moved, one of them with these conditions. */
const moved =
  (...types: string[]): Change<Plan> =>
  (plan) => ({
    ...plan,
    status: {
      conditions: [condition(LIVE_CONDITION.succeeded)],
      migration: {
        vms: [[], types].map((each) => ({
          ...{ name: 'web', phase: 'Completed', pipeline: [] },
          conditions: [...each, LIVE_CONDITION.succeeded].map(condition),
        })),
      },
    },
  });

const named = { namespace: 'tenant', name: 'one' };
const anEvent: MoveEvent = {
  ...{ id: 'one', type: MOVE_EVENT.succeeded, time: seconds(9), subject: 'tenant/migration/web' },
  data: {
    ...{ plan: named, migration: { ...named, uid: 'uid' }, vm: named, target: named },
    ...{ step: 'Completed', message: '', percent: 100, left: 0 },
  },
};

interface Case {
  readonly plan?: Plan;
  readonly migrations?: readonly PlanMigration[];
  /** Seconds between two resyncs of the Migration; undefined for never. */
  readonly migrationEvery?: number;
  /** Seconds between two resyncs of the Plan; undefined for never. */
  readonly planEvery?: number;
}

const CASES: Record<string, Case> = {
  'around KubeVirt’s own steps every 10 s': {
    migrations: [aPlanMigration(withStatus({ ...started, vms: [inStage('Synchronization')] }))],
    migrationEvery: 10,
  },
  'events that no Broker has taken, after the end too, every minute': {
    migrations: [aPlanMigration(withStatus({ ...ended, outbox: [anEvent] }))],
    migrationEvery: 60,
  },
  'a run with other steps every minute': {
    migrations: [aPlanMigration(withStatus({ ...started, vms: [inStage('PostHook')] }))],
    migrationEvery: 60,
  },
  'a run that waits for a cluster, whose token may be renewed, every minute': {
    plan: aPlan(withConditions(LIVE_CONDITION.executing, LIVE_CONDITION.sourceProviderNotReady)),
    migrations: [aPlanMigration(withStatus({ ...started, vms: [inStage('PrepareTarget')] }))],
    migrationEvery: 60,
    planEvery: 600,
  },
  'a VM that has ended does not hurry the others': {
    migrations: [
      aPlanMigration(
        withStatus({ ...started, vms: [{ ...inStage('Synchronization'), completed: seconds(5) }] }),
      ),
    ],
    migrationEvery: 60,
  },
  'a run that waits every ten minutes': { migrations: [aPlanMigration()], migrationEvery: 600 },
  'a run that has ended never': { migrations: [aPlanMigration(withStatus(ended))] },
  'a run that has left something over every minute': {
    migrations: [aPlanMigration(held, withStatus(ended))],
    migrationEvery: 60,
  },
  'a beginning that was interrupted, and has failed, every minute': {
    migrations: [aPlanMigration(held, withStatus({ completed: seconds(9) }))],
    migrationEvery: 60,
  },
  'a Migration that was created with the finalizer, from a copy, of another type of plan every ten minutes': {
    plan: aPlan((plan) => ({ ...plan, spec: { ...plan.spec, type: 'cold' } })),
    migrations: [aPlanMigration(held)],
    migrationEvery: 600,
  },
  'such a Migration that has ended every minute': {
    plan: aPlan((plan) => ({ ...plan, spec: { ...plan.spec, type: 'cold' } })),
    migrations: [aPlanMigration(held, withStatus(ended))],
    migrationEvery: 60,
  },
  'a run of another type of plan never': {
    plan: aPlan((plan) => ({ ...plan, spec: { ...plan.spec, type: 'cold' } })),
    migrations: [aPlanMigration(withStatus(started))],
  },
  'a run whose plan was removed every minute': {
    plan: aPlan(ready, (plan) => ({ ...plan, metadata: { ...plan.metadata, name: 'other' } })),
    migrations: [aPlanMigration(held, withStatus(started))],
    migrationEvery: 60,
  },
  'a run that waits for a plan that is gone every ten minutes': {
    plan: aPlan(ready, (plan) => ({ ...plan, metadata: { ...plan.metadata, name: 'other' } })),
    migrations: [aPlanMigration()],
    migrationEvery: 600,
  },
  'a plan that is not ready every ten minutes': { plan: aPlan(), planEvery: 600 },
  'a plan some of whose VMs have no room every ten minutes': {
    plan: aPlan(withConditions(LIVE_CONDITION.ready, LIVE_CONDITION.overQuota)),
    planEvery: 600,
  },
  'a plan whose VMs have all moved every hour': { plan: aPlan(moved()), planEvery: 3_600 },
  'a plan some of whose VMs have moved every hour': {
    plan: aPlan(moved(), (plan) => ({ ...plan, status: { ...plan.status, ...ready(plan).status } })),
    planEvery: 3_600,
  },
  'a plan whose VM would not start again every ten minutes': {
    plan: aPlan(moved(LIVE_CONDITION.restartWouldBeRefused)),
    planEvery: 600,
  },
  'a plan whose VM halts at its next crash every ten minutes': {
    plan: aPlan(moved(LIVE_CONDITION.nextCrashHalts)),
    planEvery: 600,
  },
  'a plan whose VM runs on both clusters every ten minutes': {
    plan: aPlan(moved(LIVE_CONDITION.runsOnBoth)),
    planEvery: 600,
  },
  'a plan whose VMs have moved, and that is archived, never': {
    plan: aPlan(moved(LIVE_CONDITION.runsOnBoth), (plan) => ({
      ...plan,
      spec: { ...plan.spec, archived: true },
    })),
  },
  'a plan that is deleted and has the finalizer every ten minutes': {
    plan: aPlan(ready, (plan) => ({
      ...plan,
      metadata: { ...plan.metadata, finalizers: [LIVE_FINALIZER], deletionTimestamp: seconds(0) },
    })),
    planEvery: 600,
  },
  'a plan that is archived never': {
    plan: aPlan((plan) => ({ ...plan, spec: { ...plan.spec, archived: true } })),
  },
};

test.each(Object.entries(CASES))('%s', (_, { plan = aPlan(ready), migrations = [], ...every }) => {
  const seconds: Record<string, number[]> = { Plan: [], Migration: [] };
  let resyncedAt: ReadonlyMap<string, number> = new Map();
  // The objects are as the watches keep them.
  const view = {
    plans: kept(LISTED_PLANS, [plan]),
    migrations: kept(LISTED_PLAN_MIGRATIONS, migrations),
  };
  for (let second = 0; second <= 7_800; second += 2) {
    const resyncs = resyncsDue({ ...view, resyncedAt, now: second * 1_000 });
    resyncedAt = resyncs.resyncedAt;
    for (const { kind } of resyncs.due) seconds[kind]?.push(second);
  }
  expect(intervals(seconds['Migration'])).toEqual(intervalsOf(every.migrationEvery));
  expect(intervals(seconds['Plan'])).toEqual(intervalsOf(every.planEvery));
});

const intervals = (times: readonly number[] = []): number[] => [
  ...new Set(times.map((at, index) => at - (times[index - 1] ?? 0))),
];
const intervalsOf = (everySeconds: number | undefined): number[] =>
  everySeconds === undefined ? [] : [everySeconds];

test('what is gone is forgotten', () => {
  const resyncedAt = new Map([['uid-of-migration', 0]]);
  expect(resyncsDue({ plans: [], migrations: [], resyncedAt, now: 1 }).resyncedAt.size).toBe(0);
});
