import { runProviderOf } from '../../../../functions/live/read/providers.ts';
import { withRunClusters, type RunClusters } from '../../../../functions/live/run/run-clusters.ts';
import type {
  LiveCondition,
  Plan,
  PlanMigration,
  Provider,
} from '../../../../functions/domain/live/forklift.ts';
import type { VirtualMachine } from '../../../../functions/domain/live/kubevirt.ts';
import {
  FORKLIFT_KIND,
  LIVE_ANNOTATION,
  LIVE_EVENT,
  LIVE_FINALIZER,
  LIVE_KIND,
  LIVE_LABEL,
} from '../../../../functions/domain/live/names.ts';
import { recordOf, withRecord, type RunRecord } from '../../../../functions/live/run/record.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import { liveEvent, referenceEventOf } from '../../../../functions/eventing/live-events.ts';
import type { PostedEvent } from '../../../../functions/eventing/posted-event.ts';
import type { Answer, Handle } from '../../../../functions/host/function.ts';
import type { ApiServer, Cluster, New, ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import { ApiError, Unreachable } from '../../../../functions/kubernetes/errors.ts';
import {
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  REVIEWS,
  SECRETS,
  STORAGE_CLASSES,
  STORAGE_MAPS,
  VIRTUAL_MACHINES,
  WHOLE_CLAIMS,
  WHOLE_VMIS,
} from '../../../../functions/kubernetes/live-resources.ts';
import type { Right } from '../../../../functions/live/plan/rights-needed.ts';
import type { Remote } from '../../../../functions/live/read/remote.ts';
import { KUBEVIRTS, NAMESPACES, PODS } from '../../../../functions/kubernetes/resources.ts';
import type { Clock } from '../../../../functions/runtime/clock.ts';
import { newLiveFunction } from '../../../../functions/live/function.ts';
import { aModel, type Model } from '../../model/model.ts';
import {
  aNetworkMap,
  aPlan,
  aPlanMigration,
  aProvider,
  aRecord,
  aStorageMap,
  aVm,
  itsVmi,
  TOM,
} from '../../../support/builders/live.ts';
import { annotated, seconds } from '../../../support/builders/object.ts';
import { rawText } from '../../../support/raw-text.ts';

type Side = 'source' | 'destination';
const SIDES: readonly Side[] = ['source', 'destination'];
const NAMESPACE = 'tenant';
const URL_OF: Readonly<Record<Side, string>> = {
  source: 'https://source.example.com:6443',
  destination: 'https://destination.example.com:6443',
};
const base64 = (text: string): string => Buffer.from(text).toString('base64');

interface AccessReview {
  readonly spec: { readonly user: string; readonly resourceAttributes: Right };
}

/** undefined: none. */
type Refusal = Error | undefined | Promise<Error | undefined>;

/** `live` on models of three API servers: the hub, the source and the destination, with a Plan that moves the VM `vms/web`. */
export class ModelledRun {
  readonly posted: PostedEvent[] = [];
  /** It takes no event. */
  isBrokerAway = false;
  /** What happens as it takes an event. */
  whenPosted: () => Promise<void> = () => Promise.resolve();
  /** These do not answer. */
  readonly away = new Set<Side>();
  /** Why. */
  whyAway = (): string => 'no answer';
  /** To the two clusters, oldest first. */
  readonly requests: string[] = [];
  /** Whether a user may not do it on the hub. */
  forbids: (right: Right, user: string) => boolean = () => false;
  /** The Role of the namespace is there. */
  mayReadSecrets = true;
  /** Of the log. */
  readonly warnings: string[] = [];
  /** What each accepts. */
  readonly tokens: Record<Side, string> = { source: 'token', destination: 'token' };
  /** What the source says to a PUT; undefined: it takes it. */
  refusesPut: (object: KubernetesObject) => Refusal = () => undefined;
  readonly models: Readonly<Record<Side | 'hub', Model>>;
  readonly #handle: Handle;
  #events = 0;

  private constructor(models: ModelledRun['models']) {
    this.models = models;
    this.#handle = newLiveFunction({
      hub: this.#api('hub', (_verb, _object, { kind }) =>
        kind === SECRETS.kind && !this.mayReadSecrets ? FORBIDDEN : undefined,
      ),
      remotes: { allowLoopback: false, at: (remote) => this.#remote(remote) },
      clock: { now: () => new Date(this.now), elapsed: () => 0, after: afterShort },
      log: (level, message, fields) => {
        if (level === 'warn') this.warnings.push(`${message} ${JSON.stringify(fields)}`);
      },
      post: (event) => this.#post(event),
      maxVmsInFlight: 20,
    });
  }

  /** A Migration that waits. */
  static async prepare(): Promise<ModelledRun> {
    const run = new ModelledRun({ hub: aModel(), source: aModel(), destination: aModel() });
    await run.#prepare();
    return run;
  }

  /** A Migration that waits, whose plan is Ready once it is looked at. */
  static async prepareReady(): Promise<ModelledRun> {
    const run = await ModelledRun.prepare();
    const developerConfiguration = { featureGates: ['DecentralizedLiveMigration'] };
    const kubevirt = { name: 'kubevirt', namespace: 'vms' };
    const status = { observedKubeVirtVersion: 'v1.9.0', synchronizationAddresses: ['10.0.0.1:9185'] };
    for (const { admin } of [run.models.source, run.models.destination]) {
      const spec = { configuration: { developerConfiguration } };
      await admin.create(KUBEVIRTS, { metadata: kubevirt, spec });
      await admin.patch(KUBEVIRTS, kubevirt, { merge: { status }, subresource: 'status' });
      for (const name of ['fast', 'gold']) await admin.create(STORAGE_CLASSES, { metadata: { name } });
    }
    const map = [{ source: { type: 'pod' }, destination: { type: 'pod' } }];
    await run.hub.patch(NETWORK_MAPS, at('networks'), { merge: { spec: { map } } });
    return run;
  }

  /** `record`: what is different in the record of the VM. */
  static async start(record: Partial<RunRecord> = {}): Promise<ModelledRun> {
    const run = await ModelledRun.prepare();
    await run.#begin(record);
    return run;
  }

  get now(): number {
    return this.models.hub.clock.now;
  }

  get hub(): Cluster {
    return this.models.hub.admin;
  }

  wait(seconds: number): void {
    for (const { clock } of Object.values(this.models)) clock.now += seconds * 1_000;
  }

  /** The guard's look at the Migration, or at the plan. */
  async resync(kind: 'Migration' | 'Plan' = 'Migration', name = kind.toLowerCase()): Promise<void> {
    const about = { kind, namespace: NAMESPACE, name };
    await this.#send(liveEvent({ type: LIVE_EVENT.resync, from: 'guard', about, cause: this.#nextId() }));
  }

  /** The event of a change of an object on the hub. */
  async changed(
    kind: keyof typeof TYPE_OF,
    name = kind.toLowerCase(),
    change: 'update' | 'delete' = 'update',
  ): Promise<void> {
    const id = this.#nextId();
    const object = { metadata: { ...at(name), uid: name, resourceVersion: id, creationTimestamp: '' } };
    await this.#send(referenceEventOf({ change, object, type: TYPE_OF[kind], cluster: 'hub', runs: [] }));
  }

  /** The watcher's event of the VM on the source as it is now. */
  async changedThere(
    change: 'update' | 'delete',
    ...runs: readonly (string | { readonly name: string; readonly uid: string })[]
  ): Promise<void> {
    const vm = await this.vm();
    if (vm === undefined) throw new Error('there is no VM');
    const object = { metadata: vm.metadata };
    const about = { change, object, type: VIRTUAL_MACHINES, cluster: await this.#idOf('source') } as const;
    const named = runs.map(async (one) => {
      if (typeof one !== 'string') return { ...at(one.name), uid: one.uid };
      const name = one;
      const run = await this.hub.get(PLAN_MIGRATIONS, at(name)).catch(() => undefined);
      return { ...at(name), uid: run?.object.metadata.uid ?? name };
    });
    await this.#send(referenceEventOf({ ...about, runs: await Promise.all(named) }));
  }

  async migration(): Promise<PlanMigration> {
    return (await this.hub.get(PLAN_MIGRATIONS, at('migration'))).object;
  }

  async plan(): Promise<Plan> {
    return (await this.hub.get(PLANS, at('plan'))).object;
  }

  async provider(side: Side): Promise<Provider> {
    return (await this.hub.get(PROVIDERS, at(side))).object;
  }

  patchMigration(merge: Record<string, unknown>): Promise<unknown> {
    return this.hub.patch(PLAN_MIGRATIONS, at('migration'), { merge });
  }

  patchPlan(merge: Record<string, unknown>): Promise<unknown> {
    return this.hub.patch(PLANS, at('plan'), { merge });
  }

  /** As a user types it. */
  async breakGlass(): Promise<void> {
    const { metadata } = await this.migration();
    await this.patchMigration({ metadata: { annotations: { [LIVE_ANNOTATION.breakGlass]: metadata.uid } } });
  }

  async renewToken(side: Side, token: string): Promise<void> {
    this.tokens[side] = token;
    await this.hub.patch(SECRETS, at(side), { merge: { data: { token: base64(token) } } });
  }

  /** The VMs on the destination. */
  async onTarget(): Promise<string[]> {
    const { items } = await this.models.destination.admin.list(VIRTUAL_MACHINES, { namespace: 'target' });
    return items.map(({ metadata }) => metadata.name);
  }

  /** Objects of these names on the hub, as a run does at its beginning. */
  async hold(...names: readonly string[]): Promise<void> {
    for (const type of HOLDABLE) {
      const { items } = await this.hub.list(type, {});
      for (const { metadata } of items.filter((one) => names.includes(one.metadata.name)))
        await this.hub.patch(type, at(metadata.name), {
          merge: { metadata: { finalizers: [LIVE_FINALIZER] } },
        });
    }
  }

  /** What is held on the hub, by kind and name. */
  async held(): Promise<string[]> {
    const lists = await Promise.all(
      HOLDABLE.map(async (type) => {
        const { items } = await this.hub.list(type, {});
        return items
          .filter(({ metadata }) => metadata.finalizers?.includes(LIVE_FINALIZER))
          .map(({ metadata }) => `${type.kind} ${metadata.name}`);
      }),
    );
    return lists.flat();
  }

  async #prepare(): Promise<void> {
    for (const [index, model] of Object.values(this.models).entries()) {
      // Each cluster has its own uid.
      for (let other = 0; other < index; other += 1) await createNamespace(model, `other-${String(other)}`);
      for (const name of ['kube-system', NAMESPACE, 'vms', 'target']) await createNamespace(model, name);
    }
    await create(this.hub, REVIEWS.type, { metadata: REVIEWS.at });
    for (const side of SIDES) {
      await create(this.hub, PROVIDERS, aProvider(side));
      const metadata = { ...at(side), labels: { [LIVE_LABEL.provider]: 'true' } };
      const data = { token: base64('token'), url: base64(URL_OF[side]) };
      await create(this.hub, SECRETS, { ...LIVE_KIND.secret, metadata, data });
    }
    await create(this.hub, STORAGE_MAPS, aStorageMap());
    await create(this.hub, NETWORK_MAPS, aNetworkMap());
    await create(this.hub, PLANS, aPlan());
    await create(this.hub, PLAN_MIGRATIONS, aPlanMigration(annotated(LIVE_ANNOTATION.requester, TOM)));
    const source = this.models.source.admin;
    const vmi = await create(source, WHOLE_VMIS, itsVmi());
    await create(source, VIRTUAL_MACHINES, aVm());
    const requests = { storage: '10Gi' };
    await create(source, WHOLE_CLAIMS, {
      metadata: { name: 'web-root', namespace: 'vms' },
      spec: { storageClassName: 'fast', resources: { requests } },
    });
    const labels = { 'kubevirt.io': 'virt-launcher', 'kubevirt.io/created-by': vmi.metadata.uid };
    await create(source, PODS, {
      metadata: { name: 'launcher', namespace: 'vms', labels },
      spec: { containers: [] },
    });
    const merge = { status: { phase: 'Running' } };
    await source.patch(PODS, { namespace: 'vms', name: 'launcher' }, { merge, subresource: 'status' });
  }

  async #begin(record: Partial<RunRecord>): Promise<void> {
    const hub = await this.#idOf('hub');
    const source = await this.#runCluster('source');
    const target = await this.#runCluster('destination');
    const annotations = withRunClusters({}, { source, target });
    await this.patchMigration({ metadata: { annotations } });
    const vm = await this.vm();
    if (vm === undefined) throw new Error('there is no VM');
    const { uid: id } = vm.metadata;
    const vms = [{ ...{ id, namespace: 'vms', name: 'web' }, phase: 'Validate', pipeline: [] }];
    const status = { started: new Date(this.now).toISOString(), vms };
    await this.hub.patch(PLAN_MIGRATIONS, at('migration'), { merge: { status }, subresource: 'status' });
    const { metadata } = await this.plan();
    const { uid, generation = 1 } = metadata;
    const run = { migration: { uid: (await this.migration()).metadata.uid }, plan: { uid, generation } };
    const history = { status: { migration: { history: [run] } } };
    await this.hub.patch(PLANS, at('plan'), { merge: history, subresource: 'status' });
    const owner = { ...FORKLIFT_KIND.plan, name: 'plan', uid };
    await this.patchMigration({ metadata: { ownerReferences: [owner] } });
    await this.hold('migration', 'plan', ...SIDES);
    const vmi = (await this.models.source.admin.get(WHOLE_VMIS, { namespace: 'vms', name: 'web' })).object;
    const own = aRecord((one) => ({
      ...{ ...one, hub, vm: id, vmi: vmi.metadata.uid },
      migration: { ...one.migration, uid: run.migration.uid },
      target: { ...one.target, cluster: target.cluster },
      startedAt: new Date(this.now).toISOString(),
      ...record,
    }));
    await this.models.source.admin.replace(VIRTUAL_MACHINES, withRecord(vm, own));
  }

  async #runCluster(side: Side): Promise<RunClusters['source']> {
    const { object: provider } = await this.hub.get(PROVIDERS, at(side));
    return { cluster: await this.#idOf(side), provider: runProviderOf(provider) };
  }

  async #idOf(side: Side | 'hub'): Promise<string> {
    return (await this.models[side].admin.get(NAMESPACES, { name: 'kube-system' })).object.metadata.uid;
  }

  /** On the source; undefined: it is gone. */
  async vm(): Promise<ReturnType<typeof aVm> | undefined> {
    const { items } = await this.models.source.admin.list(VIRTUAL_MACHINES, { namespace: 'vms' });
    return items[0];
  }

  /** Whether the VM on the source has a record. */
  async isRecorded(): Promise<boolean> {
    const [vm, migration] = [await this.vm(), await this.migration()];
    const run = { plan: '', migration: migration.metadata.uid, vm: vm?.metadata.uid ?? '' };
    return vm !== undefined && recordOf(vm, run).kind !== 'none';
  }

  /** An object of the run on the destination. `of`: another of its VMs. */
  async made(
    object: KubernetesObject,
    type: ResourceType,
    of?: { readonly id: string; readonly name: string },
  ): Promise<void> {
    const [migration, plan, vm] = [await this.migration(), await this.plan(), await this.vm()];
    const labels = {
      [LIVE_LABEL.plan]: plan.metadata.uid,
      [LIVE_LABEL.migration]: migration.metadata.uid,
      [LIVE_LABEL.vm]: of?.id ?? vm?.metadata.uid ?? '',
    };
    const { annotations = {}, finalizers = [] } = object.metadata;
    const { name } = of ?? object.metadata;
    await create(this.models.destination.admin, type, {
      ...object,
      metadata: { name, namespace: 'target', labels, annotations, finalizers },
    });
  }

  async #post(event: PostedEvent): Promise<void> {
    if (this.isBrokerAway) throw new Unreachable('no Broker');
    this.posted.push(event);
    await this.whenPosted();
  }

  #nextId(): string {
    this.#events += 1;
    return String(this.#events);
  }

  /** And the events of what is due by it. */
  async #send(event: Parameters<Handle>[1]): Promise<void> {
    for (let next = event, turn = 0; next !== undefined; turn += 1) {
      if (turn > MAX_TURNS) throw new Error('it never becomes quiet');
      const answer: Answer = await this.#handle({}, next);
      if (answer !== undefined && 'statusCode' in answer)
        throw new Error(`it answers ${String(answer.statusCode)}`);
      next = answer;
    }
  }

  #remote({ url, token }: Remote): ApiServer {
    const side = SIDES.find((one) => URL_OF[one] === url);
    if (side === undefined) throw new Error(`no cluster has the URL ${url}`);
    return this.#api(side, (verb, object, { kind }) => {
      this.requests.push(`${verb} ${kind} on ${side}`);
      if (this.away.has(side)) return new Unreachable(this.whyAway());
      const status = { code: 401, reason: 'Unauthorized', message: 'Unauthorized' };
      if (token !== this.tokens[side]) return new ApiError('the request', status, new Date(this.now));
      return side === 'source' && verb === 'replace' ? this.refusesPut(object) : undefined;
    });
  }

  #reviewed(review: KubernetesObject): KubernetesObject {
    const { user, resourceAttributes } = (review as unknown as AccessReview).spec;
    return { ...review, status: { allowed: !this.forbids(resourceAttributes, user) } } as KubernetesObject;
  }

  /** `refusal`: why it does not answer now. */
  #api(
    of: Side | 'hub',
    refusal: (verb: string, object: KubernetesObject, type: ResourceType) => Refusal,
  ): ApiServer {
    const { admin } = this.models[of];
    return new Proxy(admin, {
      get: (_, verb: keyof Cluster | 'version') =>
        verb === 'version'
          ? () => Promise.resolve('v1.36.0')
          : async (...given: unknown[]) => {
              const [type, object] = given as [ResourceType, KubernetesObject];
              const error = await refusal(verb, object, type);
              if (error !== undefined) throw error;
              if (type.kind === 'SubjectAccessReview') return { object: this.#reviewed(object) };
              return Reflect.apply(
                Reflect.get(admin, verb) as (...given: unknown[]) => unknown,
                admin,
                given,
              );
            },
    }) as unknown as ApiServer;
  }
}

/** What a run of the plan holds, by kind and name. */
export const HELD = [
  'Migration migration',
  'Plan plan',
  ...['Provider destination', 'Provider source', 'Secret destination', 'Secret source'],
];

/** Parts of records. */
export const MARK = { mark: 'GuestReady', at: seconds(0) } as const;
export const END = { as: 'Failed', reason: 'TransferFailed', message: 'it failed', at: seconds(0) } as const;

export const always = (vm: VirtualMachine): VirtualMachine => ({
  ...vm,
  spec: { ...vm.spec, runStrategy: 'Always' },
});

const FORBIDDEN = new ApiError('the request', { code: 403, reason: 'Forbidden' }, new Date(0));
const MAX_TURNS = 20;
/** A pause for further events is over at once; a limit is never reached. */
const afterShort: Clock['after'] = (ms, work) => {
  if (ms < 1_000) setImmediate(work);
  return () => undefined;
};
const TYPE_OF = {
  ...{ Migration: PLAN_MIGRATIONS, Plan: PLANS, Provider: PROVIDERS },
  ...{ StorageMap: STORAGE_MAPS, NetworkMap: NETWORK_MAPS },
} as const;
const HOLDABLE: readonly ResourceType[] = [PLAN_MIGRATIONS, PLANS, PROVIDERS, SECRETS];

const at = (name: string): { namespace: string; name: string } => ({ namespace: NAMESPACE, name });

async function createNamespace({ admin, server }: Model, name: string): Promise<void> {
  await create(admin, NAMESPACES, { ...LIVE_KIND.namespace, metadata: { name } });
  server.caches.namespaces.catchUpAll();
}

/** With a uid and a version of the model's own. */
async function create<T extends KubernetesObject>(
  cluster: Cluster,
  type: ResourceType<T>,
  object: New<T>,
): Promise<T> {
  const {
    uid: _uid,
    resourceVersion: _version,
    creationTimestamp: _time,
    ...metadata
  } = object.metadata as T['metadata'];
  return (await cluster.create(type, { ...object, metadata } as New<T>)).object;
}

/** The types of conditions, with what each says as reason. */
export const conditionsOf = (
  status: { readonly conditions?: readonly LiveCondition[] } | undefined,
): string[] =>
  (status?.conditions ?? []).map(({ type, reason }) =>
    reason === undefined ? type : `${type} ${rawText(reason)}`,
  );
