import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aMigration, aVmi, inPhase, withCondition } from '../../test/support/builders/kubevirt.ts';
import { aLock, aNamespace, lockedBy } from '../../test/support/builders/namespace.ts';
import { annotated, beingDeleted, inNamespace, metadata, named } from '../../test/support/builders/object.ts';
import { aClusterVmmrq, aVmmrq } from '../../test/support/builders/snapshot.ts';
import { systemClock } from '../../functions/runtime/clock.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type {
  ClusterVmmrq,
  KubernetesObject,
  KubeVirt,
  Migration,
  Vmmrq,
} from '../../functions/domain/objects.ts';
import { viewSchema } from '../../functions/domain/view.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { ApiError, describeError } from '../../functions/kubernetes/errors.ts';
import {
  CLUSTER_VMMRQS,
  KUBEVIRTS,
  MIGRATIONS,
  MTQS,
  VMIS,
  VMMRQS,
  WEBHOOK_CONFIGURATIONS,
} from '../../functions/kubernetes/resources.ts';
import { ClusterView } from './cluster-view.ts';
import { Watches } from './watches.ts';

let cluster: WatchedCluster;
let view: ClusterView;
let watches: Watches;
let ended: string[];
let logged: string[];
let readies: number;
/** Number of cluster-wide VMMRQs that were new or changed. */
let changed: number;
/** Number of changes of KubeVirt's limits. */
let limits: number;
let stop: AbortController;
let running: Promise<void>;

const advance = (ms = 0): Promise<void> => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  jest.useFakeTimers();
  cluster = new WatchedCluster();
  view = new ClusterView(cluster.asCluster());
  ended = [];
  logged = [];
  readies = 0;
  changed = 0;
  limits = 0;
  stop = new AbortController();
  watches = new Watches(view, {
    cluster: cluster.asCluster(),
    clock: systemClock,
    log: (_level, message) => void logged.push(message),
    kubevirtNamespace: 'kubevirt',
    onEnded: (uid) => ended.push(uid),
    onRefused: () => undefined,
    onVmmrq: () => undefined,
    onClusterVmmrq: () => void (changed += 1),
    onLimits: () => void (limits += 1),
    onReady: () => void (readies += 1),
  });
});

afterEach(async () => {
  stop.abort();
  await running;
  jest.useRealTimers();
});

const atGeneration = (generation: number): ClusterVmmrq => {
  const vmmrq = aClusterVmmrq();
  return { ...vmmrq, metadata: { ...vmmrq.metadata, generation } };
};

const start = (): void => void (running = watches.run(stop.signal));

const kubevirt = (migrations: object, namespace = 'kubevirt'): KubeVirt => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'KubeVirt',
  metadata: { ...metadata('kubevirt'), namespace },
  spec: { configuration: { migrations, additionalGuestMemoryOverheadRatio: '1.5' } },
});

const withStatus = (conditions: Readonly<Record<string, 'True' | 'False'>>): Vmmrq =>
  aVmmrq((vmmrq) => ({
    ...vmmrq,
    status: { conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) },
  }));

const clusterScoped = (kind: string, name: string): KubernetesObject => {
  const { namespace: _, ...own } = metadata(name);
  return { apiVersion: 'v1', kind, metadata: own };
};

describe('the view', () => {
  test('is complete once every kind has been listed, also kinds that are not installed', async () => {
    const missing = new ApiError('list', { code: 404, reason: 'NotFound' }, new Date());
    cluster.failLists(MTQS, missing);
    cluster.failLists(VMMRQS, new ApiError('list', { code: 403, reason: 'Forbidden' }, new Date()));
    start();
    await advance();
    expect([watches.isReady, readies]).toEqual([false, 0]);
    cluster.restoreWatch(VMMRQS);
    await advance(1_000);
    expect([watches.isReady, readies]).toEqual([true, 1]);
  });

  test('matches its schema, with KubeVirt’s defaults where no KubeVirt exists', async () => {
    start();
    await advance();
    expect(viewSchema.parse(view.viewOf('tenant'))).toEqual({
      left: { cluster: 5, node: 2, nodes: {} },
      limits: { cluster: 5, node: 2 },
      others: false,
      served: false,
      clusterWide: false,
      migrations: [],
      open: { queued: [], slotless: [], status: false },
      kubevirt: { overheadRatio: '1', autoLimits: expect.any(Boolean), drainTaint: 'kubevirt.io/drain' },
    });
  });

  test('takes KubeVirt’s configuration from KubeVirt’s namespace, and follows changes', async () => {
    cluster.put(KUBEVIRTS, kubevirt({ parallelMigrationsPerCluster: 99 }, 'elsewhere'));
    cluster.put(
      KUBEVIRTS,
      kubevirt({
        parallelMigrationsPerCluster: 20,
        parallelOutboundMigrationsPerNode: 7,
        nodeDrainTaintKey: 'example.com/drain',
      }),
    );
    start();
    await advance();
    expect(view.viewOf('tenant')).toMatchObject({
      limits: { cluster: 20, node: 7 },
      kubevirt: { overheadRatio: '1.5', drainTaint: 'example.com/drain' },
    });
    cluster.put(KUBEVIRTS, kubevirt({ parallelMigrationsPerCluster: 3 }));
    await advance();
    expect(view.viewOf('tenant').limits).toEqual({ cluster: 3, node: 2 });
    // KubeVirt's change counts once for each pair of limits, and not for its other fields.
    cluster.put(KUBEVIRTS, kubevirt({ parallelMigrationsPerCluster: 3, nodeDrainTaintKey: 'other' }));
    await advance();
    expect(limits).toBe(2);
  });

  describe('keeps of the migrations that have ended', () => {
    const evacuated = annotated(KUBEVIRT.evacuation, 'node1');
    const moved = (name: string, secondsAgo: number): Migration => {
      const at = new Date(Date.now() - secondsAgo * 1_000).toISOString();
      const ended = aMigration(named(name), inPhase('Succeeded'), evacuated);
      const times = [{ phase: 'Succeeded', phaseTransitionTimestamp: at }];
      return { ...ended, status: { ...ended.status, phaseTransitionTimestamps: times } };
    };
    const kept = (): string[] => [...view.moves.values()].map(({ metadata: { name } }) => name);

    test('those that have moved a VM for a drain or an upgrade in the last ten minutes', async () => {
      cluster.put(MIGRATIONS, moved('recent', 590));
      cluster.put(MIGRATIONS, moved('old', 601));
      cluster.put(MIGRATIONS, aMigration(named('user'), inPhase('Succeeded')));
      cluster.put(MIGRATIONS, aMigration(named('now'), inPhase('Running'), evacuated));
      start();
      await advance();
      expect(kept()).toEqual(['recent']);
      cluster.put(MIGRATIONS, moved('now', 0));
      await advance();
      expect([kept(), ended]).toEqual([['recent', 'now'], ['uid-of-now']]);
      await advance(20_000);
      cluster.put(MIGRATIONS, moved('next', 0));
      await advance();
      expect(kept()).toEqual(['now', 'next']);
      cluster.remove(MIGRATIONS, moved('now', 0));
      await advance();
      expect(kept()).toEqual(['next']);
      expect(view.migrations.size).toBe(0);
      cluster.break(MIGRATIONS, new Error('away'));
      cluster.remove(MIGRATIONS, moved('next', 0));
      cluster.forget();
      cluster.restoreWatch(MIGRATIONS);
      await advance(10_000);
      expect(kept()).toEqual([]);
    });
  });

  describe('with more migrations than the limit of a node', () => {
    const lookedUp = (): string[] => cluster.asked.filter((asked) => asked.startsWith('get'));

    test('counts each by its source node, and reads the VMI once where the status has no node', async () => {
      cluster.put(VMIS, aVmi('vm0', 'node7'));
      for (const name of ['mig0', 'mig1', 'mig2']) {
        cluster.put(MIGRATIONS, aMigration(named(name), inPhase('Running')));
      }
      start();
      await advance();
      expect(view.viewOf('other').left).toEqual({ cluster: 2, node: 2, nodes: { node7: 0 } });
      cluster.put(MIGRATIONS, inPhase('TargetReady')(aMigration()));
      await advance();
      expect(lookedUp()).toHaveLength(3);
    });

    test('reads twenty VMIs at a time, however many migrations a list brings', async () => {
      let [open, most, all] = [0, 0, 0];
      const get = async (): Promise<unknown> => {
        [open, all] = [open + 1, all + 1];
        most = Math.max(most, open);
        await new Promise((resolve) => setTimeout(resolve, 10));
        open -= 1;
        return { object: aVmi() };
      };
      const one = new ClusterView({ get } as unknown as Cluster);
      for (let at = 0; at < 50; at += 1)
        one.setMigration(aMigration(named(`mig${String(at)}`), inPhase('Running')));
      await advance(100);
      expect({ open, most, all }).toEqual({ open: 0, most: 20, all: 50 });
    });

    test('looks at a new one only, and at all where KubeVirt’s limit has changed', async () => {
      for (const name of ['mig0', 'mig1', 'mig2'])
        cluster.put(MIGRATIONS, aMigration(named(name), inPhase('Running')));
      start();
      await advance();
      const looks = jest.spyOn(view.migrations, 'values');
      cluster.put(MIGRATIONS, aMigration(named('mig3'), inPhase('Running')));
      await advance();
      expect(looks).not.toHaveBeenCalled();
      expect(lookedUp()).toHaveLength(4);
      cluster.put(KUBEVIRTS, kubevirt({ parallelOutboundMigrationsPerNode: 3 }));
      cluster.put(MIGRATIONS, aMigration(named('mig4'), inPhase('Running')));
      await advance();
      expect(looks).toHaveBeenCalledTimes(1);
    });

    test('reads no VMI with fewer migrations, because no node can be full', async () => {
      cluster.put(MIGRATIONS, inPhase('Running')(aMigration()));
      cluster.put(MIGRATIONS, aMigration(named('mig1')));
      start();
      await advance();
      expect(view.viewOf('other').left).toEqual({ cluster: 4, node: 2, nodes: {} });
      expect(lookedUp()).toEqual([]);
    });
  });

  test.each<[string, () => void, object]>([
    [
      'no migration waits, and no VMMRQ exists',
      (): void => undefined,
      { served: false, migrations: [], open: { queued: [], status: false } },
    ],
    [
      'a Pending migration without a condition',
      (): void => cluster.put(MIGRATIONS, aMigration(withCondition())),
      { migrations: [{ metadata: { uid: 'uid-of-mig0' } }] },
    ],
    [
      'a migration that a quota refuses',
      (): void => cluster.put(MIGRATIONS, aMigration()),
      { migrations: [{ metadata: { uid: 'uid-of-mig0' } }], open: { queued: [], status: false } },
    ],
    [
      'a refused migration that no slot is left for',
      (): void => {
        cluster.put(KUBEVIRTS, kubevirt({ parallelMigrationsPerCluster: 1 }));
        cluster.put(MIGRATIONS, inPhase('Running')(aMigration(named('other'), inNamespace('other'))));
        cluster.put(MIGRATIONS, aMigration());
        cluster.put(MIGRATIONS, aMigration(named('unrefused'), withCondition()));
      },
      {
        migrations: [{ metadata: { uid: 'uid-of-mig0' } }, { metadata: { uid: 'uid-of-unrefused' } }],
        open: { queued: ['uid-of-mig0'] },
      },
    ],
    [
      'a running migration',
      (): void => cluster.put(MIGRATIONS, inPhase('Running')(aMigration())),
      { migrations: [{ status: { phase: 'Running' } }] },
    ],
    [
      'a migration of another namespace',
      (): void => cluster.put(MIGRATIONS, aMigration(inNamespace('other'))),
      { migrations: [] },
    ],
    [
      'a VMMRQ without a status',
      (): void => cluster.put(VMMRQS, aVmmrq()),
      { served: true, open: { status: true } },
    ],
    [
      'a VMMRQ with only the condition ready',
      (): void => cluster.put(VMMRQS, withStatus({ Ready: 'True', Blocking: 'False' })),
      { served: true, open: { status: false } },
    ],
    [
      'a VMMRQ with the condition blocking',
      (): void => cluster.put(VMMRQS, withStatus({ Ready: 'True', Blocking: 'True' })),
      { served: true, open: { status: true } },
    ],
  ])('lists the open work of the namespace: %s', async (_, put, want) => {
    put();
    start();
    await advance();
    expect(view.viewOf('tenant')).toMatchObject(want);
  });

  test('counts locks of other namespaces, and forgets them when they are gone', async () => {
    cluster.put(MIGRATIONS, aMigration());
    start();
    await advance();
    view.setLock(aNamespace(lockedBy(aLock())));
    expect(view.viewOf('other')).toMatchObject({ left: { cluster: 4 }, others: true });
    expect(view.viewOf('tenant')).toMatchObject({ left: { cluster: 5 }, others: false });
    view.setLock(aNamespace());
    expect(view.viewOf('other').left.cluster).toBe(5);
  });

  test('knows which namespaces have a VMMRQ', async () => {
    cluster.put(VMMRQS, aVmmrq());
    start();
    await advance();
    expect(view.state().served).toEqual(new Set(['tenant']));
    cluster.remove(VMMRQS, aVmmrq());
    await advance();
    expect(view.state().served).toEqual(new Set());
  });

  test('serves every namespace while a cluster-wide VMMRQ exists', async () => {
    cluster.put(CLUSTER_VMMRQS, atGeneration(1));
    start();
    await advance();
    expect(view.viewOf('any')).toMatchObject({ served: true, clusterWide: true });
    expect(changed).toBe(0);
    cluster.put(CLUSTER_VMMRQS, atGeneration(2));
    await advance();
    expect(changed).toBe(1);
    const reported: ClusterVmmrq = { ...atGeneration(2), status: { given: [] } };
    cluster.put(CLUSTER_VMMRQS, reported);
    await advance();
    expect(changed).toBe(1);
    cluster.remove(CLUSTER_VMMRQS, aClusterVmmrq());
    await advance();
    expect(view.viewOf('any')).toMatchObject({ served: false, clusterWide: false });
  });

  test('has the migrations of the namespace, up to a hundred', async () => {
    for (let index = 0; index < 100; index += 1)
      cluster.put(MIGRATIONS, aMigration(named(`mig${String(index)}`)));
    start();
    await advance();
    expect(view.viewOf('tenant').migrations).toHaveLength(100);
    cluster.put(MIGRATIONS, aMigration(named('one-more')));
    await advance();
    expect(view.viewOf('tenant')).not.toHaveProperty('migrations');
  });

  test('names no other namespace', async () => {
    cluster.put(MIGRATIONS, inPhase('Running')(aMigration(inNamespace('secret'))));
    cluster.put(MIGRATIONS, aMigration(named('mig1'), inNamespace('secret')));
    start();
    await advance();
    view.setLock(aNamespace(named('secret'), lockedBy(aLock())));
    expect(JSON.stringify(view.viewOf('tenant'))).not.toContain('secret');
  });
});

describe('a migration ends or changes', () => {
  beforeEach(async () => {
    cluster.put(MIGRATIONS, aMigration());
    start();
    await advance();
  });

  test.each<[string, () => void]>([
    ['it succeeded', (): void => cluster.put(MIGRATIONS, inPhase('Succeeded')(aMigration()))],
    ['it failed', (): void => cluster.put(MIGRATIONS, inPhase('Failed')(aMigration()))],
    ['it was deleted', (): void => cluster.remove(MIGRATIONS, aMigration())],
    [
      'it was deleted while the watch was broken',
      (): void => {
        cluster.break(MIGRATIONS, new Error('away'));
        cluster.remove(MIGRATIONS, aMigration());
        cluster.forget();
        cluster.restoreWatch(MIGRATIONS);
      },
    ],
  ])('%s: the view drops it, and reports it once', async (_, change) => {
    change();
    await advance(2_000);
    expect(ended).toEqual(['uid-of-mig0']);
    expect(view.state().migrations).toEqual([]);
  });

  test('it is cancelled, and its finalizer keeps it: the watch reports it, and the view keeps it', async () => {
    cluster.put(MIGRATIONS, aMigration(beingDeleted()));
    await advance();
    expect(ended).toEqual(['uid-of-mig0']);
    expect(view.state().migrations).toHaveLength(1);
  });

  const patched = (times: number, ...changes: Parameters<typeof aMigration>): void => {
    for (let time = 0; time < times; time += 1)
      cluster.put(MIGRATIONS, aMigration(annotated('patch', String(time)), ...changes));
  };
  const relist = (change: () => void): void => {
    cluster.break(MIGRATIONS, new Error('away'));
    change();
    cluster.forget();
    cluster.restoreWatch(MIGRATIONS);
  };

  test('it is cancelled, and patched several times: the watch reports it once, and once more when it is gone', async () => {
    patched(5, beingDeleted());
    await advance();
    expect(ended).toEqual(['uid-of-mig0']);
    cluster.remove(MIGRATIONS, aMigration());
    await advance();
    expect(ended).toEqual(['uid-of-mig0', 'uid-of-mig0']);
  });

  test('it is cancelled while the watch is broken: the watch reports it once', async () => {
    relist(() => cluster.put(MIGRATIONS, aMigration(beingDeleted())));
    await advance(2_000);
    patched(5, beingDeleted());
    await advance();
    expect(ended).toEqual(['uid-of-mig0']);
  });

  test('it has ended, and is patched and deleted later: the watch reports it once', async () => {
    patched(5, inPhase('Succeeded'));
    cluster.remove(MIGRATIONS, aMigration());
    await advance();
    expect(ended).toEqual(['uid-of-mig0']);
  });

  test('another one was created and cancelled while the watch was broken: the watch reports it once', async () => {
    relist(() => cluster.put(MIGRATIONS, aMigration(named('mig1'), beingDeleted())));
    await advance(2_000);
    expect(ended).toEqual(['uid-of-mig1']);
  });

  test('it only changes: the watch does not report it', async () => {
    cluster.put(MIGRATIONS, inPhase('Running')(aMigration()));
    await advance();
    expect(ended).toEqual([]);
    expect(view.state().migrations).toHaveLength(1);
  });
});

describe('the incumbent', () => {
  const THEIRS = 'ValidatingWebhookConfiguration';
  const forbidden = new ApiError(
    'list',
    { code: 403, reason: 'Forbidden', message: 'no rights' },
    new Date(),
  );
  const missing = new ApiError('list', { code: 404, reason: 'NotFound' }, new Date());

  test.each<[string, () => void, RegExp | undefined]>([
    ['is not installed', (): void => undefined, undefined],
    ['has no CRD in this cluster', (): void => cluster.failLists(MTQS, missing), undefined],
    ['is installed', (): void => cluster.put(MTQS, clusterScoped('MTQ', 'mtq')), /MTQ object mtq/],
    [
      'holds this namespace',
      (): void => cluster.put(WEBHOOK_CONFIGURATIONS, clusterScoped(THEIRS, 'lock.tenant.com')),
      /lock\.tenant\.com/,
    ],
    [
      'holds another namespace',
      (): void => cluster.put(WEBHOOK_CONFIGURATIONS, clusterScoped(THEIRS, 'lock.other.com')),
      undefined,
    ],
    [
      'has its record in a VMMRQ of this namespace',
      (): void => {
        const originalBlockingResourceQuotas = [{ name: 'quota', spec: { hard: { pods: '1' } } }];
        cluster.put(
          VMMRQS,
          aVmmrq((one) => ({ ...one, status: { originalBlockingResourceQuotas } })),
        );
      },
      /record/,
    ],
  ])('%s', async (_, put, want) => {
    put();
    start();
    await advance();
    const { incumbent } = view.viewOf('tenant');
    if (want === undefined) {
      expect(incumbent).toBeUndefined();
      expect(watches.incumbentFor('tenant')).toEqual({ kind: 'absent' });
    } else {
      expect(incumbent).toMatch(want);
      expect(watches.incumbentFor('tenant')).toEqual({ kind: 'present', message: incumbent });
    }
  });

  test('is unknown before its kinds have been listed', async () => {
    expect(watches.incumbentFor('tenant')).toEqual({
      kind: 'unknown',
      why: 'the guard has not listed mtqs, validatingwebhookconfigurations yet, so it does not know whether kubevirt/managed-tenant-quota is installed',
    });
    start();
    await advance();
    expect(watches.incumbentFor('tenant')).toEqual({ kind: 'absent' });
  });

  test.each([MTQS, WEBHOOK_CONFIGURATIONS])(
    'is unknown while the guard may not list $plural',
    async (type) => {
      cluster.failLists(type, forbidden);
      start();
      await advance(60_000);
      expect(watches.incumbentFor('tenant')).toEqual({
        kind: 'unknown',
        why:
          `the guard has not listed ${type.plural} (${describeError(forbidden)}) yet, ` +
          'so it does not know whether kubevirt/managed-tenant-quota is installed',
      });
      expect(logged).toContain(`watching ${type.plural} again: ${describeError(forbidden)}`);
      cluster.restoreWatch(type);
      await advance(10_000);
      expect(watches.incumbentFor('tenant')).toEqual({ kind: 'absent' });
    },
  );

  test('is known although the guard may not list other kinds', async () => {
    cluster.failLists(VMMRQS, forbidden);
    start();
    await advance();
    expect([watches.isReady, watches.incumbentFor('tenant')]).toEqual([false, { kind: 'absent' }]);
  });

  test('is known from one of its kinds', async () => {
    cluster.failLists(MTQS, forbidden);
    cluster.put(WEBHOOK_CONFIGURATIONS, clusterScoped(THEIRS, 'lock.tenant.com'));
    start();
    await advance();
    expect(watches.incumbentFor('tenant')).toMatchObject({ kind: 'present' });
    expect(watches.incumbentFor('other')).toMatchObject({ kind: 'unknown' });
  });
});

test('the watch reports a migration once that was cancelled before the guard started', async () => {
  cluster.put(MIGRATIONS, aMigration(beingDeleted()));
  start();
  await advance();
  cluster.put(MIGRATIONS, aMigration(beingDeleted(), annotated('patch', '1')));
  await advance();
  expect(ended).toEqual(['uid-of-mig0']);
});
