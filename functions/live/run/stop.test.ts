import { describe, expect, test } from '@jest/globals';
import { aHost, aPlan, aPlanMigration, aProvider } from '../../../test/support/builders/live.ts';
import { annotated, seconds, type Change } from '../../../test/support/builders/object.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Plan, PlanMigration, VmReference } from '../../domain/live/forklift.ts';
import { FORKLIFT_KIND, LIVE_ANNOTATION, LIVE_FINALIZER } from '../../domain/live/names.ts';
import { isSameVm, stopOf } from './stop.ts';

const VM = { id: 'uid-1', namespace: 'vms', name: 'web' };

const deleted = <T extends KubernetesObject>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, deletionTimestamp: seconds(0) },
});
const canceling =
  (...cancel: VmReference[]): Change<PlanMigration> =>
  (migration) => ({ ...migration, spec: { ...migration.spec, cancel } });
const OTHER = { id: 'uid-2', namespace: 'other', name: 'web' };
const running =
  (...vms: VmReference[]): Change<PlanMigration> =>
  (migration) => ({
    ...migration,
    status: { vms: vms.map((vm) => ({ ...vm, phase: 'Started', pipeline: [] })) },
  });
/** A Migration that has begun, with the finalizer; `uid`: of the Plan that it had then. */
const heldBy =
  (uid: string): Change<PlanMigration> =>
  (migration) => ({
    ...migration,
    metadata: {
      ...migration.metadata,
      finalizers: [LIVE_FINALIZER],
      ownerReferences: [{ ...FORKLIFT_KIND.plan, name: 'plan', uid }],
    },
  });
const archived: Change<Plan> = (plan) => ({ ...plan, spec: { ...plan.spec, archived: true } });

const without: Change<Plan> = (plan) => ({ ...plan, spec: { ...plan.spec, vms: [{ name: 'db' }] } });

interface Case {
  readonly migration?: PlanMigration;
  readonly plan?: Plan;
  readonly access?: readonly KubernetesObject[];
  readonly want: string | undefined;
}

const CASES: Record<string, Case> = {
  nothing: { want: undefined },
  'its name is canceled': {
    migration: aPlanMigration(canceling({ namespace: 'vms', name: 'web' })),
    want: 'UserRequested',
  },
  'its id is canceled': { migration: aPlanMigration(canceling({ id: 'uid-1' })), want: 'UserRequested' },
  'another VM is canceled': {
    migration: aPlanMigration(canceling({ namespace: 'other', name: 'web' })),
    want: undefined,
  },
  'its name is canceled, without a namespace': {
    migration: aPlanMigration(canceling({ name: 'web' })),
    want: 'UserRequested',
  },
  'a name is canceled that two VMs of the run have': {
    migration: aPlanMigration(canceling({ name: 'web' }), running(VM, OTHER)),
    want: undefined,
  },
  'it is canceled by its namespace too, and another VM has its name': {
    migration: aPlanMigration(canceling({ namespace: 'vms', name: 'web' }), running(VM, OTHER)),
    want: 'UserRequested',
  },
  'its Plan is its owner': { migration: aPlanMigration(heldBy('uid-of-plan')), want: undefined },
  'its Plan was replaced': { migration: aPlanMigration(heldBy('uid-of-another')), want: 'Modified' },
  'its Plan is in another namespace': {
    migration: aPlanMigration(heldBy('uid-of-another')),
    plan: aPlan((plan) => ({ ...plan, metadata: { ...plan.metadata, namespace: 'plans' } })),
    want: undefined,
  },
  'its Plan was replaced, and it is given up': {
    migration: aPlanMigration(
      heldBy('uid-of-another'),
      annotated(LIVE_ANNOTATION.breakGlass, 'uid-of-migration'),
    ),
    want: 'GivenUp',
  },
  'its Plan is not for live migrations': {
    plan: aPlan((plan) => ({ ...plan, spec: { ...plan.spec, type: 'cold' } })),
    want: 'Modified',
  },
  'it is no VM of the plan': { plan: aPlan(without), want: 'Modified' },
  'the Migration is deleted': { migration: aPlanMigration(deleted), want: 'Deleted' },
  'the Plan is deleted': { plan: aPlan(deleted), want: 'Deleted' },
  'its Providers are there': { access: [aProvider(), aHost()], want: undefined },
  'a Provider is deleted': { access: [aProvider(), deleted(aHost())], want: 'Deleted' },
  'the Plan is archived': { plan: aPlan(archived), want: 'Archived' },
  'it is given up': {
    migration: aPlanMigration(annotated(LIVE_ANNOTATION.breakGlass, 'uid-of-migration')),
    want: 'GivenUp',
  },
  'another Migration is given up': {
    migration: aPlanMigration(annotated(LIVE_ANNOTATION.breakGlass, 'uid-of-another')),
    want: undefined,
  },
};

describe('stopOf', () => {
  test.each(Object.entries(CASES))(
    '%s',
    (_, { migration = aPlanMigration(), plan = aPlan(), access = [], want }) => {
      expect(stopOf(VM, { migration, plan, providerObjects: access })?.reason).toBe(want);
    },
  );

  test('two VMs without a name are not the same', () => {
    expect(isSameVm({}, {})).toBe(false);
    expect(isSameVm({ name: '' }, { name: '' })).toBe(false);
  });
});
