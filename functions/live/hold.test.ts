import { expect, test } from '@jest/globals';
import { aPlan, aPlanMigration } from '../../test/support/builders/live.ts';
import { seconds } from '../../test/support/builders/object.ts';
import type { PlanMigration } from '../domain/live/forklift.ts';
import { LIVE_ANNOTATION, LIVE_FINALIZER } from '../domain/live/names.ts';
import type { KubernetesObject } from '../domain/objects.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { hold, release } from './hold.ts';

const stored = (_type: unknown, object: KubernetesObject): Promise<object> => Promise.resolve({ object });
const HUB = { replace: stored } as unknown as Cluster;

test.each([
  ['is the owner of its Migration', 'tenant', ['uid-of-plan']],
  ['in another namespace is not: Kubernetes would delete the Migration', 'plans', []],
])('a Plan %s', async (_what, namespace, owners) => {
  const plan = aPlan((one) => ({ ...one, metadata: { ...one.metadata, namespace } }));
  const held = await hold({ migration: aPlanMigration(), plan, providers: {} as never }, HUB);
  const { ownerReferences = [] } = held.migration.metadata;
  expect(ownerReferences.map(({ uid }) => uid)).toEqual(owners);
});

/** A Migration that is held and has ended, with these left over. */
const ended = (...items: string[]): PlanMigration =>
  aPlanMigration((one) => ({
    ...one,
    metadata: { ...one.metadata, finalizers: [LIVE_FINALIZER] },
    status: {
      completed: seconds(0),
      vms: [{ completed: seconds(0), conditions: [{ type: 'Failed', items }] }],
    } as unknown as NonNullable<PlanMigration['status']>,
  }));

const OTHER = ended('x');
const GIVEN_UP = aPlanMigration((one) => ({
  ...OTHER,
  metadata: { ...OTHER.metadata, annotations: { [LIVE_ANNOTATION.breakGlass]: one.metadata.uid } },
}));

test.each<[string, Record<'shown' | 'listed' | 'current', PlanMigration>, string[]]>([
  ['is let go, its Plan first', { shown: ended(), listed: ended(), current: ended() }, ['Plan', 'Migration']],
  [
    'is not where another call found something left over',
    { shown: ended(), listed: OTHER, current: OTHER },
    [],
  ],
  ['is not where one does so meanwhile', { shown: ended(), listed: ended(), current: OTHER }, ['Plan']],
  [
    'is let go with what it shows where it was given up',
    { shown: GIVEN_UP, listed: GIVEN_UP, current: GIVEN_UP },
    ['Plan', 'Migration'],
  ],
  [
    'is not where another call has it undone, though it was given up',
    { shown: GIVEN_UP, listed: { ...ended(), metadata: GIVEN_UP.metadata }, current: GIVEN_UP },
    [],
  ],
])('a Migration that has ended %s', async (_what, { shown, listed, current }, writes) => {
  const plan = aPlan((one) => ({ ...one, metadata: { ...one.metadata, finalizers: [LIVE_FINALIZER] } }));
  const written: string[] = [];
  const hub = {
    list: () => Promise.resolve({ items: [listed] }),
    get: ({ kind }: { readonly kind: string }) =>
      Promise.resolve({ object: kind === 'Plan' ? plan : current }),
    replace: ({ kind }: { readonly kind: string }, object: KubernetesObject) => {
      written.push(kind);
      return Promise.resolve({ object });
    },
  } as unknown as Cluster;
  const isLetGo = await release(
    { migration: shown, plan, providers: [] },
    { hub: hub as never, log: () => undefined },
  );
  expect([written, isLetGo]).toEqual([writes, writes.length === 2]);
});
