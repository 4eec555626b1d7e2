import { describe, expect, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aLauncher, aMigration, aVmi, refusedAt } from '../../test/support/builders/kubevirt.ts';
import { annotated, metadata, named } from '../../test/support/builders/object.ts';
import { aNamespace } from '../../test/support/builders/namespace.ts';
import { aView, aVmmrq, forPurposes } from '../../test/support/builders/snapshot.ts';
import { KUBEVIRT } from '../domain/names.ts';
import type { KubernetesObject, Node, Vmmrq } from '../domain/objects.ts';
import type { NodeState } from '../domain/snapshot.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import type { View } from '../domain/view.ts';
import { ApiError } from '../kubernetes/errors.ts';
import {
  MIGRATIONS,
  MTQS,
  NAMESPACES,
  NODES,
  PODS,
  VMIS,
  VMMRQS,
  WEBHOOK_CONFIGURATIONS,
} from '../kubernetes/resources.ts';
import { readSnapshot, type SnapshotRequest } from './snapshot.ts';

const RULES = { kubevirtNamespace: 'kubevirt', lockSeconds: 30 };
const SIZES = ['get virtualmachineinstances vm0', 'list events'];

/** An object outside of any namespace. */
const clusterWide = (name: string): KubernetesObject => {
  const { namespace: _, ...own } = metadata(name);
  return { metadata: own };
};

interface Reading {
  /** Requests that were sent before any was answered. */
  readonly first: readonly string[];
  readonly later: readonly string[];
  readonly snapshot: NamespaceSnapshot | undefined;
}

function aCluster(): WatchedCluster {
  const cluster = new WatchedCluster();
  cluster.put(NAMESPACES, aNamespace());
  cluster.put(MIGRATIONS, aMigration(refusedAt(-1)));
  cluster.put(VMMRQS, aVmmrq());
  cluster.put(VMIS, aVmi());
  return cluster;
}

async function reading(expected: readonly string[]): Promise<Reading> {
  const cluster = aCluster();
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

describe('the node that an evacuation leaves', () => {
  const cordoned = (unschedulable: boolean): Node => ({
    ...clusterWide('node1'),
    spec: { unschedulable },
  });

  test.each<[string, Node | undefined, Vmmrq, [string, NodeState][]]>([
    ['is drained', cordoned(true), forPurposes('Evacuation')(aVmmrq()), [['node1', 'draining']]],
    ['takes pods again', cordoned(false), forPurposes('Evacuation')(aVmmrq()), [['node1', 'uncordoned']]],
    ['is gone', undefined, forPurposes('Evacuation')(aVmmrq()), [['node1', 'gone']]],
    ['does not matter to any VMMRQ', cordoned(true), aVmmrq(), []],
  ])('%s', async (_, node, vmmrq, want) => {
    const cluster = aCluster();
    cluster.put(MIGRATIONS, aMigration(refusedAt(-1), annotated(KUBEVIRT.evacuation, 'node1')));
    cluster.put(PODS, aLauncher('vm0'));
    cluster.put(VMMRQS, vmmrq);
    if (node !== undefined) cluster.put(NODES, node);
    const request = { name: 'tenant', rules: RULES, view: () => Promise.resolve(aView()) };
    const snapshot = await readSnapshot(cluster.asCluster(), request);
    expect([...(snapshot?.nodes ?? [])]).toEqual(want);
  });
});

describe('with lists that may lag', () => {
  const MIGRATIONS_LISTED = 'list virtualmachineinstancemigrations';
  const inView = aMigration(named('in-view'), refusedAt(-1));

  test.each<[string, Pick<SnapshotRequest, 'mayLag'> & { readonly view: View | undefined }, string]>([
    [
      'the guard’s view has the migrations',
      { mayLag: true, view: aView({ migrations: [inView] }) },
      'in-view',
    ],
    ['too many for the view', { mayLag: true, view: aView() }, 'mig0'],
    ['no guard', { mayLag: true, view: undefined }, 'mig0'],
    ['lists that may not lag', { mayLag: false, view: aView({ migrations: [inView] }) }, 'mig0'],
  ])('%s', async (_, { view, ...how }, want) => {
    const cluster = aCluster();
    const request = { name: 'tenant', rules: RULES, view: () => Promise.resolve(view), ...how };
    const snapshot = await readSnapshot(cluster.asCluster(), request);
    expect(snapshot?.migrations.map(({ metadata }) => metadata.name)).toEqual([want]);
    expect(cluster.asked.includes(MIGRATIONS_LISTED)).toBe(want === 'mig0');
  });
});

describe('the incumbent, where the guard does not answer', () => {
  const missing = new ApiError('list', { code: 404, reason: 'NotFound' }, new Date());

  test.each<[string, (cluster: WatchedCluster) => void, string | undefined]>([
    ['is not there', (cluster) => cluster.failLists(MTQS, missing), undefined],
    ['is installed', (cluster) => cluster.put(MTQS, clusterWide('mtq')), 'MTQ object mtq'],
    [
      'locks the namespace',
      (cluster) => cluster.put(WEBHOOK_CONFIGURATIONS, clusterWide('lock.tenant.com')),
      'lock.tenant.com',
    ],
  ])('%s', async (_, put, want) => {
    const cluster = aCluster();
    put(cluster);
    const request = { name: 'tenant', rules: RULES, view: () => Promise.resolve(undefined) };
    const snapshot = await readSnapshot(cluster.asCluster(), request);
    if (want === undefined) expect(snapshot).not.toHaveProperty('incumbent');
    else expect(snapshot?.incumbent).toContain(want);
  });

  test('costs no request where it answers', async () => {
    const { first, later } = await reading([]);
    const asked = [...first, ...later].join();
    expect([asked.includes(MTQS.plural), asked.includes(WEBHOOK_CONFIGURATIONS.plural)]).toEqual([
      false,
      false,
    ]);
  });
});
