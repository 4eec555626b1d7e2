import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { MaintenanceChanged } from '../../functions/domain/events.ts';
import { ANNOTATION, KUBEVIRT } from '../../functions/domain/names.ts';
import type {
  KubernetesEvent,
  KubernetesObject,
  Migration,
  VirtualMachineInstance,
} from '../../functions/domain/objects.ts';
import type { MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';
import type { Cluster, Selection, WatchEvent } from '../../functions/kubernetes/cluster.ts';
import { decideFor } from '../../functions/progress/decide.ts';
import { aProgress, aStatus, bucket } from '../../test/support/builders/maintenance.ts';
import { aMigration, aVmi, inPhase, refusedAt } from '../../test/support/builders/kubevirt.ts';
import {
  annotated,
  beingDeleted,
  createdAt,
  inNamespace,
  metadata,
  named,
  NOW,
  seconds,
  type Change,
} from '../../test/support/builders/object.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { ClusterView } from '../view/cluster-view.ts';
import { MaintenanceTracker } from './maintenance-tracker.ts';

/** A clock that the test turns. */
class Hand {
  ms = 0;
  readonly #timers = new Map<number, { at: number; work: () => void }>();
  #next = 0;
  elapsed = (): number => this.ms;
  now = (): Date => new Date(NOW + this.ms);
  after = (ms: number, work: () => void): (() => void) => {
    const id = (this.#next += 1);
    this.#timers.set(id, { at: this.ms + ms, work });
    return () => void this.#timers.delete(id);
  };

  async turn(ms: number): Promise<void> {
    const until = this.ms + ms;
    for (; this.ms < until; this.ms += 500) {
      await settled();
      for (const [id, { at, work }] of this.#timers) {
        if (at > this.ms) continue;
        this.#timers.delete(id);
        work();
      }
    }
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lists and watches of objects that the test pushes, by the selection's text. */
class Pushed {
  readonly listed = new Map<string, KubernetesObject[]>();
  readonly #watches = new Map<string, (event: WatchEvent<KubernetesObject>) => void>();
  readonly requests: string[] = [];
  /** Selections whose lists fail. */
  readonly refused = new Set<string>();
  #version = 1;

  /** virt-controller's Lease, renewed before each read. */
  #renewals = 0;

  readonly cluster = {
    get: () => {
      this.#renewals += 1;
      return Promise.resolve({
        object: { spec: { renewTime: String(this.#renewals) } },
        date: new Date(NOW),
      });
    },
    list: (type: { plural: string }, where: Selection) => {
      const key = keyOf(type, where);
      this.requests.push(`list ${key}`);
      if (this.refused.has(key)) return Promise.reject(new Error('too much'));
      const items = (this.listed.get(key) ?? []).map(
        (item) => (type as Trimming).trim?.(item)?.object ?? item,
      );
      return Promise.resolve({ items, resourceVersion: '1', date: new Date(NOW) });
    },
    watch: (type: { plural: string }, where: Selection, signal: AbortSignal) =>
      this.#watch(keyOf(type, where), signal),
  } as unknown as Cluster;

  push(key: string, type: 'MODIFIED' | 'DELETED', object: KubernetesObject): void {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    this.#watches.get(key)?.({ type, object: { ...object, metadata } });
  }

  async *#watch(key: string, signal: AbortSignal): AsyncGenerator<WatchEvent<KubernetesObject>> {
    const queue: WatchEvent<KubernetesObject>[] = [];
    let more = Promise.withResolvers<undefined>();
    const resolveNext = (): void => more.resolve(undefined);
    this.#watches.set(key, (event) => {
      queue.push(event);
      resolveNext();
    });
    signal.addEventListener('abort', resolveNext);
    while (!signal.aborted) {
      yield* queue.splice(0);
      more = Promise.withResolvers<undefined>();
      if (queue.length === 0) await more.promise;
    }
  }
}

interface Trimming {
  readonly trim?: (item: KubernetesObject) => { readonly object: KubernetesObject } | undefined;
}

const keyOf = (
  { plural }: { plural: string },
  { labelSelector = '', fieldSelector = '' }: Selection,
): string => `${plural} ${labelSelector}${fieldSelector}`;

const CORDONED = 'nodes spec.unschedulable=true';
const ON_NODE = 'virtualmachineinstances kubevirt.io/nodeName=node1';
const ARRIVING = 'virtualmachineinstances kubevirt.io/migrationTargetNodeName=node1';
const OUTDATED = 'virtualmachineinstances kubevirt.io/outdatedLauncherImage';
const PROGRESSES = 'maintenanceprogresses ';

const node = (beat = '0'): KubernetesObject =>
  ({
    metadata: {
      name: 'node1',
      uid: 'uid-of-node1',
      resourceVersion: '1',
      creationTimestamp: '',
      annotations: { beat },
    },
    spec: { unschedulable: true },
    status: { conditions: [{ type: 'Ready', lastHeartbeatTime: beat }] },
  }) as unknown as KubernetesObject;
const vmi = (evacuationNodeName?: string): KubernetesObject =>
  ({
    ...aVmi(),
    spec: { evictionStrategy: 'LiveMigrate' },
    status: { ...aVmi().status, ...(evacuationNodeName === undefined ? {} : { evacuationNodeName }) },
  }) as KubernetesObject;

const VERDICTS = 'events source=managed-tenant-quota,involvedObject.kind=VirtualMachineInstanceMigration';
/** A verdict as feasibility writes it about mig0. */
const verdict = (reason: string, resourceVersion: string): KubernetesEvent => ({
  metadata: {
    ...{ namespace: 'tenant', name: reason, uid: reason, resourceVersion, creationTimestamp: '' },
    annotations: { [ANNOTATION.verdict]: JSON.stringify({ reason }) },
  },
  involvedObject: { uid: 'uid-of-mig0' },
});
const evacuation = (...changes: Change<Migration>[]): Migration =>
  aMigration(annotated(KUBEVIRT.evacuation, 'node1'), ...changes);

let clock: Hand;
let pushed: Pushed;
let posts: MaintenanceChanged[];
let tracker: MaintenanceTracker;
let view: ClusterView;
let stopping: AbortController;
let logged: string[];

beforeEach(() => {
  logged = [];
  clock = new Hand();
  pushed = new Pushed();
  posts = [];
  stopping = new AbortController();
  const { cluster } = pushed;
  view = new ClusterView(cluster);
  tracker = new MaintenanceTracker({
    ...{ cluster, clock, kubevirtNamespace: 'kubevirt', log: (_level, message) => logged.push(message) },
    view: () => view,
    post: (event) => Promise.resolve(void posts.push(event)),
  });
});

afterEach(() => {
  stopping.abort();
});

const start = async (): Promise<void> => {
  void tracker.run(stopping.signal);
  await clock.turn(5_000);
};

const draining = (): void => {
  pushed.listed.set(CORDONED, [node()]);
  pushed.listed.set(ON_NODE, [vmi('node1')]);
};

/** Writes the object as `progress` does. */
function write(before: MaintenanceProgress): MaintenanceProgress {
  const seen = tracker.maintenanceOf({ kind: 'Drain', node: 'node1' });
  if (seen === undefined) throw new Error('nothing is seen');
  const decision = decideFor(before, seen, clock.now().getTime());
  return decision.kind === 'write' ? decision.object : before;
}

describe('the guard posts maintenance.changed', () => {
  test('never while nothing is cordoned and KubeVirt changes nothing, and sends no request then', async () => {
    await start();
    const before = pushed.requests.length;
    await clock.turn(60_000);
    expect([posts, pushed.requests.length]).toEqual([[], before]);
  });

  test('not for a node that is only cordoned, whatever its heartbeats', async () => {
    pushed.listed.set(CORDONED, [node()]);
    pushed.listed.set(ON_NODE, [vmi()]);
    await start();
    for (let beat = 1; beat <= 20; beat += 1) {
      pushed.push(CORDONED, 'MODIFIED', node(String(beat)));
      await clock.turn(1_000);
    }
    expect(posts).toEqual([]);
  });

  test.each<[string, () => void, () => void]>([
    [
      'its own object',
      (): void => void view.incumbents.set('mtq', { metadata: metadata('mtq') }),
      (): void => view.incumbents.clear(),
    ],
    [
      'its lock of a namespace with a VMMRQ',
      (): void => {
        view.vmmrqs.set('more', aVmmrq());
        view.configurations.set('lock.tenant.com', { metadata: metadata('lock.tenant.com') });
      },
      (): void => view.configurations.clear(),
    ],
  ])('for nothing while the incumbent is there (%s), and then for what is due', async (_, comes, goes) => {
    draining();
    comes();
    await start();
    await clock.turn(60_000);
    const seen = tracker.maintenanceOf({ kind: 'Drain', node: 'node1' });
    expect([posts, seen]).toEqual([[], expect.objectContaining({ incumbent: expect.any(String) })]);
    goes();
    await clock.turn(5_000);
    expect(posts.map(({ maintenance }) => maintenance)).toEqual([{ kind: 'Drain', node: 'node1' }]);
  });

  test('for objects that have expired, until they are gone', async () => {
    const ended = Array.from({ length: 11 }, (_, index): KubernetesObject => {
      const status = aStatus([], [], { state: 'Completed', endedAt: seconds(-7_200) });
      const object = aProgress('Drain', status);
      return { ...object, metadata: { ...object.metadata, uid: String(index) } };
    });
    pushed.listed.set(PROGRESSES, ended);
    await start();
    await clock.turn(10_000);
    expect(posts.map(({ maintenance }) => maintenance)).toEqual([
      { kind: 'Upgrade' },
      { kind: 'Upgrade' },
      { kind: 'Upgrade' },
    ]);
    const [oldest] = ended.slice(-1);
    if (oldest !== undefined) pushed.push(PROGRESSES, 'DELETED', oldest);
    await clock.turn(2_000);
    posts.length = 0;
    await clock.turn(20_000);
    expect(posts).toEqual([]);
  });

  const FIXED = {
    ...vmi(),
    status: { ...aVmi().status, conditions: [{ type: 'LiveMigratable', status: 'False' }] },
  };
  test.each([
    ['that is only cordoned', [], 0],
    ['that also has the drain taint', [{ key: KUBEVIRT.drainTaint, effect: 'NoSchedule' }], 1],
  ])('for a node %s, with a VM that cannot be migrated', async (_, taints, want) => {
    const spec = { unschedulable: true, taints };
    pushed.listed.set(CORDONED, [{ ...node(), spec } as KubernetesObject]);
    pushed.listed.set(ON_NODE, [FIXED]);
    await start();
    expect(posts).toHaveLength(want);
  });

  test('for a drain, though the VMs of an upgrade are too many to be listed', async () => {
    draining();
    pushed.refused.add(OUTDATED);
    await start();
    expect(new Set(posts.map(({ maintenance }) => maintenance.kind))).toEqual(new Set(['Drain']));
    expect(tracker.maintenanceOf({ kind: 'Upgrade' })).toBeUndefined();
    expect(logged).toContain('watching virtualmachineinstances again: Error: too much');
  });

  test('for a drain once, and again after five seconds while its object is missing', async () => {
    draining();
    await start();
    expect(posts).toMatchObject([{ maintenance: { kind: 'Drain', node: 'node1' } }]);
    await clock.turn(12_000);
    expect(posts).toHaveLength(3);
    expect(new Set(posts.map(({ cause }) => cause)).size).toBe(1);
  });

  test('no more when the object is as it must be and its events are posted', async () => {
    draining();
    await start();
    const written = write(aProgress('Drain'));
    const { status } = written;
    if (status === undefined) throw new Error('nothing to write');
    pushed.push(PROGRESSES, 'MODIFIED', { ...written, status: { ...status, outbox: [] } } as never);
    await clock.turn(60_000);
    expect(posts).toHaveLength(1);
  });

  test('after five seconds while an outbox is not empty', async () => {
    draining();
    await start();
    pushed.push(PROGRESSES, 'MODIFIED', write(aProgress('Drain')));
    await clock.turn(4_000);
    expect(posts).toHaveLength(1);
    await clock.turn(4_000);
    expect(posts).toHaveLength(2);
  });

  test('at most once in two seconds, however often its VMs change', async () => {
    draining();
    await start();
    const before = posts.length;
    for (let change = 0; change < 20; change += 1) {
      const own = {
        ...vmi('node1'),
        metadata: { ...vmi().metadata, name: `vm${String(change)}`, uid: String(change) },
      };
      pushed.push(ON_NODE, 'MODIFIED', own);
      pushed.push(PROGRESSES, 'MODIFIED', { ...aProgress('Drain'), status: undefined } as never);
      await clock.turn(500);
    }
    expect(posts.length - before).toBeLessThanOrEqual(5);
  });
});

test('a drain waits for no VM without an eviction strategy: the drain stops it', async () => {
  const { metadata } = aVmi();
  const free: KubernetesObject = { ...aVmi(), metadata: { ...metadata, name: 'free', uid: 'uid-of-free' } };
  pushed.listed.set(CORDONED, [node()]);
  pushed.listed.set(ON_NODE, [vmi('node1'), free]);
  await start();
  const left = (): number | undefined => tracker.maintenanceOf({ kind: 'Drain', node: 'node1' })?.left.length;
  expect(left()).toBe(1);
  pushed.push(ON_NODE, 'DELETED', vmi('node1'));
  await clock.turn(3_000);
  expect(left()).toBe(0);
});

test('the guard posts about a drain whose VMs have left before its first look, and counts them', async () => {
  pushed.listed.set(CORDONED, [node()]);
  view.setMove(evacuation(inPhase('Succeeded'), createdAt(-9)), NOW);
  await start();
  expect(posts).toMatchObject([{ maintenance: { kind: 'Drain', node: 'node1' } }]);
  expect(write(aProgress('Drain')).status).toMatchObject({ state: 'Running', progress: '1/1' });
});

test('a VM without a migration waits for a slot while others use up the cluster’s', async () => {
  draining();
  const startedAt = seconds(-360);
  pushed.listed.set(PROGRESSES, [aProgress('Drain', aStatus([1], [1], { startedAt, movedAt: startedAt }))]);
  await start();
  const blockedBy = (): unknown => tracker.maintenanceOf({ kind: 'Drain', node: 'node1' })?.blockedBy;
  expect(blockedBy()).toEqual({ Pending: 1 });
  for (const vm of ['1', '2', '3', '4', '5'])
    view.setMigration(aMigration(named(vm), inNamespace('other'), inPhase('Running')));
  await clock.turn(2_000);
  expect(blockedBy()).toEqual({ Limit: 1 });
});

test.each([
  [30, { Stopping: 1 }],
  [3_600, {}],
])('a VM that is deleted for seven minutes, and may take %i s to stop', async (grace, want) => {
  const { spec } = vmi() as VirtualMachineInstance;
  const stops: VirtualMachineInstance = {
    ...beingDeleted(-420)(vmi()),
    spec: { ...spec, terminationGracePeriodSeconds: grace },
  };
  pushed.listed.set(CORDONED, [node()]);
  pushed.listed.set(ON_NODE, [stops]);
  await start();
  expect(tracker.maintenanceOf({ kind: 'Drain', node: 'node1' })?.blockedBy).toEqual(want);
});

test('VMs that are blocked are counted by kind while their object is open, for the metric', async () => {
  draining();
  view.setMigration(evacuation(refusedAt(-99)));
  await start();
  expect(tracker.blocked()).toEqual(new Map());
  pushed.push(PROGRESSES, 'MODIFIED', write(aProgress('Drain')));
  await clock.turn(3_000);
  expect(tracker.blocked()).toEqual(new Map([['Drain', 1]]));
  view.setMigration(evacuation(inPhase('Running')));
  await clock.turn(3_000);
  expect(tracker.blocked()).toEqual(new Map([['Drain', 0]]));
});

test('VMs that migrate to a node are watched while a drain of it is open', async () => {
  draining();
  const arrives = { ...vmi(), metadata: { ...vmi().metadata, name: 'vm1', uid: 'uid-of-vm1' } };
  pushed.listed.set(ARRIVING, [arrives]);
  view.setMigration({ ...aMigration(inPhase('Running')), spec: { vmiName: 'vm1' } });
  await start();
  expect(pushed.requests).not.toContain(`list ${ARRIVING}`);
  const arriving = (): number | undefined =>
    tracker.maintenanceOf({ kind: 'Drain', node: 'node1' })?.arriving;
  expect(arriving()).toBeUndefined();
  pushed.push(PROGRESSES, 'MODIFIED', aProgress('Drain', aStatus([1], [1])));
  await clock.turn(4_000);
  expect(arriving()).toBe(1);
  pushed.push(ARRIVING, 'DELETED', arrives);
  await clock.turn(2_000);
  expect(arriving()).toBe(0);
});

describe('verdicts about refused migrations', () => {
  const reasonNow = (): string | undefined =>
    tracker.maintenanceOf({ kind: 'Drain', node: 'node1' })?.buckets[0]?.vms[0]?.reason;
  const isWatched = (): boolean => pushed.requests.includes(`list ${VERDICTS}`);

  test('are listed and watched while a migration waits, and for ten minutes afterwards', async () => {
    draining();
    view.setMigration(evacuation(refusedAt(0)));
    pushed.listed.set(VERDICTS, [verdict('NoVirtualMachineMigrationResourceQuota', '1')]);
    await start();
    expect(reasonNow()).toBe('NoVirtualMachineMigrationResourceQuota');
    pushed.push(VERDICTS, 'MODIFIED', verdict('NotEnough', ''));
    await clock.turn(2_000);
    expect(reasonNow()).toBe('NotEnough');
    const isListedAgainAfter = async (ms: number): Promise<boolean> => {
      view.setMigration(evacuation(inPhase('Running')));
      await clock.turn(ms);
      pushed.requests.length = 0;
      view.setMigration(evacuation(refusedAt(0)));
      await clock.turn(4_000);
      return isWatched();
    };
    expect(await isListedAgainAfter(590_000)).toBe(false);
    expect(await isListedAgainAfter(604_000)).toBe(true);
  });

  test('that cannot be listed are unknown, and everything else is reported', async () => {
    draining();
    view.setMigration(evacuation(refusedAt(0)));
    pushed.refused.add(VERDICTS);
    await start();
    expect(reasonNow()).toBe('Unexamined');
  });

  test('are kept to the newest 5,000', async () => {
    draining();
    view.setMigration(evacuation(refusedAt(0)));
    await start();
    const pushOthers = async (from: number, count: number): Promise<void> => {
      for (let other = from; other < from + count; other += 1) {
        const event = verdict('BackOff', '');
        const one: KubernetesEvent = {
          ...event,
          metadata: { ...event.metadata, uid: `other-${String(other)}` },
          involvedObject: { uid: String(other) },
        };
        pushed.push(VERDICTS, 'MODIFIED', one);
      }
      await clock.turn(1_000);
    };
    pushed.push(VERDICTS, 'MODIFIED', verdict('NotEnough', ''));
    await pushOthers(0, 4_999);
    pushed.push(VERDICTS, 'MODIFIED', verdict('NotEnough', ''));
    await pushOthers(5_000, 4_999);
    expect(reasonNow()).toBe('NotEnough');
    await pushOthers(10_000, 1);
    expect(reasonNow()).toBe('Unexamined');
  });

  test('are not read while no migration waits', async () => {
    draining();
    view.setMigration(evacuation(inPhase('Running')));
    await start();
    expect(isWatched()).toBe(false);
  });

  test('are not read while nothing is drained or upgraded', async () => {
    view.setMigration(aMigration(refusedAt(0)));
    await start();
    expect(isWatched()).toBe(false);
  });

  test('of a migration that feasibility has not looked at are unknown', async () => {
    draining();
    view.setMigration(evacuation(refusedAt(0)));
    await start();
    expect(reasonNow()).toBe('Unexamined');
  });
});

describe('refusals of migrations themselves', () => {
  const REFUSALS = 'events reason=FailedCreate,involvedObject.kind=VirtualMachineInstance';
  const isWatched = (): boolean => pushed.requests.includes(`list ${REFUSALS}`);
  const refusal = (text: string, resourceVersion: string): KubernetesEvent => ({
    metadata: {
      ...{ namespace: 'tenant', name: `vm0.${resourceVersion}`, uid: resourceVersion, resourceVersion },
      creationTimestamp: seconds(-1),
    },
    involvedObject: { uid: 'uid-of-vm0' },
    lastTimestamp: seconds(-1),
    message: text,
  });
  const open = (reason: string): void => {
    const buckets = [bucket('noMigrationYet', 1, reason)];
    pushed.listed.set(PROGRESSES, [
      aProgress('Drain', aStatus([1], [1], { buckets, startedAt: seconds(-60) })),
    ]);
  };
  const said = (): unknown => {
    const [first] = tracker.maintenanceOf({ kind: 'Drain', node: 'node1' })?.buckets ?? [];
    return [first?.name, first?.vms[0]?.reason, first?.vms[0]?.message];
  };

  test('are listed while an open drain has a VM without a migration, and are named', async () => {
    draining();
    open('NoMigration');
    const why = 'exceeded quota: objects, requested: count/x=1, used: count/x=1, limited: count/x=1';
    const prefix =
      'Error creating a Migration: virtualmachineinstancemigrations.kubevirt.io "a" is forbidden: ';
    pushed.listed.set(REFUSALS, [refusal(`${prefix}${why}`, '7'), refusal('Error creating pod: no', '8')]);
    await start();
    expect(isWatched()).toBe(true);
    expect(said()).toEqual([
      'blocked',
      'MigrationQuotaExceeded',
      `KubeVirt cannot create its migration: ${why}`,
    ]);
  });

  test('that cannot be listed are unknown, and everything else is reported', async () => {
    draining();
    open('NoMigration');
    pushed.refused.add(REFUSALS);
    await start();
    expect(said()).toEqual(['noMigrationYet', 'NoMigration', undefined]);
  });

  test('are not read while each VM has a migration', async () => {
    draining();
    pushed.listed.set(PROGRESSES, [aProgress('Drain', aStatus([1], [1]))]);
    view.setMigration(evacuation(inPhase('Running')));
    await start();
    expect(isWatched()).toBe(false);
  });
});

describe('an answer about a node', () => {
  const leftOn = (name: string): number | undefined =>
    tracker.maintenanceOf({ kind: 'Drain', node: name })?.left.length;

  test('that no drain is about: there is nothing to report', async () => {
    await start();
    expect(leftOn('forged')).toBe(0);
  });

  test('that was cordoned a moment ago: none until its VMs are listed', async () => {
    await start();
    pushed.push(CORDONED, 'MODIFIED', node());
    pushed.listed.set(ON_NODE, [vmi('node1')]);
    await settled();
    expect(leftOn('node1')).toBeUndefined();
    await clock.turn(4_000);
    expect(leftOn('node1')).toBe(1);
  });

  test('whose object is open is none until its VMs are listed: it would be gone', async () => {
    await start();
    pushed.push(PROGRESSES, 'MODIFIED', aProgress('Drain'));
    await settled();
    expect(leftOn('node1')).toBeUndefined();
  });
});

/** KubeVirt's number also counts VMs that wait for a hotplug (KubeVirt's workload-updater.go). */
test('an upgrade settles whatever KubeVirt counts as outdated, once no VM has the label', async () => {
  const status = {
    observedDeploymentID: 'new',
    targetDeploymentID: 'new',
    outdatedVirtualMachineInstanceWorkloads: 1,
  };
  view.kubevirt = {
    metadata: {
      name: 'kubevirt',
      namespace: 'kubevirt',
      uid: 'kubevirt',
      resourceVersion: '1',
      creationTimestamp: '',
    },
    status,
  };
  pushed.listed.set(PROGRESSES, [aProgress('Upgrade', aStatus([], []))]);
  await start();
  const isSettled = (): boolean | undefined => tracker.maintenanceOf({ kind: 'Upgrade' })?.isSettled;
  expect(isSettled()).toBe(false);
  await clock.turn(65_000);
  expect(isSettled()).toBe(true);
});

test('answers to many clients share a look that takes long: it takes a tenth of the time at most', () => {
  let looks = 0;
  const { cluster } = pushed;
  const slow = new MaintenanceTracker({
    ...{ cluster, clock, kubevirtNamespace: 'kubevirt', log: () => undefined },
    view: () => {
      looks += 1;
      clock.ms += 100;
      return view;
    },
    post: () => Promise.resolve(),
  });
  for (let asked = 0; asked < 20; asked += 1) slow.maintenanceOf({ kind: 'Upgrade' });
  expect(looks).toBe(1);
  clock.ms += 1_000;
  slow.maintenanceOf({ kind: 'Upgrade' });
  expect(looks).toBe(2);
});

test('an incomplete view is no answer', () => {
  expect(tracker.maintenanceOf({ kind: 'Upgrade' })).toBeUndefined();
});

test('a status that somebody else wrote ends nothing: the guard goes on', async () => {
  draining();
  let ended = 'no';
  void tracker.run(stopping.signal).then(
    () => (ended = 'resolved'),
    () => (ended = 'rejected'),
  );
  await clock.turn(5_000);
  pushed.push(PROGRESSES, 'MODIFIED', { ...aProgress('Drain'), status: { state: 'Running' } } as never);
  await clock.turn(10_000);
  expect(ended).toBe('no');
  expect(logged).toContainEqual(expect.stringContaining('drains and upgrades are not looked at'));
});
