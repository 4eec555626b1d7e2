import { expect, test } from '@jest/globals';
import { evacuationOf } from './evacuation.ts';
import type { Vmi, Vmim } from '../objects/types.ts';

/** It is marked for eviction from node01. */
const leaving = (name: string): Vmi =>
  ({
    metadata: { namespace: 'tenant', name, uid: name },
    spec: { evictionStrategy: 'LiveMigrate' },
    status: {
      phase: 'Running',
      nodeName: 'node01',
      evacuationNodeName: 'node01',
      conditions: [{ type: 'LiveMigratable', status: 'True' }],
    },
  }) as unknown as Vmi;

const migrating = (vmiName: string, phase: string): Vmim =>
  ({
    metadata: { namespace: 'tenant', name: `of-${vmiName}`, uid: `of-${vmiName}` },
    spec: { vmiName },
    status: { phase },
  }) as unknown as Vmim;

interface Case {
  readonly running: number;
  readonly pending: number;
  readonly evacuated: number;
  readonly isFull: boolean;
}

/** As in KubeVirt's own test: 10 at once in the cluster, 5 from a node (pkg/virt-controller/watch/drain/evacuation). */
test.each<[string, Case]>([
  ['as many as the slots of the node', { running: 4, pending: 0, evacuated: 1, isFull: false }],
  ['none while there is no slot', { running: 5, pending: 0, evacuated: 0, isFull: true }],
  ['beside any number that are Pending', { running: 3, pending: 7, evacuated: 2, isFull: false }],
])('an evacuation creates migrations: %s', (_what, { running, pending, evacuated, isFull }) => {
  const names = (what: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${what}${String(index)}`);
  const view = {
    node: 'node01',
    nodeObject: undefined,
    vmis: [...names('run', running), ...names('pend', pending), ...names('vm', 4)].map((name) =>
      leaving(name),
    ),
    migrations: [
      ...names('run', running).map((name) => migrating(name, 'Running')),
      ...names('pend', pending).map((name) => migrating(name, 'Pending')),
    ],
    pods: [],
    configuration: {
      migrations: { parallelMigrationsPerCluster: 10, parallelOutboundMigrationsPerNode: 5 },
    },
  };
  const evacuation = evacuationOf(view);
  expect(evacuation.toMigrate).toHaveLength(evacuated);
  expect(evacuation.isFull).toBe(isFull);
});
