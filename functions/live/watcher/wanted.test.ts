import { expect, test } from '@jest/globals';
import { LISTED_PLAN_MIGRATIONS, LISTED_PLANS } from '../read/listed-live.ts';
import type { Plan, PlanMigration, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_ANNOTATION, LIVE_FINALIZER } from '../../domain/live/names.ts';
import { aPlan, aPlanMigration, begunWith } from '../../../test/support/builders/live.ts';
import { seconds, type Change } from '../../../test/support/builders/object.ts';
import { kept } from '../../../test/support/builders/oversized.ts';
import { wantedOf, type ProviderAt, type WantedOfProvider } from './wanted.ts';

const vm = (status: Partial<VmStatus> = {}): VmStatus => ({
  ...{ namespace: 'vms', name: 'web', phase: 'CreateStandbyVM', pipeline: [], started: seconds(0) },
  ...status,
});
const { started: _, ...waiting } = vm({ name: 'late' });
const running = (...vms: VmStatus[]): PlanMigration =>
  aPlanMigration(begunWith(), (one) => ({ ...one, status: { started: seconds(0), vms } }));
/** A Migration with the finalizer, whose creator admission has written. */
const ours: Change<PlanMigration> = (one) => ({
  ...one,
  metadata: {
    ...one.metadata,
    finalizers: [LIVE_FINALIZER],
    annotations: {
      ...one.metadata.annotations,
      [LIVE_ANNOTATION.requester]: JSON.stringify({ user: 'tom', groups: [] }),
    },
  },
});
const source = { namespace: 'tenant', name: 'source' };
const destination = { namespace: 'tenant', name: 'destination' };
const withUid = (at: typeof source): ProviderAt => ({
  ...at,
  as: { uid: `uid-of-${at.name}`, isHub: false },
});

/** Returns the wanted objects from the ones that the watches keep. */
const wantedBy = (migrations: readonly PlanMigration[], plan: Plan): WantedOfProvider[] =>
  wantedOf(kept(LISTED_PLAN_MIGRATIONS, migrations), kept(LISTED_PLANS, [plan]));

interface Case {
  readonly plan?: Plan;
  readonly migrations: readonly PlanMigration[];
  readonly want: Readonly<Record<string, { readonly namespaces: string[]; readonly vms: string[] }>>;
}

test('a provider is in the namespace of the plan, also where the plan leaves that empty', () => {
  const provider = { source: { ...source, namespace: '' }, destination: { name: destination.name } };
  const plan = aPlan((one) => ({ ...one, spec: { ...one.spec, provider } }));
  const wanted = wantedBy([running(vm())], plan);
  expect(wanted.map((one) => one.provider)).toEqual([source, destination].map(withUid));
});

const CASES: Record<string, Case> = {
  'nothing while no run is under way': { migrations: [aPlanMigration()], want: {} },
  'the VM on the source, and its name on the target': {
    migrations: [running(vm({ targetName: 'web2' }))],
    want: {
      [source.name]: { namespaces: ['vms'], vms: ['vms/web'] },
      [destination.name]: { namespaces: ['target'], vms: ['target/web2'] },
    },
  },
  'the same of a run whose plan has another type by now': {
    plan: aPlan((plan) => ({ ...plan, spec: { ...plan.spec, type: 'cold' } })),
    migrations: [ours(running(vm()))],
    want: {
      [source.name]: { namespaces: ['vms'], vms: ['vms/web'] },
      [destination.name]: { namespaces: ['target'], vms: ['target/web'] },
    },
  },
  'nothing of a run of another type': {
    plan: aPlan((plan) => ({ ...plan, spec: { ...plan.spec, type: 'cold' } })),
    migrations: [running(vm())],
    want: {},
  },
  'no VM that has not begun, and none that has ended': {
    migrations: [running(vm(), waiting, vm({ name: 'done', completed: seconds(9) }))],
    want: {
      [source.name]: { namespaces: ['vms'], vms: ['vms/web'] },
      [destination.name]: { namespaces: ['target'], vms: ['target/web'] },
    },
  },
  'both parts of a provider that is source and target': {
    plan: aPlan((plan) => ({ ...plan, spec: { ...plan.spec, provider: { source, destination: source } } })),
    migrations: [begunWith('source', 'source')(running(vm()))],
    want: { [source.name]: { namespaces: ['target', 'vms'], vms: ['target/web', 'vms/web'] } },
  },
};

test('nothing through a provider that the plan has named since for the one that the run began with', () => {
  const provider = { source: { namespace: 'infra', name: 'prod' }, destination };
  const plan = aPlan((one) => ({ ...one, spec: { ...one.spec, provider } }));
  const [onSource] = wantedBy([running(vm())], plan);
  expect(onSource?.provider).toEqual({
    namespace: 'infra',
    name: 'prod',
    as: { uid: 'uid-of-source', isHub: false },
  });
});

test('nothing for a Migration that does not say with which providers its run began', () => {
  const { annotations: _annotations, ...bare } = running(vm()).metadata;
  expect(wantedBy([{ ...running(vm()), metadata: bare }], aPlan())).toEqual([]);
});

test.each(Object.entries(CASES))('%s', (_, { plan = aPlan(), migrations, want }) => {
  const got = wantedBy(migrations, plan).map(({ provider, namespaces, vms }) => [
    provider.name,
    { namespaces: [...namespaces].sort(), vms: [...vms.keys()].sort() },
  ]);
  expect(Object.fromEntries(got)).toEqual(want);
});

test('each Migration is named with its own objects, also where VMs of several namespaces have one name', () => {
  const of = (name: string, ...vms: VmStatus[]): PlanMigration => {
    const migration = running(...vms);
    return { ...migration, metadata: { ...migration.metadata, name, uid: `uid-of-${name}` } };
  };
  const [onSource, onTarget] = wantedBy(
    [
      of('one', vm({ namespace: 'a' })),
      of('two', vm({ namespace: 'b', targetName: 'web2' })),
      of('third', vm({ namespace: 'b' })),
    ],
    aPlan(),
  );
  const named = (...names: string[]): object[] =>
    names.map((name) => ({ namespace: 'tenant', name, uid: `uid-of-${name}` }));
  expect(Object.fromEntries(onSource?.vms ?? [])).toEqual({
    'a/web': named('one'),
    'b/web': named('two', 'third'),
  });
  expect(Object.fromEntries(onTarget?.vms ?? [])).toEqual({
    'target/web': named('one', 'third'),
    'target/web2': named('two'),
  });
  const uids = ['one', 'two', 'third'].map((name) => [`uid-of-${name}`, ...named(name)]);
  for (const { runs = new Map() } of [onSource, onTarget].map(
    (one) => one ?? {},
  ) as Partial<WantedOfProvider>[])
    expect([...runs]).toEqual(uids);
});
