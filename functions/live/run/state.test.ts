import { describe, expect, test } from '@jest/globals';
import { aPlan, aPlanMigration } from '../../../test/support/builders/live.ts';
import { annotated, NOW } from '../../../test/support/builders/object.ts';
import type {
  MigrationStatus,
  Plan,
  PlanMigration,
  PlanStatus,
  RunSnapshot,
  SnapshotReference,
} from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION, LIVE_FINALIZER } from '../../domain/live/names.ts';
import {
  isArchived,
  isAsBegun,
  isPlanBlocked,
  isMigrationObserved,
  isOfPlan,
  isClosed,
  isRunningPlanObserved,
  isPlanObserved,
  needsCheck,
  needsPlan,
} from './state.ts';

const TIME = new Date(NOW).toISOString();
const DELETED = { ...aPlan().metadata, deletionTimestamp: TIME };

describe('a change of a Migration says nothing new', () => {
  test.each<[string, MigrationStatus | undefined, boolean]>([
    ['while it runs, and its spec was seen', { started: TIME, observedGeneration: 2 }, true],
    ['not once it was canceled or deleted', { started: TIME, observedGeneration: 1 }, false],
    ['not before it began', { observedGeneration: 2 }, false],
    ['not without a status', undefined, false],
    ['not once it has ended', { started: TIME, completed: TIME, observedGeneration: 2 }, false],
  ])('%s', (_what, status, wanted) => {
    const { status: _, ...one } = aPlanMigration();
    const migration = { ...one, metadata: { ...one.metadata, generation: 2 } };
    expect(isMigrationObserved(status === undefined ? migration : { ...migration, status })).toBe(wanted);
  });
});

test.each<[string, string | undefined, boolean]>([
  ['no namespace', undefined, true],
  ['an empty namespace', '', true],
  ['its own namespace', 'tenant', true],
  ['another namespace', 'other', false],
])('a Migration that names its plan with %s is of that plan: %s', (_what, namespace, wanted) => {
  const plan = { name: 'plan', ...(namespace !== undefined && { namespace }) };
  const migration = aPlanMigration((one) => ({ ...one, spec: { plan } }));
  expect(isOfPlan(migration, aPlan())).toBe(wanted);
});

test('a change of a Migration says something new once it is given up', () => {
  const status = { started: TIME, observedGeneration: 2 };
  const running = aPlanMigration((one) => ({ ...one, metadata: { ...one.metadata, generation: 2 }, status }));
  expect(isMigrationObserved(running)).toBe(true);
  expect(isMigrationObserved(annotated(LIVE_ANNOTATION.breakGlass, 'uid-of-migration')(running))).toBe(false);
});

/** A Migration of a known user, with the finalizer. */
const held = (status: MigrationStatus): PlanMigration => {
  const one = annotated(
    LIVE_ANNOTATION.requester,
    JSON.stringify({ user: 'jane', groups: [] }),
  )(aPlanMigration());
  return { ...one, metadata: { ...one.metadata, finalizers: [LIVE_FINALIZER] }, status };
};

test.each<[string, MigrationStatus, boolean]>([
  ['while it runs', { started: TIME }, true],
  ['once its end is shown', { started: TIME, completed: TIME }, true],
  ['not before it began', {}, false],
])('a run with the finalizer needs its Plan %s', (_what, status, wanted) => {
  const running = held(status);
  expect(needsPlan(running)).toBe(wanted);
  expect(needsPlan(annotated(LIVE_ANNOTATION.breakGlass, 'uid-of-migration')(running))).toBe(false);
});

test.each<[string, string, boolean]>([
  ['it was closed', 'uid-of-migration', true],
  ['another one was closed, of which it is a copy', 'another', false],
])('whether a run whose end is shown is over: %s', (_what, closed, wanted) => {
  const migration = annotated(LIVE_ANNOTATION.over, closed)(held({ started: TIME, completed: TIME }));
  expect(isClosed(migration)).toBe(wanted);
  expect(needsPlan(migration)).toBe(!wanted);
});

test('a run whose end is not shown is not over, though its annotation says so', () => {
  const migration = annotated(LIVE_ANNOTATION.over, 'uid-of-migration')(held({ started: TIME }));
  expect(isClosed(migration)).toBe(false);
});

test('a run that Forklift began, which nobody is known to have created, needs no Plan', () => {
  expect(needsPlan({ ...aPlanMigration(), status: { started: TIME } })).toBe(false);
});

describe('a change of a Plan says nothing new', () => {
  const executing = [{ type: 'Executing', status: 'True' }] as NonNullable<PlanStatus['conditions']>;

  test.each<[string, PlanStatus | undefined, boolean]>([
    ['while it runs, and its spec was seen', { conditions: executing, observedGeneration: 2 }, true],
    ['not once it was archived or deleted', { conditions: executing, observedGeneration: 1 }, false],
    ['not while no run is under way', { conditions: [], observedGeneration: 2 }, false],
    ['not without a status', undefined, false],
  ])('%s', (_what, status, wanted) => {
    const { status: _, ...one } = aPlan();
    const plan = { ...one, metadata: { ...one.metadata, generation: 2 } };
    expect(isRunningPlanObserved(status === undefined ? plan : { ...plan, status })).toBe(wanted);
  });
});

test.each<[string, PlanStatus | undefined, string | undefined, boolean]>([
  ['its spec is as it was looked at', { observedGeneration: 2 }, undefined, true],
  ['its spec has changed since', { observedGeneration: 1 }, undefined, false],
  ['it was never looked at', undefined, undefined, false],
  ['it is being deleted', { observedGeneration: 2 }, TIME, false],
])(
  'a plan of which only the status can have changed: %s',
  (_what, ...[status, deletionTimestamp, wanted]) => {
    const { status: _, ...one } = aPlan();
    const metadata = { ...one.metadata, generation: 2, ...(deletionTimestamp && { deletionTimestamp }) };
    expect(isPlanObserved({ ...one, metadata, ...(status && { status }) })).toBe(wanted);
  },
);

describe('a plan is as its run began', () => {
  const begun = (plan: SnapshotReference, migration = 'uid-of-migration'): RunSnapshot => {
    const { provider, map } = aPlan().spec;
    return { plan, migration: { uid: migration }, provider, map };
  };
  const OWN = { uid: aPlan().metadata.uid, generation: 2 };

  test.each<[string, readonly RunSnapshot[], boolean]>([
    ['by its history', [begun(OWN)], true],
    ['also where a run of it came before', [begun({ ...OWN, generation: 1 }, 'another'), begun(OWN)], true],
    ['not once it was edited', [begun({ ...OWN, generation: 1 })], false],
    ['not by another run', [begun(OWN, 'another')], false],
    ['not where it has replaced the one of its name', [begun({ ...OWN, uid: 'another' })], false],
    ['not where the history says no generation', [begun({ uid: OWN.uid })], false],
    ['not without a history', [], false],
  ])('%s', (_what, history, wanted) => {
    const plan = aPlan((one) => ({ ...one, metadata: { ...one.metadata, generation: 2 } }));
    expect(isAsBegun({ ...plan, status: { migration: { history: [...history] } } }, held({}))).toBe(wanted);
  });
});

describe('a plan by its spec and its runs', () => {
  const shows = (type: string): Pick<Plan, 'status'> => ({
    status: { conditions: [{ type, status: 'True', category: 'Advisory', lastTransitionTime: TIME }] },
  });

  test.each<[string, Partial<Plan['spec']>, Partial<Plan>, string]>([
    ['that never ran is checked', {}, {}, 'check'],
    ['that runs is left alone', {}, shows('Executing'), ''],
    ['whose run failed is checked', {}, shows('Failed'), 'check'],
    ['whose VMs have all moved is left alone', {}, shows('Succeeded'), ''],
    ['that is archived says so', { archived: true }, {}, 'archive'],
    ['that is archived while it runs is left to its run', { archived: true }, shows('Executing'), ''],
    ['that is archived once its VMs have moved says so', { archived: true }, shows('Succeeded'), 'archive'],
    ['of another type is left alone', { type: 'cold', archived: true }, {}, ''],
    ['that is being deleted is left alone', { archived: true }, { metadata: DELETED }, ''],
  ])('%s', (_what, ...[spec, different, wanted]) => {
    const plan = { ...aPlan((one) => ({ ...one, spec: { ...one.spec, ...spec } })), ...different };
    const due = { check: needsCheck(plan), archive: isArchived(plan) };
    expect(Object.entries(due).flatMap(([what, is]) => (is ? [what] : []))).toEqual(
      wanted === '' ? [] : [wanted],
    );
  });

  test.each<[string, readonly string[], boolean]>([
    ['that is ready is not', ['Ready'], false],
    ['that is not ready', [], true],
    ['with a VM that its next crash halts', ['Ready', 'NextCrashHalts'], true],
    ['with a VM that would not restart', ['Ready', 'RestartWouldBeRefused'], true],
    ['with a VM whose CPU is not known', ['Ready', 'CPUNotKnown'], true],
    ['with a VM that a GitOps tool owns', ['Ready', 'SyncMayStartSource'], true],
    ['whose VMs have all moved is not', ['RestartWouldBeRefused', 'Succeeded'], false],
  ])('looked at again without an event: one %s', (_what, types, wanted) => {
    const conditions = types.flatMap((type) => shows(type).status?.conditions ?? []);
    expect(isPlanBlocked({ ...aPlan(), status: { conditions } })).toBe(wanted);
  });

  test.each<[string, Partial<Plan['spec']>, readonly string[], boolean]>([
    ['and have room is not', {}, ['Succeeded'], false],
    ['and one is over its quota', {}, ['Succeeded', 'RestartWouldBeRefused'], true],
    [
      'and one is over its quota, and is archived, is not',
      { archived: true },
      ['RestartWouldBeRefused'],
      false,
    ],
  ])(
    'looked at again without an event: one whose VMs have all moved %s',
    (_what, ...[spec, types, wanted]) => {
      const conditions = types.flatMap((type) => shows(type).status?.conditions ?? []);
      const vms = [{ name: 'web', phase: 'Completed', pipeline: [], conditions }];
      const plan = aPlan((one) => ({ ...one, spec: { ...one.spec, ...spec } }));
      const status = { ...shows('Succeeded').status, migration: { vms } };
      expect(isPlanBlocked({ ...plan, status })).toBe(wanted);
    },
  );
});
