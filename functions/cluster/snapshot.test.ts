import { expect, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aMigration, aVmi, refusedAt } from '../../test/support/builders/kubevirt.ts';
import { aNamespace } from '../../test/support/builders/namespace.ts';
import { aView, aVmmrq } from '../../test/support/builders/snapshot.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { MIGRATIONS, NAMESPACES, VMIS, VMMRQS } from '../kubernetes/resources.ts';
import { readSnapshot } from './snapshot.ts';

const RULES = { kubevirtNamespace: 'kubevirt', lockSeconds: 30 };
const SIZES = ['get virtualmachineinstances vm0', 'list events'];

interface Reading {
  /** Requests that were sent before any was answered. */
  readonly first: readonly string[];
  readonly later: readonly string[];
  readonly snapshot: NamespaceSnapshot | undefined;
}

async function reading(expected: readonly string[]): Promise<Reading> {
  const cluster = new WatchedCluster();
  cluster.put(NAMESPACES, aNamespace());
  cluster.put(MIGRATIONS, aMigration(refusedAt(-1)));
  cluster.put(VMMRQS, aVmmrq());
  cluster.put(VMIS, aVmi());
  const view = (): Promise<NamespaceSnapshot['view']> => Promise.resolve(aView());
  const read = readSnapshot(cluster.asCluster(), { name: 'tenant', rules: RULES, view, expected });
  const first = [...cluster.asked];
  const snapshot = await read;
  return { first, later: cluster.asked.slice(first.length), snapshot };
}

test('what a blocked migration needs is read in a second round', async () => {
  const { first, later, snapshot } = await reading([]);
  expect(first).not.toEqual(expect.arrayContaining(SIZES));
  expect(later).toEqual(SIZES);
  expect(snapshot?.vmis.get('vm0')).toBeDefined();
});

test('with the name of its VMI everything is read in one round', async () => {
  const { first, later, snapshot } = await reading(['vm0']);
  expect(first).toEqual(expect.arrayContaining(SIZES));
  expect(later).toEqual([]);
  expect(snapshot).toEqual((await reading([])).snapshot);
});

test.each([
  ['a VMI that does not exist', ['gone'], ['get virtualmachineinstances vm0']],
  ['more VMIs than are read one by one', ['a', 'b', 'c', 'vm0'], []],
])('an expectation that is wrong changes nothing: %s', async (_, expected, further) => {
  const { first, later, snapshot } = await reading(expected);
  expect(first).toContain('list events');
  expect(later).toEqual(further);
  // A list leaves out the kind of its items.
  expect(snapshot?.vmis.get('vm0')?.metadata.uid).toBe('uid-of-vm0');
});
