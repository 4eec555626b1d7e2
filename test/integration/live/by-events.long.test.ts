import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { LIVE_ANNOTATION, LIVE_EVENT } from '../../../functions/domain/live/names.ts';
import { PLAN_MIGRATIONS, VMIMS } from '../../../functions/kubernetes/live-resources.ts';
import { MIGRATION_FINALIZER } from '../../cluster/kubevirt/objects/names.ts';
import { FULL_VMIS } from '../../cluster/kubevirt/objects/objects.ts';
import { askUntil } from '../../support/eventually.ts';
import { removeClaims } from '../../support/live/claims.ts';
import type { KubeVirtPair } from '../../support/kubevirt/pair.ts';
import {
  accessOf,
  conditionsOf,
  isOver,
  type PlannedMove,
  untilRunning,
} from '../../support/live/crossing.ts';
import { startInstalled, type Installed } from '../../support/live/installed.ts';

let installed: Installed;

beforeAll(async () => {
  installed = await startInstalled();
});

afterAll(async () => {
  await installed.stop();
});

afterEach(() => {
  installed.environment.cluster.eventing.broker.lose(undefined);
});

/** What the guard posts in case an event was lost. */
const loseResyncs = (): void =>
  installed.environment.cluster.eventing.broker.lose(
    ({ event }) => event.attributes.type === LIVE_EVENT.resync,
  );

/**
 * KubeVirt ends the source's VMIM or its VMI first. After its VMI it removes no VMIM any more (facts/cross-cluster.md), of which no event
 * comes: only a resync has `live` take its finalizers off.
 */
async function resyncStuckVmim({ source: { admin, namespace } }: KubeVirtPair): Promise<void> {
  const { items: vmims } = await admin.list(VMIMS, { namespace });
  const isStuck = vmims.some(
    ({ metadata: { deletionTimestamp, finalizers = [] } }) =>
      deletionTimestamp !== undefined && finalizers.includes(MIGRATION_FINALIZER),
  );
  const { items: vmis } = await admin.list(FULL_VMIS, { namespace });
  if (isStuck && vmis.length === 0) installed.environment.cluster.eventing.broker.lose(undefined);
}

test('a VM moves by the events of a third cluster, its watcher and its guard, and nothing runs afterwards', async () => {
  const { clusters, environment, watcher } = installed;
  loseResyncs();
  await clusters.within('by-events', async (pair) => {
    const move = await installed.readyMove('plans', pair);
    expect(watcher.replicas.items).toEqual([0]);

    await move.createMigration();
    const migration = await move.until('it has ended', async (seen) => {
      await resyncStuckVmim(pair);
      return isOver(seen);
    });
    expect(conditionsOf(migration)).toContain('Succeeded');
    // As the guard wrote it.
    const requester = migration.metadata.annotations?.[LIVE_ANNOTATION.requester] ?? '';
    expect(JSON.parse(requester)).toMatchObject({ groups: expect.arrayContaining(['system:masters']) });
    const { source, target } = pair;
    expect(
      (await untilRunning(target.admin, { namespace: target.namespace, name: 'web' })).spec.runStrategy,
    ).toBe('Always');
    expect((await source.admin.list(FULL_VMIS, { namespace: source.namespace })).items).toEqual([]);

    // The watcher was needed, and rests.
    await watcher.replicas.until('it is scaled down', () => watcher.replicas.items.join() === '0,1,0');
    // Nor does `live` post to itself any more.
    await untilQuiet();
    const posted = JSON.stringify([environment.hops.items, environment.lines.items, migration]);
    for (const kubeconfig of installed.tokens) expect(posted).not.toContain(accessOf(kubeconfig).token);
  });
});

test.each<[string, (move: PlannedMove) => Promise<void>]>([
  ['cancel', (move) => move.patchMigration({ spec: { cancel: [{ name: 'web' }] } })],
  ['archive', (move) => move.patchPlan({ spec: { archived: true } })],
  ['delete', (move) => move.deleteMigration()],
])('%s: while a VM moves, the event of it is enough to stop the run', async (name, stop) => {
  const { clusters } = installed;
  loseResyncs();
  const release = clusters.transfers.hold('transfer');
  try {
    await clusters.within(name, async (pair) => {
      const move = await installed.readyMove(`plans-${name}`, pair);
      await move.createMigration();
      await untilPhase(move, 'WaitForStateTransfer');
      await untilQuiet();
      await stop(move);
      await untilPhase(move, 'Undo');
    });
  } finally {
    release();
  }
});

test('a second Migration of a plan waits for its turn, and begins once the first one has ended', async () => {
  const { clusters, environment } = installed;
  loseResyncs();
  const release = clusters.transfers.hold('transfer');
  try {
    await clusters.within('in-turn', async (pair) => {
      const move = await installed.readyMove('plans-in-turn', pair);
      await move.createMigration();
      await untilPhase(move, 'WaitForStateTransfer');
      const { admin, migrationAt: first } = move;
      await move.createMigration({}, 'move-2');
      await untilQuiet();
      expect((await move.migration()).status?.started).toBeUndefined();
      await admin.patch(PLAN_MIGRATIONS, first, { merge: { spec: { cancel: [{ name: 'web' }] } } });
      await askUntil(
        'the first one goes back',
        () => admin.get(PLAN_MIGRATIONS, first),
        ({ object }) => object.status?.vms?.[0]?.phase === 'Undo',
      );
      environment.cluster.eventing.broker.lose(undefined);
      release();
      const stopRemoving = removeClaims(pair.target);
      const second = await move.untilEnded().finally(stopRemoving);
      expect(conditionsOf(second)).toContain('Succeeded');
      const { object: canceled } = await admin.get(PLAN_MIGRATIONS, first);
      expect(conditionsOf(canceled)).toContain('Canceled');
      const [started = '', completed = ''] = [second.status?.started, canceled.status?.completed];
      expect(Date.parse(started)).toBeGreaterThanOrEqual(Date.parse(completed));
    });
  } finally {
    release();
  }
});

/** Nothing happens any more that would wake `live` by itself. */
async function untilQuiet(): Promise<void> {
  const { hops, cluster } = installed.environment;
  for (let known = -1; known !== hops.items.length;) {
    known = hops.items.length;
    await delay(1_000);
    await cluster.eventing.broker.idle();
  }
}

const untilPhase = (move: PlannedMove, phase: string): Promise<unknown> =>
  move.until(`the VM is in ${phase}`, ({ status }) => status?.vms?.[0]?.phase === phase);
