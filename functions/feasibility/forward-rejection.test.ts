import { beforeEach, describe, expect, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import {
  aMigration,
  inPhase,
  withPriority,
  refusedAt,
  withCondition,
} from '../../test/support/builders/kubevirt.ts';
import { beingDeleted, named, NOW } from '../../test/support/builders/object.ts';
import { aView, aVmmrq } from '../../test/support/builders/snapshot.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { EVENT, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { Migration } from '../domain/objects.ts';
import type { View } from '../domain/view.ts';
import { parseEventObject } from '../eventing/event-object.ts';
import type { StepContext } from '../host/step.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { VMMRQS } from '../kubernetes/resources.ts';
import { forwardRejection } from './forward-rejection.ts';

let cluster: WatchedCluster;
/** Milliseconds on this process's clock. */
let now: number;
let seen: Map<string, number>;
/** The guard's answer; undefined: none. */
let view: View | undefined;

const context = (): StepContext =>
  ({
    cluster: cluster.asCluster(),
    clock: { now: () => new Date(now) },
    sinceFirst: (what: string) => {
      const first = seen.get(what);
      seen.set(what, first ?? now);
      return first === undefined ? 0 : Math.max(1, now - first);
    },
    view: () => Promise.resolve(view),
    inBackground: (work: () => Promise<void>) => void work(),
  }) as unknown as StepContext;

const about = (migration: Migration, type: string = SOURCE_EVENT.update): StepRequest => {
  const { namespace = '' } = migration.metadata;
  const eventObject = parseEventObject(migration, { kind: migration.kind ?? '', namespace });
  return { type, id: 'event-1', namespace, ...(eventObject === undefined ? {} : { eventObject }) };
};

const FRESH = aMigration(refusedAt(-1));

beforeEach(() => {
  cluster = new WatchedCluster();
  cluster.put(VMMRQS, aVmmrq());
  now = NOW;
  seen = new Map();
  view = undefined;
});

describe('a refusal of a moment ago', () => {
  test('goes to lock', async () => {
    expect(await forwardRejection(about(FRESH), context())).toEqual({
      reason: REASON.freshRefusal,
      message: 'a quota refused mig0 a moment ago: lock decides',
      migrations: ['mig0'],
      reply: {
        type: EVENT.migrationFeasible,
        from: 'feasibility',
        namespace: 'tenant',
        migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }],
        vmis: ['vm0'],
        cause: 'event-1',
      },
    });
    expect(cluster.asked).toEqual(['list virtualmachinemigrationresourcequotas']);
  });

  test('is forwarded once for each migration: its duplicate of the same moment is skipped', async () => {
    await forwardRejection(about(FRESH), context());
    now += 999;
    expect(await forwardRejection(about(FRESH), context())).toEqual({
      reason: REASON.freshRefusal,
      message: 'the same refusal was handled a moment ago',
    });
  });

  test('is forwarded at its next delivery where the first one failed', async () => {
    cluster.failLists(VMMRQS, new ApiError('list', { code: 429, reason: 'TooManyRequests' }, new Date()));
    await expect(forwardRejection(about(FRESH), context())).rejects.toThrow('TooManyRequests');
    cluster.restoreWatch(VMMRQS);
    now += 10;
    expect(await forwardRejection(about(FRESH), context())).toMatchObject({ migrations: ['mig0'] });
  });

  test('gets the full assessment for an event one second later', async () => {
    await forwardRejection(about(FRESH), context());
    now += 1_000;
    expect(await forwardRejection(about(FRESH), context())).toBeUndefined();
  });

  test.each([true, false])(
    'the guard’s view shows whether there is a VMMRQ (%s): no request',
    async (served) => {
      view = aView({ served });
      expect((await forwardRejection(about(FRESH), context())) !== undefined).toBe(served);
      expect(cluster.asked).toEqual([]);
    },
  );

  test('needs a VMMRQ in its namespace', async () => {
    cluster.remove(VMMRQS, aVmmrq());
    expect(await forwardRejection(about(FRESH), context())).toBeUndefined();
  });
});

describe('a migration that waits for a migration slot', () => {
  const turn: StepRequest = {
    type: EVENT.resyncRequested,
    id: 'event-2',
    namespace: 'tenant',
    migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }],
  };
  const queued = { queued: ['uid-of-mig0'], status: false };
  const free = { ...queued, queued: [] };

  test('gets no request and no lock while the guard sees no slot for it', async () => {
    view = aView({ served: true, open: queued });
    expect(await forwardRejection(about(FRESH), context())).toEqual({
      reason: REASON.parallelLimit,
      message: 'mig0 waits for a migration slot of KubeVirt: the guard posts an event when one is free',
    });
    expect(cluster.asked).toEqual([]);
  });

  test('goes to lock when the guard has seen a slot for it', async () => {
    view = aView({ served: true, open: queued });
    await forwardRejection(about(FRESH), context());
    view = aView({ served: true, open: free });
    expect(await forwardRejection(turn, context())).toMatchObject({
      message: 'KubeVirt has a migration slot for mig0: lock decides',
      reply: { type: EVENT.migrationFeasible, migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }] },
    });
    expect(cluster.asked).toEqual([]);
  });

  test('goes to lock for its slot even where its refusal went there before, and to the assessment for the next', async () => {
    view = aView({ served: true, open: free });
    expect(await forwardRejection(about(FRESH), context())).toHaveProperty('reply');
    now += 5_000;
    expect(await forwardRejection(turn, context())).toHaveProperty('reply');
    now += 1_000;
    expect(await forwardRejection(turn, context())).toBeUndefined();
  });

  test('is left alone while the guard sees a lock, and goes to lock after it', async () => {
    view = aView({ served: true, open: free, lock: { token: 'token-1', watchedMs: 10 } });
    for (const request of [about(FRESH), turn])
      expect(await forwardRejection(request, context())).toEqual({
        reason: REASON.alreadyLocked,
        message: 'the namespace is locked, and is looked at when the lock has ended',
      });
    expect(cluster.asked).toEqual([]);
    view = aView({ served: true, open: free });
    expect(await forwardRejection(about(FRESH), context())).toHaveProperty('reply');
  });

  test('waits on where the slot is taken again', async () => {
    view = aView({ served: true, open: queued });
    expect(await forwardRejection(turn, context())).toMatchObject({ reason: REASON.parallelLimit });
    view = aView({ served: true, open: free });
    expect(await forwardRejection(turn, context())).toHaveProperty('reply');
  });
});

describe('after another migration has succeeded', () => {
  const succeeded = about(aMigration(named('done'), inPhase('Succeeded')));
  const waiting = [aMigration(named('late')), aMigration(named('urgent'), withPriority('system-critical'))];

  test('the next one that the guard sees waiting with a slot goes to lock, once', async () => {
    view = aView({ served: true, migrations: waiting });
    expect(await forwardRejection(succeeded, context())).toMatchObject({
      reason: REASON.slotFree,
      reply: { migrations: [{ name: 'urgent' }], vmis: ['vm0'] },
    });
    now += 10;
    expect(await forwardRejection(succeeded, context())).toEqual({
      reason: REASON.freshRefusal,
      message: 'the same refusal was handled a moment ago',
    });
    expect(cluster.asked).toEqual([]);
  });

  test('one without a slot lets the next one go', async () => {
    const [late, urgent] = waiting;
    const queued = [urgent?.metadata.uid ?? ''];
    view = aView({ served: true, migrations: waiting, open: { queued, status: false } });
    expect(await forwardRejection(succeeded, context())).toMatchObject({ migrations: [late?.metadata.name] });
  });

  test.each<[string, View | undefined]>([
    ['the guard does not answer', undefined],
    ['nothing waits', aView({ served: true, migrations: [] })],
    ['no VMMRQ is there', aView({ served: false, migrations: waiting })],
  ])('a look follows where %s', async (_, seen) => {
    view = seen;
    expect(await forwardRejection(succeeded, context())).toBeUndefined();
  });
});

describe('events that get the full assessment, without a request', () => {
  test.each<[string, StepRequest]>([
    ['a refusal of 11 s ago', about(aMigration(refusedAt(-11)))],
    ['a refusal 3 s in the future', about(aMigration(refusedAt(3)))],
    ['a refusal without a time', about(aMigration())],
    ['a migration that no quota refused', about(aMigration(withCondition()))],
    ['a migration that runs', about(aMigration(refusedAt(-1), inPhase('Running')))],
    ['a migration that is being deleted', about(aMigration(refusedAt(-1), beingDeleted()))],
    ['an event that the migration was added', about(FRESH, SOURCE_EVENT.add)],
    ['an event that the migration is gone', about(FRESH, SOURCE_EVENT.delete)],
    ['an event without an object', { type: EVENT.resyncRequested, id: 'event-1', namespace: 'tenant' }],
  ])('%s', async (_, request) => {
    expect(await forwardRejection(request, context())).toBeUndefined();
    expect(cluster.asked).toEqual([]);
  });
});

test.each([
  [-2, true],
  [-10, true],
  [2, true],
])('the limits of a fresh refusal are inclusive: %s s', async (after, want) => {
  expect((await forwardRejection(about(aMigration(refusedAt(after))), context())) !== undefined).toBe(want);
});
