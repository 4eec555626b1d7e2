import { expect, test } from '@jest/globals';
import { aPlan, aPlanMigration } from '../../test/support/builders/live.ts';
import { seconds } from '../../test/support/builders/object.ts';
import type { PlanMigration } from '../domain/live/forklift.ts';
import { LIVE_FINALIZER } from '../domain/live/names.ts';
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

test.each<
  [string, { readonly listed: PlanMigration; readonly current: PlanMigration; readonly writes: string[] }]
>([
  ['is let go, its Plan first', { listed: ended(), current: ended(), writes: ['Plan', 'Migration'] }],
  [
    'is not where another call found something left over',
    { listed: ended('x'), current: ended('x'), writes: [] },
  ],
  ['is not where one does so meanwhile', { listed: ended(), current: ended('x'), writes: ['Plan'] }],
])('a Migration that has ended %s', async (_what, { listed, current, writes }) => {
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
    { migration: listed, plan, providers: [] },
    { hub: hub as never, log: () => undefined },
  );
  expect([written, isLetGo]).toEqual([writes, writes.length === 2]);
});
