import { expect, test } from '@jest/globals';
import { WatchedCluster } from '../../../test/support/builders/cluster.ts';
import { aMigration, inPhase, withCondition } from '../../../test/support/builders/kubevirt.ts';
import { received } from '../../../test/support/builders/live-run.ts';
import { metadata, named } from '../../../test/support/builders/object.ts';
import type { Vmim } from '../../domain/live/kubevirt.ts';
import type { KubeVirt, Migration } from '../../domain/objects.ts';
import { KUBEVIRTS, MIGRATIONS } from '../../kubernetes/resources.ts';
import { readIsQueued } from './slots.ts';

const limitedTo = (perCluster: number, perNode = 2): KubeVirt => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'KubeVirt',
  metadata: metadata('kubevirt'),
  spec: {
    configuration: {
      migrations: {
        parallelMigrationsPerCluster: perCluster,
        parallelOutboundMigrationsPerNode: perNode,
      },
    },
  },
});
const running = (name: string): Migration => aMigration(named(name), inPhase('Running'));
const receiving = (name: string): Migration =>
  aMigration(named(name), inPhase('Scheduling'), (migration) => ({
    ...migration,
    spec: { vmiName: name, receive: { migrationID: name } },
  }));
const OLD = received('Pending');
const LATE = Date.parse(OLD.metadata.creationTimestamp) + 900_000;
const refused = received('Pending', (vmim) => ({ ...vmim, status: aMigration().status ?? {} }));

interface Case {
  readonly all?: readonly Migration[];
  readonly kubevirt?: KubeVirt;
  readonly vmim?: Vmim | undefined;
  readonly now?: number;
  readonly want: boolean;
}

test.each<[string, Case]>([
  ['as many run as may', { want: true }],
  ['one slot is free', { all: [running('a')], want: false }],
  ['one of them has ended', { all: [running('a'), aMigration(inPhase('Succeeded'))], want: false }],
  ['one of them waits too', { all: [running('a'), aMigration(withCondition())], want: false }],
  [
    'two receivers are on no node yet',
    { all: [receiving('a'), receiving('b')], kubevirt: limitedTo(5), want: true },
  ],
  ['it is not late', { now: LATE - 1, want: false }],
  ['a quota refused its launcher', { vmim: refused, want: false }],
  ['it has none', { vmim: undefined, want: false }],
  ['it is no longer Pending', { vmim: received('Scheduling'), want: false }],
])('whether the launcher waits for a slot of KubeVirt: %s', async (_, { want, ...given }) => {
  const cluster = new WatchedCluster();
  const { all, kubevirt, vmim, now } = {
    ...{ all: [running('a'), running('b')], kubevirt: limitedTo(2), vmim: OLD, now: LATE },
    ...given,
  };
  cluster.put(KUBEVIRTS, kubevirt);
  for (const each of all) cluster.put(MIGRATIONS, each);

  expect(await readIsQueued(cluster.asCluster(), vmim, now)).toBe(want);
  // The read happens only if the launcher is late: the list has the migrations of the whole cluster.
  expect(cluster.asked.length > 0).toBe(vmim === OLD && now >= LATE);
});
