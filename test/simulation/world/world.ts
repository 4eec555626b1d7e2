import { ANNOTATION, LABEL, LOCK_OUTCOME } from '../../../functions/domain/names.ts';
import { toCloudEvent } from '../../../functions/eventing/cloud-events.ts';
import type { OurEvent } from '../../../functions/domain/events.ts';
import type { KubernetesObject, ResourceQuota } from '../../../functions/domain/objects.ts';
import { proofIn } from '../../../functions/domain/proof.ts';
import type { View } from '../../../functions/domain/view.ts';
import { podUsage } from '../../../functions/domain/sizing/pod-usage.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { LEASES, MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { AdmissionRequest, AdmissionResponse } from '../../../webhook/admission/admission.ts';
import { annotated, inNamespace } from '../../support/builders/object.ts';
import { Broker } from './broker.ts';
import { ClusterChecker } from '../checker/cluster-checker.ts';
import type { Writing } from '../checker/locks.ts';
import { Client, type Call, type Caller, type Network } from './client.ts';
import { DISTURBANCES, DISTURBING } from './disturbances.ts';
import { Faults, type InjectedFault } from './faults.ts';
import { Functions } from './functions.ts';
import { Guard } from './guard.ts';
import { startKubeVirt, type Stoppable } from './kubevirt.ts';
import { Life } from '../engine/life.ts';
import { ApiServer } from '../model/api-server.ts';
import type { Attributes } from '../model/attributes.ts';
import type { Cache } from '../model/cache.ts';
import { canonicalList } from '../model/canonical.ts';
import { QuotaController } from '../model/quota-controller.ts';
import type { Point } from '../model/request.ts';
import { Store, type Change } from '../model/store.ts';
import {
  addressOf,
  clusterVmmrq,
  controllerLease,
  kubevirt,
  LAUNCHER,
  launcherPod,
  migration,
  NEIGHBOUR,
  node,
  published,
  quota,
  refused,
  running,
  TENANT,
  tenantNamespace,
  vmi,
  vmmrq,
  type NewMigration,
} from './objects.ts';
import { Origins } from './origins.ts';
import { PacedQuotas } from './paced-quotas.ts';
import { Random } from '../engine/random.ts';
import { Schedule } from '../engine/schedule.ts';
import type { Scenario } from './scenario.ts';
import { Source } from './source.ts';
import { Tenant } from './tenants.ts';
import { Time } from '../engine/time.ts';
import { changeText } from './change-text.ts';
import { Trace } from '../engine/trace.ts';

export interface WorldOptions {
  /** Exactly these faults; left out: by chance. */
  readonly plan?: readonly InjectedFault[] | undefined;
  readonly trace?: boolean | undefined;
}

const DONE = Promise.resolve();
const BREAK_GLASS = 'break-glass';
const TENANT_USER = 'tenant';
/** Whether the checker asks who has changed objects of the kind. */
const isChecked = (kind: string): boolean => kind === RESOURCE_QUOTAS.kind || kind === NAMESPACES.kind;

const NO_ACTOR: Writing = { user: 'nobody', actor: '', heldMs: 0 };

/** All parts of a run: the real steps, the real guard, and around them a simulated cluster with its users. */
export class World {
  readonly scenario: Scenario;
  readonly time = new Time();
  readonly trace: Trace;
  readonly faults: Faults;
  readonly random: Random;
  /** Randomness for the watch caches only: the rest of a run must not depend on the number of lists. */
  readonly #memory: Random;
  readonly schedule: Schedule;
  readonly store: Store;
  /** The tenants' namespaces. */
  readonly namespaces: readonly [string, ...string[]];
  readonly checker: ClusterChecker;
  readonly servers: readonly ApiServer[];
  readonly broker: Broker;
  readonly source: Source;
  readonly functions: Functions;
  readonly guards: readonly Guard[];
  /** A policy of another party refuses our raises. */
  refusesRaises: boolean;
  /** Migrations of these UIDs fail instead of succeeding. */
  readonly failing = new Set<string>();
  readonly tenants: readonly Tenant[];
  readonly admin: Client;
  /** An admin who may override the lock. */
  readonly breakGlass: Client;
  /** A client with the tenant's rights. */
  readonly tenant: Client;
  readonly quotas: PacedQuotas;
  readonly kubevirt: Stoppable;
  /** Makes every migration. */
  readonly origins: Origins;
  readonly #network: Network;
  /** How far the API servers' clock is ahead of the virtual time, milliseconds. */
  #ahead = 0;
  #names = 0;
  #tokens = 0;
  /** The time of the last turn. */
  #notedAt = 0;
  /** The writer of the next change of a kind whose writers are checked, and of any other: the commit of one may come while another is charged. */
  #writing: Writing = NO_ACTOR;
  #writingOther: Writing = NO_ACTOR;
  readonly #arrived = new WeakMap<object, { readonly at: number; readonly actor: string }>();
  /** The revision that contains the published API servers. No watch cache is older. */
  #published = 0;
  /** Addresses that proved each token. */
  readonly #answered = new Map<string, Set<string>>();
  /** Processes that all functions have answered. */
  readonly #answeredTo = new Set<string>();
  /** The sender of the request that is about to arrive. */
  #calling = '';

  constructor(scenario: Scenario, { plan, trace = false }: WorldOptions = {}) {
    this.scenario = scenario;
    this.refusesRaises = scenario.refusesRaises;
    const { seed, rates, focus, pacing, settleMs, lockSeconds } = scenario;
    const { time } = this;
    this.trace = new Trace(trace, () => time.now);
    this.random = new Random(seed + 0.25 * 2 ** 32);
    this.#memory = new Random(seed + 0.75 * 2 ** 32);
    this.faults = new Faults({ seed: seed ^ 0x5bd1e995, rates, focus, plan });
    this.schedule = new Schedule({ time, random: this.random, pacing });
    this.schedule.isCalm = scenario.isOrderly;
    let uids = 0;
    this.store = new Store({ newUid: () => `uid-${String((uids += 1))}`, now: () => time.now + this.#ahead });
    const targetRequests = scenario.targetRequests ?? LAUNCHER;
    const target = launcherPod(vmi('vm', ''), { requests: targetRequests });
    this.namespaces = scenario.hasNeighbour ? [TENANT, NEIGHBOUR] : [TENANT];
    const { namespaces } = this;
    this.origins = new Origins({
      ...{ seed, rate: scenario.otherOrigins, store: this.store },
      write: (changed) => this.write('kubevirt-controller', changed),
    });
    const { origins } = this;
    this.checker = new ClusterChecker(this.store, { namespaces, time, target: podUsage(target), origins });
    this.#setUp();
    this.servers = this.#startServers();
    this.#network = {
      schedule: this.schedule,
      faults: this.faults,
      trace: this.trace,
      server: ({ actor, user, at }) => {
        this.#calling = actor;
        const server = this.servers.find(({ name }) => addressOf(name) === at) ?? this.#anyServer();
        return server.as(user);
      },
      broken: ({ verb, kind }) => {
        const { broken } = scenario;
        if (broken === undefined || this.schedule.steps < broken.at || !broken.kinds.includes(kind))
          return undefined;
        return broken.verbs === undefined || broken.verbs.includes(verb) ? broken.code : undefined;
      },
      onAnswer: (caller, call, error) => this.#onAnswer(caller, call, error),
    };
    this.store.onChange((change) => this.#onChange(change));
    const settings = {
      KUBEVIRT_NAMESPACE: 'kubevirt',
      LOCK_SECONDS: lockSeconds,
      STALL_SECONDS: 3,
      SETTLE_MS: settleMs,
    };
    const process = {
      network: this.#network,
      settings,
      newToken: () => `token-${String((this.#tokens += 1))}`,
      publish: (event: Parameters<Broker['publish']>[0]) => {
        if (this.broker.isDown) throw new Error('the Broker cannot be reached');
        this.broker.publish(event);
      },
      view: (namespace: string) => this.#viewOf(namespace),
      silentFunctions: (actor: string) => {
        if (this.broker.isDown) return ['http://raise'];
        this.#answeredTo.add(actor);
        return [];
      },
    };
    this.functions = new Functions(process, { isWarm: scenario.durations !== undefined });
    this.broker = new Broker({
      schedule: this.schedule,
      faults: this.faults,
      trace: this.trace,
      hopMs: scenario.durations?.hopMs ?? 0,
      invoke: (step, event) => this.functions.invoke(step, event),
    });
    this.source = new Source(this.store, (event) => this.broker.publish(event));
    const guard = { STALL_SECONDS: 3, OVERDUE_SECONDS: 5, SWEEP_SECONDS: 30 };
    this.guards = Array.from(
      { length: scenario.guards },
      (_, index) => new Guard(`guard${String(index + 1)}`, { ...process, guard, random: this.random }),
    );
    this.quotas = new PacedQuotas({
      controller: new QuotaController({ store: this.store, server: this.#anyServer() }),
      store: this.store,
      schedule: this.schedule,
      random: this.random,
      maxMs: scenario.quotaMs,
    });
    this.kubevirt = startKubeVirt({
      store: this.store,
      cluster: this.#client('kubevirt', 'system:serviceaccount:kubevirt:kubevirt-controller'),
      schedule: this.schedule,
      random: this.random,
      targetRequests,
      writesEvents: scenario.writesEvents,
      durations: scenario.durations,
      isFailing: (uid) => this.failing.has(uid),
    });
    this.admin = this.#client('admin', 'admin');
    this.breakGlass = this.#client('break-glass', BREAK_GLASS);
    this.tenant = this.#client('tenant', TENANT_USER);
    this.tenants = Array.from({ length: scenario.tenants }, (_, index) => {
      const name = `pod${String(index + 1)}`;
      const clock = time.clockOf(new Life());
      return new Tenant({ cluster: this.tenant, clock, store: this.store, random: this.random, name });
    });
  }

  /** Starts all actors. */
  start(): void {
    for (const guard of this.guards) guard.start();
    for (const tenant of this.tenants) void tenant.run();
    this.quotas.start();
    for (const namespace of this.namespaces) {
      for (let index = 0; index < this.scenario.migrations; index += 1)
        this.#start(this.newMigration(vmName(namespace, index), namespace));
    }
  }

  #start(created: NewMigration): void {
    if (this.scenario.isBlockedAtStart)
      this.write('kubevirt-controller', refused(created, this.store.newUid()));
    else {
      this.schedule.later('admin', this.random.below(400), () => {
        this.attempt(this.admin.create(MIGRATIONS, created));
      });
    }
  }

  /** Injects a fault between two turns. */
  async disturb(): Promise<void> {
    if (this.isKnativeGone) this.broker.isDown = this.source.isDown = true;
    const injected = this.faults.inject('world', DISTURBING);
    if (injected === undefined) return;
    this.trace.log('world', () => injected.fault);
    const done = DISTURBANCES[injected.fault]?.(this, this.faults.particulars(injected));
    if (injected.fault === 'jumpSecond' || injected.fault === 'jumpLock') await done;
    else this.attempt(done);
  }

  /** Ends the faults; each suspended part comes back, except Knative when it is gone. */
  calm(): void {
    this.trace.log('world', () => 'no more faults from here');
    this.faults.isOver = true;
    this.schedule.isCalm = true;
    this.checker.calm();
    for (const tenant of this.tenants) tenant.isOver = true;
    for (const guard of this.guards) guard.start();
    this.broker.isDown = this.isKnativeGone;
    this.source.isDown = this.isKnativeGone;
    this.quotas.isDown = false;
    this.refusesRaises = false;
    this.kubevirt.isDown = false;
  }

  get isKnativeGone(): boolean {
    return this.schedule.steps >= (this.scenario.knativeGoneAt ?? Infinity);
  }

  /** A permanent fault is active, so migrations may stay blocked. */
  get mayStayBlocked(): boolean {
    const isBroken = this.schedule.steps >= (this.scenario.broken?.at ?? Infinity);
    return this.isKnativeGone || this.quotas.isGone || isBroken;
  }

  /** All initial migrations are created. */
  get isStarted(): boolean {
    return this.store.list(MIGRATIONS.kind).length >= this.scenario.migrations * this.namespaces.length;
  }

  /** By chance one that virt-controller makes by itself. */
  newMigration(vm: string, namespace: string): NewMigration {
    const made = migration(this.newName('mig'), vm, namespace);
    const isEviction = this.random.chance(this.scenario.evacuations);
    return this.origins.make(made, isEviction ? 'eviction' : 'user');
  }

  /** A tenant's. */
  ownMigration({ metadata: { name, namespace = TENANT } }: KubernetesObject): NewMigration {
    return this.origins.makeOwn(migration(this.newName('mig'), name, namespace));
  }

  newName(prefix: string): string {
    this.#names += 1;
    return `${prefix}${String(this.#names)}`;
  }

  publish(event: OurEvent): void {
    this.broker.publish(toCloudEvent(event));
  }

  /** Ignores a failure. */
  attempt(work: unknown): void {
    if (work instanceof Promise) work.catch(() => undefined);
  }

  /** Suspends a part for `ms` milliseconds; Infinity: until the faults end. */
  away(what: { isDown: boolean }, ms: number): void {
    what.isDown = true;
    if (ms === Infinity) return;
    this.time.after(ms, () => {
      if (!this.faults.isOver) what.isDown = false;
    });
  }

  /** virt-controller renews its Lease, if it runs; in a run only before a read, or when it stops: every two seconds would make a run long. */
  renewLease(): void {
    if (!this.kubevirt.isDown) this.store.put(controllerLease(this.time.now));
  }

  /** Writes to the store directly, without admission. */
  write<T extends KubernetesObject>(user: string, object: T): void {
    this.#writing = { ...NO_ACTOR, user };
    this.#writingOther = this.#writing;
    this.store.put(object);
  }

  stepClock(ms: number): void {
    this.#ahead += ms;
  }

  breakWatches(): void {
    for (const server of this.servers) server.stop();
  }

  #setUp(): void {
    const { givesEverywhere, isDrained, servers, areListed, limits } = this.scenario;
    const { store } = this;
    const names = Array.from({ length: servers }, (_, index) => serverName(index));
    for (const object of published(areListed ? names : ['balancer'], servers)) store.put(object);
    if (limits !== undefined) store.put(kubevirt(limits));
    this.#published = store.revision;
    for (const namespace of this.namespaces) this.#setUpTenant(namespace);
    this.#putSeen(node(store.newUid(), isDrained));
    if (givesEverywhere !== undefined) this.#putSeen(clusterVmmrq(store.newUid(), givesEverywhere));
  }

  #setUpTenant(namespace: string): void {
    const { vms, quotas, gives, areTried } = this.scenario;
    const { store } = this;
    const own = inNamespace(namespace);
    store.put(tenantNamespace(store.newUid(), namespace));
    for (let index = 0; index < vms; index += 1) {
      const vm = this.origins.atStart(own(vmi(vmName(namespace, index), store.newUid())));
      this.#putSeen(vm);
      store.put(running(launcherPod(vm, { requests: LAUNCHER })));
    }
    gives.forEach((spec, index) => store.put(own(vmmrq(`give${String(index)}`, store.newUid(), spec))));
    for (const [name, list] of Object.entries(quotas)) {
      const hard = canonicalList(list) ?? {};
      const used = Object.fromEntries(
        Object.keys(hard).map((key) => [
          key,
          key.endsWith('cpu') ? String(vms) : key === 'pods' ? String(vms) : `${String(vms)}Gi`,
        ]),
      );
      const made = own(quota(name, store.newUid(), hard));
      const counted: ResourceQuota = { ...(areTried ? tried(made) : made), status: { hard, used } };
      this.#putSeen(counted);
    }
  }

  /** Puts an object of the beginning that the checker must know. */
  #putSeen(object: KubernetesObject): void {
    const made = this.store.put(object);
    if (made === undefined) return;
    const change = { revision: 0, type: 'ADDED', kind: object.kind ?? '', object: made } as const;
    this.checker.see(change, { ...NO_ACTOR, user: 'admin' });
  }

  #startServers(): ApiServer[] {
    return Array.from({ length: this.scenario.servers }, (_, index) => {
      const server = new ApiServer({
        name: serverName(index),
        store: this.store,
        pace: (point) => this.#pace(point),
        now: () => this.time.now + this.#ahead,
        admission: (request) => this.#review(request),
        behind: () => this.#behind(),
        mayOverride: (user) => user === BREAK_GLASS,
        mayPatchNodes: (user) => user !== TENANT_USER,
        refuses: (attributes) => this.refusesRaises && isRaise(attributes),
      });
      return server;
    });
  }

  /** Mostly a few changes, sometimes almost all of a run. */
  #behind(): number {
    if (this.schedule.isCalm || this.scenario.durations !== undefined) return 0;
    const memory = this.#memory;
    const behind = memory.pick([0, memory.below(4), memory.below(20), memory.below(200)]);
    return Math.min(behind, this.store.revision - this.#published);
  }

  #anyServer(): ApiServer {
    const [first] = this.servers;
    if (first === undefined) throw new Error('a world has an API server');
    return this.servers.length === 1 ? first : this.random.pick(this.servers);
  }

  #client(actor: string, user: string): Client {
    return new Client({ actor, site: undefined, user, life: new Life() }, this.#network);
  }

  /** Suspends a request in the API server. The request that continued last is the writer of the next change. */
  #pace(point: Point): Promise<void> {
    const { phase, verb, kind, user, request } = point;
    const { at, actor } = this.#arrivalOf(request);
    if (phase === 'arrive' && verb === 'get' && kind === LEASES.kind) this.renewLease();
    if ((phase === 'arrive' || phase === 'answer') && verb !== 'watch') return DONE;
    const isAttributed = phase === 'commit' && isChecked(kind);
    return new Promise((resolve) => {
      this.schedule.suspend(
        `${phase} of ${user}`,
        () => {
          const hasAnswers = this.#answeredTo.has(actor);
          const writing = { user, actor, heldMs: this.time.now - at, hasAnswers };
          if (isAttributed) this.#writing = writing;
          else if (phase === 'commit') this.#writingOther = writing;
          // The API server itself writes the charges of quota admission.
          if (phase === 'charge') this.#writing = { ...NO_ACTOR, user: 'kube-apiserver' };
          this.checker.advance(point);
          resolve();
        },
        isAttributed,
      );
    });
  }

  /** The request's time of arrival at the API server, and its process. */
  #arrivalOf(request: object): { readonly at: number; readonly actor: string } {
    const known = this.#arrived.get(request);
    if (known !== undefined) return known;
    const arrival = { at: this.time.now, actor: this.#calling };
    this.#calling = '';
    this.#arrived.set(request, arrival);
    return arrival;
  }

  /** The view of any running guard. */
  #viewOf(namespace: string): View | undefined {
    const up = this.guards.filter(({ since }) => since !== undefined);
    return up.length === 0 ? undefined : this.random.pick(up).viewOf(namespace);
  }

  #review(request: AdmissionRequest): Promise<AdmissionResponse> {
    const up = this.guards.filter(({ since }) => since !== undefined);
    if (up.length === 0) {
      this.trace.log('api', () => `no guard to ask about ${request.operation} ${request.resource.resource}`);
      return Promise.reject(new Error('no endpoints'));
    }
    return (
      (up.length === 1 ? up[0] : this.random.pick(up))?.review(request) ??
      Promise.reject(new Error('no endpoints'))
    );
  }

  #onAnswer({ user, at }: Caller, { verb, kind, dryRun }: Call, error: unknown): void {
    const isProof = dryRun && verb === 'POST' && kind === RESOURCE_QUOTAS.kind && user.endsWith(':mtq-raise');
    if (isProof && error instanceof ApiError) this.#noteProof(error, at);
  }

  /** A token is proven when every listed API server has proved it. */
  #noteProof({ status }: ApiError, at = ''): void {
    const { servers, areListed } = this.scenario;
    const causes = status.details?.causes ?? [];
    for (const token of causes.flatMap(({ message = '' }) => proofIn(message)?.token ?? [])) {
      const answered = this.#answered.get(token) ?? new Set();
      this.#answered.set(token, answered.add(at));
      if (!areListed || answered.size >= servers) this.checker.proven(token);
    }
  }

  #onChange(change: Change): void {
    const by = isChecked(change.kind) ? this.#writing : this.#writingOther;
    this.trace.log('store', () => `${changeText(change)} (by ${by.user.split(':').at(-1) ?? ''})`);
    this.checker.see(change, by);
    const { lagMs } = this.scenario;
    for (const server of this.servers) {
      if (change.kind === NAMESPACES.kind) this.#catchUp(server.caches.namespaces, lagMs);
      // This cache may be late: the write of quota admission detects it (facts/kubevirt.md §2.5).
      if (change.kind === RESOURCE_QUOTAS.kind) this.#catchUp(server.caches.resourceQuotas, 2 * lagMs);
    }
  }

  /** Lets the cache see one more change within `maxMs`. */
  #catchUp(cache: { catchUp: (changes?: number) => void } | Cache, maxMs: number): void {
    const late = this.random.pick([this.random.below(4), this.random.below(maxMs), maxMs - 1]);
    const ms = this.schedule.isCalm ? 2 : late;
    this.time.after(ms, () => cache.catchUp());
  }

  /** Closes overdue watches. */
  endWatches(): void {
    for (const server of this.servers) server.endOverdueWatches();
  }

  /** Notes after each turn for how long KubeVirt and the guard have been there. */
  notePresence(): void {
    const { now } = this.time;
    const ms = now - this.#notedAt;
    const present = {
      kubevirt: !this.kubevirt.isDown,
      guard: this.guards.some(({ since }) => since !== undefined),
    };
    for (const { locks } of this.checker.namespaces) locks.notePresence(present, ms);
    this.#notedAt = now;
  }
}

/** After an earlier cycle. */
const tried = annotated(ANNOTATION.lastRelease, `token-before ${LOCK_OUTCOME.admitted}`);

/** Lower and fence are not refused: what they cannot write, only a recount mends. */
const isRaise = ({ type, operation, object, oldObject }: Attributes): boolean =>
  type.kind === RESOURCE_QUOTAS.kind &&
  operation === 'UPDATE' &&
  object.metadata.labels?.[LABEL.raised] !== undefined &&
  oldObject.metadata.labels?.[LABEL.raised] === undefined;

/** VMs of different namespaces have different names, and so their launchers. */
const vmName = (namespace: string, index: number): string =>
  `${namespace === TENANT ? 'vm' : 'far'}${String(index)}`;

const serverName = (index: number): string => `api${String(index + 1)}`;
