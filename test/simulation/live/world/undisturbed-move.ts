import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import type { PlanMigration } from '../../../../functions/domain/live/forklift.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import { referenceEventOf } from '../../../../functions/eventing/live-events.ts';
import type { Handle } from '../../../../functions/host/function.ts';
import type { ApiServer, ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import {
  HOOKS,
  JOBS,
  LIVE_WATCHER,
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  SECRETS,
  STORAGE_CLASSES,
  STORAGE_MAPS,
} from '../../../../functions/kubernetes/live-resources.ts';
import { KUBEVIRTS } from '../../../../functions/kubernetes/resources.ts';
import type { LiveContext } from '../../../../functions/live/context.ts';
import { newLiveFunction } from '../../../../functions/live/function.ts';
import { identifyCluster, readProvider } from '../../../../functions/live/read/providers.ts';
import { LiveWatcher } from '../../../../functions/live/watcher/live-watcher.ts';
import { TOM } from '../../../support/builders/live.ts';
import { clockOf } from '../../world/kubevirt.ts';
import { simulatePair } from '../../world/two-kubevirts.ts';
import type { Change } from '../../model/store.ts';
import { Clusters, type Server } from './clusters.ts';
import { Hub, MIGRATION_AT, sideAt } from './hub.ts';
import { contextOf } from './reach.ts';

/** One of our processes. */
type Process = 'live' | 'watcher';

export interface UndisturbedMove {
  /** Ours, as `live hub GET migrations`. */
  readonly requests: readonly string[];
  /** Of `live`, by what each was for, as `update Migration`. */
  readonly runs: readonly string[];
  /** All of that with its time, and the log. */
  readonly trace: readonly string[];
  /** Of the Migration as it ended. */
  readonly migration: PlanMigration | undefined;
  /** Milliseconds from its creation to its end. */
  readonly ms: number;
}

/** Milliseconds of a request, of an event's way, and of the start of the watcher, about as `npm run bench -- --moves` has them. */
const REQUEST_MS = 2;
const HOP_MS = 3;
const WATCHER_MS = 300;

/** What the component's ApiServerSource watches (config/components/live-migration/source.yaml). */
const SOURCES: readonly ResourceType[] = [
  ...[PLANS, PLAN_MIGRATIONS, PROVIDERS, STORAGE_MAPS, NETWORK_MAPS, HOOKS, JOBS],
];
const CHANGES = { ADDED: 'add', MODIFIED: 'update', DELETED: 'delete' } as const;
const VERBS: Readonly<Record<string, string>> = {
  ...{ get: 'GET', list: 'LIST', create: 'POST', replace: 'PUT', patch: 'PATCH', delete: 'DELETE' },
  ...{ watch: 'WATCH', version: 'GET version' },
};

/** Moves one VM that nobody disturbs, from the creation of its Migration, with all events as their sources send them. */
export async function moveUndisturbed(): Promise<UndisturbedMove> {
  const pair = await simulatePair({ timings: { runMs: 100, migrationMs: 500 } });
  const clusters = new Clusters(pair, 'Always');
  await pair.run(() => clusters.begin());
  return new Move(clusters, new Hub(clusters)).result();
}

class Move {
  readonly #clusters: Clusters;
  readonly #hub: Hub;
  readonly #handle: Handle;
  readonly #requests: string[] = [];
  readonly #runs: string[] = [];
  readonly #trace: string[] = [];
  readonly #over = new AbortController();
  #hasWatcher = false;
  #underWay = 0;

  constructor(clusters: Clusters, hub: Hub) {
    this.#clusters = clusters;
    this.#hub = hub;
    this.#handle = newLiveFunction(this.#contextOf('live'));
  }

  async result(): Promise<UndisturbedMove> {
    const { pair } = this.#clusters;
    const { store, admin } = this.#hub;
    const spec = await pair.run(() => this.#withoutRun());
    await pair.run(() => this.#prepareClusters());
    store.onChange((change) => this.#changed(change));
    await pair.run(async () => {
      await this.#handle({}, sourceEvent({ type: 'ADDED', object: this.#plan() }, PLANS));
    });
    this.#requests.length = 0;
    const began = this.#clusters.now;
    const annotations = { [LIVE_ANNOTATION.requester]: TOM };
    await admin.create(PLAN_MIGRATIONS, { metadata: { ...MIGRATION_AT, annotations }, spec });
    await pair.run(() =>
      pair.until('the run is over', () => this.#hub.end !== undefined && this.#hub.isReleased),
    );
    const ms = this.#clusters.now - began;
    await pair.run(() => pair.until('it is quiet', () => this.#underWay === 0));
    this.#over.abort();
    return {
      ...{ requests: this.#requests, runs: this.#runs, trace: this.#trace, ms },
      migration: this.#hub.migration,
    };
  }

  #plan(): KubernetesObject {
    const { plan } = this.#hub;
    if (plan === undefined) throw new Error('there is no plan');
    return plan;
  }

  /** Takes the run off that the hub begins with; resolves with what its Migration says. */
  async #withoutRun(): Promise<PlanMigration['spec']> {
    const { store, admin, migration } = this.#hub;
    if (migration === undefined) throw new Error('there is no run');
    for (const { kind } of [PLAN_MIGRATIONS, PLANS, PROVIDERS, SECRETS])
      for (const { metadata, ...object } of store.list<KubernetesObject & { status?: unknown }>(kind)) {
        const { finalizers: _finalizers, ...free } = metadata;
        const { status: _status, ...rest } = object;
        store.put({ ...rest, metadata: free });
      }
    await admin.delete(PLAN_MIGRATIONS, MIGRATION_AT);
    return migration.spec;
  }

  /** What a plan needs to be Ready; and the watcher's Deployment. */
  async #prepareClusters(): Promise<void> {
    const { pair } = this.#clusters;
    const kubevirt = { namespace: 'kubevirt', name: 'kubevirt' };
    const developerConfiguration = { featureGates: ['DecentralizedLiveMigration'] };
    const spec = { configuration: { developerConfiguration } };
    const status = { observedKubeVirtVersion: 'v1.9.0' };
    for (const { admin } of [pair.source, pair.target]) {
      await admin.patch(KUBEVIRTS, kubevirt, { merge: { spec } });
      await admin.patch(KUBEVIRTS, kubevirt, { merge: { status }, subresource: 'status' });
      for (const name of ['fast', 'gold']) await admin.create(STORAGE_CLASSES, { metadata: { name } });
    }
    this.#scale(0);
  }

  #scale(replicas: number): void {
    const { apiVersion, kind } = LIVE_WATCHER.type;
    const metadata = {
      ...LIVE_WATCHER.at,
      uid: 'uid-of-watcher',
      resourceVersion: '',
      creationTimestamp: '',
    };
    const deployment: KubernetesObject = { apiVersion, kind, metadata };
    this.#hub.store.put({ ...deployment, ...{ spec: { replicas } } });
  }

  /** The ApiServerSource. */
  #changed(change: Change): void {
    const type = SOURCES.find(({ kind }) => kind === change.kind);
    if (type !== undefined) this.#deliver(`${CHANGES[change.type]} ${type.kind}`, sourceEvent(change, type));
  }

  /** The Broker. */
  #deliver(what: string, event: Parameters<Handle>[1]): void {
    this.#underWay += 1;
    const handle = async (): Promise<void> => {
      this.#runs.push(what);
      this.#note(`${what} …`);
      const answer = await this.#handle({}, event);
      this.#note(`… ${what}`);
      if (answer !== undefined && 'type' in answer) this.#deliver(answer.type, answer);
      else if (answer !== undefined) throw new Error(`it answers ${String(answer.statusCode)}`);
      this.#underWay -= 1;
    };
    this.#clusters.pair.schedule.time.after(HOP_MS, () => void handle());
  }

  #contextOf(process: Process): LiveContext {
    const clusters = this.#clusters;
    const { schedule } = clusters.pair;
    const events = {
      pause: () => new Promise<void>((resolve) => void schedule.time.after(REQUEST_MS, () => resolve())),
      before: () => () => undefined,
      isLost: () => false,
      failureOf: () => undefined,
      onRead: () => undefined,
    };
    const { hub, remotes, ...context } = contextOf({ clusters, hub: this.#hub, events }, (_, message) =>
      this.#note(`${process} ${message}`),
    );
    return {
      ...context,
      clock: clockOf(schedule, { whenUp: (work) => work() }),
      hub: this.#counted({ process, on: 'hub' }, hub),
      remotes: {
        allowLoopback: false,
        at: (remote) => this.#counted({ process, on: sideAt(remote.url) }, remotes.at(remote)),
      },
    };
  }

  readonly #clients = new Map<string, ApiServer>();

  /** One client for each process and server, as Remotes keeps them: the watcher knows a cluster by it. */
  #counted({ process, on }: { readonly process: Process; readonly on: Server }, api: ApiServer): ApiServer {
    const key = `${process} ${on}`;
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    const { source, target } = this.#clusters.pair;
    const { admin } = { source, target, hub: this.#hub }[on];
    const others: Partial<ApiServer> = {
      watch: (...given) => admin.watch(...given),
      // Only the watcher's Deployment is patched.
      patch: () => {
        this.#scale(1);
        if (!this.#hasWatcher) void this.#startWatcher();
        this.#hasWatcher = true;
        return Promise.resolve({ object: {} as never, date: new Date(this.#clusters.now) });
      },
    };
    const client = new Proxy(api, {
      get: (_, verb: keyof ApiServer) => {
        const method = (others[verb] ?? api[verb]).bind(api) as (...given: unknown[]) => unknown;
        return (type?: ResourceType, ...given: { subresource?: string; name?: string }[]) => {
          const { subresource } = given[1] ?? {};
          const resource = [type?.plural ?? [], subresource ?? []].flat().join('/');
          this.#requests.push(`${key} ${VERBS[verb] ?? verb} ${resource}`.trim());
          this.#note(`  ${this.#requests.at(-1) ?? ''} ${JSON.stringify(given[0] ?? '').slice(0, 120)}`);
          return method(type, ...given);
        };
      },
    });
    this.#clients.set(key, client);
    return client;
  }

  async #startWatcher(): Promise<void> {
    const { time } = this.#clusters.pair.schedule;
    await new Promise<void>((resolve) => void time.after(WATCHER_MS, () => resolve()));
    const context = this.#contextOf('watcher');
    const watcher = new LiveWatcher({
      ...{ cluster: context.hub, clock: context.clock, log: context.log },
      post: (event) => {
        this.#deliver(event.subject?.split('/').at(-2) ?? '', event);
        return Promise.resolve();
      },
      connect: async (provider) => {
        const cluster = (await readProvider(provider, context))?.cluster;
        const asked = cluster && (await identifyCluster(cluster));
        return cluster && asked && 'id' in asked ? { cluster, id: asked.id } : undefined;
      },
    });
    await watcher.run(this.#over.signal);
  }

  #note(line: string): void {
    this.#trace.push(`${String(this.#clusters.now).slice(-6)} ${line}`);
  }
}

/** In mode Reference an event says nothing but which object (docs/facts/knative.md §1.2). */
const sourceEvent = (
  { type: change, object }: Pick<Change, 'type' | 'object'>,
  type: ResourceType,
): ReturnType<typeof referenceEventOf> => {
  const { kind, apiVersion } = type;
  const { namespace, name } = object.metadata;
  const event = referenceEventOf({ change: CHANGES[change], object, type, cluster: 'hub', runs: [] });
  return event.cloneWith({ data: { kind, namespace, name, apiVersion } });
};
