import { describe, expect, test } from '@jest/globals';
import { aDrain, anUpgrade, bucket, but, NODE } from '../../test/support/builders/maintenance.ts';
import { NOW } from '../../test/support/builders/object.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import {
  isOpen,
  owesEvents,
  type MaintenanceProgress,
  type Subject,
} from '../domain/progress/progress-object.ts';
import { EVENT_REASON } from '../domain/names.ts';
import { MAINTENANCE_CHANGED } from '../domain/progress/names.ts';
import type { StepContext } from '../host/step.ts';
import type { KubernetesEvent } from '../domain/objects.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { progress } from './handle.ts';

/** The stored objects, the posted events, and a process that is killed before its n-th effect. */
class World {
  readonly stored = new Map<string, MaintenanceProgress>();
  readonly posted: { id: string; type: string; sequence: number }[] = [];
  readonly kubernetesEvents: KubernetesEvent[] = [];
  readonly requests: string[] = [];
  /** The objects that were deleted, with the preconditions. */
  readonly deleted: object[] = [];
  killBefore = Infinity;
  isBrokerDown = false;
  /** What is deleted has changed since it was seen. */
  isChanged = false;
  #version = 0;
  #effects = 0;

  async run(seen: Maintenance): Promise<void> {
    const current = [...this.stored.values()].find(isOpen) ?? [...this.stored.values()].at(-1);
    const view = { ...seen, ...(current === undefined ? {} : { current }), highest: this.stored.size };
    const maintenance: Subject =
      seen.kind === 'Drain' ? { kind: 'Drain', node: NODE.name } : { kind: 'Upgrade' };
    const request = { type: MAINTENANCE_CHANGED, id: 'id', namespace: '', maintenance };
    await progress.handle(request, this.#context(view));
  }

  #context(view: Maintenance): StepContext {
    const cluster = {
      create: (type: { kind: string }, object: MaintenanceProgress) =>
        this.#effect(`create ${type.kind}`, () => {
          if (type.kind === 'Event') {
            this.kubernetesEvents.push(object as unknown as KubernetesEvent);
            return { object };
          }
          const { name } = object.metadata;
          if (this.stored.has(name)) throw refused('AlreadyExists');
          const metadata = { ...object.metadata, uid: `uid-of-${name}`, creationTimestamp: '' };
          return { object: this.#store({ ...object, metadata }) };
        }),
      replace: (_: unknown, object: MaintenanceProgress) =>
        this.#effect('PUT', () => {
          const before = this.stored.get(object.metadata.name);
          if (before?.metadata.resourceVersion !== object.metadata.resourceVersion) throw refused('Conflict');
          return { object: this.#store(object) };
        }),
    };
    const remove = (_: unknown, { name }: { name: string }, { preconditions }: { preconditions: object }) =>
      this.#effect('DELETE', () => {
        this.deleted.push({ name, ...preconditions });
        if (this.isChanged) throw refused('Conflict');
      });
    return {
      cluster: { ...cluster, delete: remove },
      clock: { now: () => new Date(NOW) },
      log: () => undefined,
      maintenance: () => Promise.resolve(view),
      post: (entry: { id: string; type: string; sequence: number }) =>
        this.#effect('POST', () => {
          if (this.isBrokerDown) throw new Error('the Broker is down');
          this.posted.push(entry);
        }),
    } as unknown as StepContext;
  }

  #store(object: MaintenanceProgress): MaintenanceProgress {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    const stored = structuredClone({ ...object, metadata });
    this.stored.set(metadata.name, stored);
    return structuredClone(stored);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- it rejects as a request does
  async #effect<T>(name: string, effect: () => T): Promise<T> {
    this.#effects += 1;
    if (this.#effects >= this.killBefore) throw new Killed();
    this.requests.push(name);
    return effect();
  }
}

const refused = (reason: string): ApiError => new ApiError('a write', { code: 409, reason }, new Date(NOW));

class Killed extends Error {}

const STUCK = but({ blockedBy: { Quota: 1 }, buckets: [bucket('blocked', 1)] });
/** The changes from the begin to the end of a drain. */
const CHANGES = [aDrain([1, 2]), aDrain([1, 2], STUCK), aDrain([1]), aDrain([])];

const lastOf = (world: World): MaintenanceProgress | undefined => [...world.stored.values()].at(-1);

describe('`progress` killed before its n-th effect', () => {
  test.each(Array.from({ length: 20 }, (_, n) => n + 1))(
    '%d: every event is posted, with one id and without a gap',
    async (n) => {
      const world = new World();
      world.killBefore = n;
      for (const seen of CHANGES) {
        await world.run(seen).catch((error: unknown) => {
          if (!(error instanceof Killed)) throw error;
          world.killBefore = Infinity;
          return world.run(seen);
        });
      }
      // The guard triggers it again while an outbox is not empty.
      world.killBefore = Infinity;
      await world.run(aDrain([]));
      expect(world.stored.size).toBe(1);
      expect(lastOf(world)?.status).toMatchObject({ state: 'Completed', progress: '2/2', outbox: [] });
      const distinct = new Map(
        world.posted.map(({ id, type, sequence }) => [id, [sequence, type.split('.').at(-1)]]),
      );
      expect([...distinct.values()]).toEqual([
        [1, 'started'],
        [2, 'blocked'],
        [3, 'unblocked'],
        [4, 'progressed'],
        [5, 'completed'],
      ]);
      for (const { id, type } of world.posted)
        expect(world.posted.filter((other) => other.id === id && other.type !== type)).toEqual([]);
    },
  );
});

describe('what a change costs', () => {
  test('one PUT without a transition; a second one takes posted events out', async () => {
    const world = new World();
    await world.run(aDrain([1, 2]));
    world.requests.length = 0;
    await world.run(aDrain([1, 2], but({ buckets: [bucket('running', 2)] })));
    expect(world.requests).toEqual(['PUT']);
    world.requests.length = 0;
    await world.run(aDrain([1, 2], STUCK));
    expect(world.requests).toEqual(['PUT', 'POST', 'create Event', 'PUT']);
    world.requests.length = 0;
    await world.run(aDrain([1, 2], STUCK));
    expect(world.requests).toEqual([]);
  });
});

test('while the Broker is down, events wait in their order; the next run posts them', async () => {
  const world = new World();
  world.isBrokerDown = true;
  for (const seen of CHANGES) await world.run(seen);
  expect(world.posted).toEqual([]);
  world.isBrokerDown = false;
  await world.run(aDrain([]));
  expect(world.posted.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
  expect([...world.stored.values()].filter(owesEvents)).toEqual([]);
});

test('beside the incumbent nothing is written, posted or deleted: no new object, no outbox, no old object', async () => {
  const world = new World();
  world.isBrokerDown = true;
  await world.run(aDrain([1, 2]));
  world.isBrokerDown = false;
  world.requests.length = 0;
  const expired = [{ name: 'drain-1-1', uid: 'uid-1', resourceVersion: '7' }];
  const owing = [...world.stored.values()];
  expect(owing.filter(owesEvents)).toHaveLength(1);
  await world.run(aDrain([1], but({ incumbent: 'MTQ is installed', expired, owing })));
  await world.run(anUpgrade([1], but({ incumbent: 'MTQ is installed' })));
  expect(world.requests).toEqual([]);
  await world.run(aDrain([1]));
  expect(world.posted.map(({ sequence }) => sequence)).toEqual([1, 2]);
});

test('a blocked drain is reported on its Node', async () => {
  const world = new World();
  await world.run(aDrain([1, 2], STUCK));
  expect(world.kubernetesEvents).toMatchObject([
    {
      metadata: { namespace: 'default' },
      involvedObject: { kind: 'Node', name: NODE.name, uid: NODE.uid },
      reason: EVENT_REASON.drainBlocked,
      type: 'Warning',
      message: expect.stringMatching(
        /^0 of 2 VMs moved: .*by Quota.*Follow it: kubectl vmmrq progress drain-12345678-1$/,
      ),
    },
  ]);
});

test('a blocked upgrade is reported on KubeVirt', async () => {
  const world = new World();
  await world.run(anUpgrade([1, 2], STUCK));
  expect(world.kubernetesEvents).toMatchObject([
    {
      metadata: { namespace: 'kubevirt' },
      involvedObject: { kind: 'KubeVirt', name: 'kubevirt', uid: 'uid-of-kubevirt' },
      reason: EVENT_REASON.upgradeBlocked,
      type: 'Warning',
      message: expect.stringMatching(
        /^0 of 2 VMs up to date: .*by Quota.*Follow it: kubectl vmmrq progress upgrade-new-1$/,
      ),
    },
  ]);
});

test('the report on the Node ends with the command, however long the reason is', async () => {
  const vms = [{ namespace: 'tenant', name: 'vm0', reason: 'PodRefused', message: 'x'.repeat(4_000) }];
  const world = new World();
  await world.run(
    aDrain([1], but({ blockedBy: { Quota: 1 }, buckets: [{ name: 'blocked', count: 1, vms }] })),
  );
  expect(world.kubernetesEvents[0]?.message).toMatch(
    /xxx… Follow it: kubectl vmmrq progress drain-12345678-1$/,
  );
});

test.each([false, true])(
  'an old object goes by its uid and version only; changed since: %s',
  async (isChanged) => {
    const world = new World();
    world.isChanged = isChanged;
    const expired = [{ name: 'drain-1-1', uid: 'uid-1', resourceVersion: '7' }];
    await world.run(aDrain([1, 2], but({ expired })));
    expect(world.deleted).toEqual(expired);
  },
);
