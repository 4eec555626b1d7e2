import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { SynchronizationNetwork } from '../../cluster/kubevirt/decentralized/network.ts';
import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import { Transfers } from '../../cluster/kubevirt/decentralized/transfers.ts';
import { renderLauncherPod } from '../../cluster/kubevirt/objects/launcher-pod.ts';
import { FULL_KUBEVIRTS } from '../../cluster/kubevirt/objects/objects.ts';
import { assembleKubeVirt, type KubeVirtOptions } from '../../cluster/kubevirt/start.ts';
import { newWorld } from '../../cluster/kubevirt/world.ts';
import { newAuthority } from '../../cluster/serving-certificate.ts';
import type { Version } from '../../support/kubevirt/history.ts';
import { PAIR_KINDS, type KubeVirtPair, type PairSide } from '../../support/kubevirt/pair.ts';
import { clockOf, Stoppable } from './kubevirt.ts';
import { ApiServer } from '../model/api-server.ts';
import { Cache as Informer } from '../model/cache.ts';
import { QuotaController } from '../model/quota-controller.ts';
import { selects } from '../model/selectors.ts';
import { Store, type Change } from '../model/store.ts';
import { PacedQuotas } from './paced-quotas.ts';
import { Random } from '../engine/random.ts';
import { drained, Schedule, type Pacing } from '../engine/schedule.ts';
import { START, Time } from '../engine/time.ts';

/** In virtual time: two clusters, each with a KubeVirt, that reach each other. */
export type SimulatedPair = KubeVirtPair & {
  /** Advances the virtual time while this runs; nothing happens at other times. Rejects where nothing happens any more. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** What happens by itself meanwhile. */
  pass(ms: number): Promise<void>;
  readonly schedule: Schedule;
  readonly stores: Readonly<Record<Side, Store>>;
};

export interface SimulatedPairOptions {
  readonly seed?: number;
  /** How requests and messages are delayed; in the order of arrival when left out. */
  readonly pacing?: Pacing;
  readonly timings?: KubeVirtOptions['timings'];
  readonly keepsSides?: boolean;
  /** virt-api reviews what virt-controller writes; it does not when left out. */
  readonly hasVirtApi?: boolean;
}

const AT_ONCE: Pacing = { suspendRate: 0, longDelayRate: 0, maxDelayMs: 0 };
const MAX_LAG_MS = 6;
/** Virtual time within which all work of a run ends. */
const WITHIN_MS = 120_000;

/** Both run from the beginning, and do not trust each other yet (`exchangeTrust`). */
export async function simulatePair(options: SimulatedPairOptions = {}): Promise<SimulatedPair> {
  const random = new Random(options.seed ?? 1);
  const time = new Time();
  const schedule = new Schedule({ time, random, pacing: options.pacing ?? AT_ONCE });
  schedule.isCalm = options.pacing === undefined;
  const transfers = new Transfers({ keepsSides: options.keepsSides });
  const network = new SynchronizationNetwork(
    () => new Promise((resolve) => schedule.later('network', random.below(4), resolve)),
  );
  const parts = { random, schedule, transfers, network, ...options };
  const source = simulateSide('source', parts);
  const target = simulateSide('target', parts);
  const moved: (() => void)[] = [];
  let awaited = '';
  const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
    awaited = what;
    while (!(await holds())) {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      moved.push(() => resolve(undefined));
      await promise;
    }
  };
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    const latest = time.now + WITHIN_MS;
    const progress = { isOver: false };
    const result = work().finally(() => {
      progress.isOver = true;
    });
    while (!(await isOverAfterDraining(progress))) {
      const isMoving = (await schedule.step()) || (await schedule.skip(latest));
      for (const resolve of moved.splice(0)) resolve();
      if (!isMoving) throw new Error(`not within ${String(WITHIN_MS / 1000)} s: ${awaited}`);
    }
    return result;
  };
  const pass = async (ms: number): Promise<void> => {
    const latest = time.now + ms;
    while (time.now < latest && ((await schedule.step()) || (await schedule.skip(latest))));
  };
  await run(() => Promise.all([source.start(), target.start()]));
  return {
    source: source.side,
    target: target.side,
    until,
    run,
    pass,
    network,
    transfers,
    schedule,
    stores: { source: source.store, target: target.store },
  };
}

/** What can go on without a step has gone on. */
async function isOverAfterDraining(progress: { readonly isOver: boolean }): Promise<boolean> {
  await drained();
  return progress.isOver;
}

interface Parts extends SimulatedPairOptions {
  readonly random: Random;
  readonly schedule: Schedule;
  readonly transfers: Transfers;
  readonly network: SynchronizationNetwork;
}

interface SimulatedSide {
  readonly side: PairSide;
  readonly store: Store;
  start(): Promise<void>;
}

function simulateSide(name: Side, parts: Parts): SimulatedSide {
  const { random, schedule, transfers, network, timings, hasVirtApi = false } = parts;
  let uids = 0;
  const { time } = schedule;
  // As long as real ones, so that one is never a part of another.
  const newUid = (): string =>
    `${name === 'source' ? 'a' : 'b'}0000000-0000-4000-8000-${String((uids += 1)).padStart(12, '0')}`;
  const store = new Store({ newUid, now: () => time.now });
  const server = new ApiServer({
    name,
    store,
    pace: ({ phase, user }) =>
      new Promise((resolve) => schedule.suspend(`${phase} of ${user}`, () => resolve(undefined))),
    now: () => time.now,
    admission: ({ uid }) => Promise.resolve({ uid, allowed: true }),
    hasPolicies: false,
  });
  // Pods of both clusters have different names then.
  if (name === 'target') for (let used = 0; used < 100; used += 1) store.newName('');
  const namespace = `tenant-${name}`;
  for (const one of ['kubevirt', namespace]) store.put(namespaceOf(one, newUid()));
  const address = `10.8.0.${name === 'source' ? '1' : '2'}:9185`;
  store.put(kubevirtAt(address, newUid()));
  server.caches.namespaces.catchUpAll();
  store.onChange(() => {
    server.caches.namespaces.catchUpAll();
    server.caches.resourceQuotas.catchUpAll();
  });
  const controller = new QuotaController({ store, server });
  new PacedQuotas({ controller, store, schedule, random, maxMs: 20 }).start();
  const world = newWorld({
    cluster: server.as('system:serviceaccount:kubevirt:kubevirt-controller'),
    clock: clockOf(schedule, new Stoppable()),
    log: () => undefined,
    hasVirtApi,
    // The model has no bindings: a pod is on its node from the beginning.
    renderLauncher: (of) => {
      const pod = renderLauncherPod(of);
      return {
        ...pod,
        spec: { ...pod.spec, nodeName: `${name}-node${of.migration === undefined ? '1' : '2'}` },
      };
    },
  });
  const acrossClusters = { network, transfers, address, authority: authorityOf(name) };
  const assembly = assembleKubeVirt(world, {
    nodes: [],
    acrossClusters,
    ...(timings === undefined ? {} : { timings }),
  });
  for (const cache of assembly.caches) {
    const { kind } = cache.type;
    const isWanted = selects(kind, cache.where);
    const see = (change: Pick<Change, 'type' | 'object'>): void => {
      if (isWanted(change.object)) cache.see(change);
    };
    for (const object of store.list(kind)) see({ type: 'ADDED', object });
    const informer = new Informer(store, kind, see);
    store.onChange((change) => {
      if (change.kind === kind)
        schedule.later('kubevirt', random.below(MAX_LAG_MS), () => informer.catchUp());
    });
  }
  return {
    store,
    start: () => assembly.begin(),
    side: {
      admin: server.as('admin'),
      namespace,
      address,
      versions: versionsIn(store, namespace),
      restartSynchronization: () => assembly.restartSynchronization(),
      stopSynchronization: () => assembly.stopSynchronization(),
    },
  };
}

const AUTHORITIES: Partial<Record<Side, string>> = {};

/** All pairs have the same: a new key takes a second. */
const authorityOf = (side: Side): string => (AUTHORITIES[side] ??= newAuthority());

const KINDS = PAIR_KINDS.map(({ kind }) => kind);

function versionsIn(store: Store, namespace: string): readonly Version[] {
  const versions: Version[] = [];
  store.onChange(({ type: watch, kind, object }) => {
    if (KINDS.includes(kind) && object.metadata.namespace === namespace)
      versions.push({ kind, watch, object });
  });
  return versions;
}

const CREATED = new Date(START).toISOString();

const namespaceOf = (name: string, uid: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: NAMESPACES.kind,
  metadata: { name, uid, resourceVersion: '', creationTimestamp: CREATED },
  ...{ status: { phase: 'Active' } },
});

const kubevirtAt = (address: string, uid: string): KubernetesObject => {
  const { apiVersion, kind } = FULL_KUBEVIRTS;
  const metadata = {
    namespace: 'kubevirt',
    name: 'kubevirt',
    uid,
    resourceVersion: '',
    creationTimestamp: CREATED,
  };
  return { apiVersion, kind, metadata, ...{ spec: {}, status: { synchronizationAddresses: [address] } } };
};
