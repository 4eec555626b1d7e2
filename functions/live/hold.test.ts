import { expect, test } from '@jest/globals';
import { aPlan, aPlanMigration } from '../../test/support/builders/live.ts';
import type { KubernetesObject } from '../domain/objects.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { hold } from './hold.ts';

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
