import { LIVE_KIND } from '../../../../functions/domain/live/names.ts';
import { FIELD_MANAGER } from '../../../../functions/domain/names.ts';
import type { LiveWrite } from '../../../../functions/live/run/decision.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import type {
  Address,
  ApiServer,
  Cluster,
  DeleteOptions,
  ListedType,
  New,
  Read,
  ReadList,
  ResourceType,
  Selection,
  WriteOptions,
} from '../../../../functions/kubernetes/cluster.ts';
import { ApiError, Unreachable } from '../../../../functions/kubernetes/errors.ts';
import type { LiveContext } from '../../../../functions/live/context.ts';
import { listed } from '../../model/listed.ts';
import { VMS } from '../../../cluster/kubevirt/objects/objects.ts';
import { timestamp } from '../../model/metadata.ts';
import { selects } from '../../model/selectors.ts';
import type { Store } from '../../model/store.ts';
import type { Clusters, Server } from './clusters.ts';
import { sideAt, type Hub } from './hub.ts';
import type { Failure } from './servers.ts';

/** What one call of `live` does at an API server. */
export interface CallEvents {
  /** Between two requests anything may happen, also to the process of the call: then it never resolves. */
  readonly pause: (isWrite: boolean) => Promise<void>;
  /** Just before a write is sent, with what is to be looked at once it was accepted. */
  readonly before: (write: LiveWrite) => () => void;
  /** Of half the writes to an API server that is away the answer is lost, of the others the request. */
  readonly isLost: () => boolean;
  readonly failureOf: (write: LiveWrite) => Failure | undefined;
  readonly onRead: (on: Server, kind: string) => void;
}

interface Parts {
  readonly clusters: Clusters;
  readonly hub: Hub;
  readonly events: CallEvents;
}

/** What `live` may use in one call. */
export const contextOf = (parts: Parts, log: LiveContext['log']): LiveContext => ({
  hub: apiServer('hub', parts),
  remotes: { allowLoopback: false, at: ({ url }) => apiServer(sideAt(url), parts) },
  clock: {
    now: () => new Date(parts.clusters.now),
    elapsed: () => parts.clusters.now,
    after: () => () => undefined,
  },
  log,
  post: () => Promise.resolve(),
  maxVmsInFlight: 20,
});

/** A connection of the call. Reads are of what is stored, at once. */
class Connection implements Pick<Cluster, 'get' | 'list' | 'create' | 'replace' | 'delete'> {
  readonly #on: Server;
  readonly #parts: Parts;

  constructor(on: Server, parts: Parts) {
    this.#on = on;
    this.#parts = parts;
  }

  async get<T extends KubernetesObject>(type: ResourceType<T>, at: Address): Promise<Read<T>> {
    await this.#arrive(false);
    this.#parts.events.onRead(this.#on, type.kind);
    const object = this.#store.get<T>({ kind: type.kind, ...at });
    if (object === undefined) throw this.#notFound(type, at.name);
    return { object: this.#asRead(object), date: this.#date };
  }

  async list<T extends KubernetesObject>(
    type: ResourceType<T> | ListedType<T>,
    { namespace, ...selection }: Selection,
  ): Promise<ReadList<T>> {
    await this.#arrive(false);
    const store = this.#store;
    const items = store.list<T>(type.kind, namespace).filter(selects(type.kind, selection));
    return { items: listed(type, items), resourceVersion: String(store.revision), date: this.#date };
  }

  async create<T extends KubernetesObject>(type: ResourceType<T>, object: New<T>): Promise<Read<T>> {
    const { clusters, hub } = this.#parts;
    const allowed = hub.forbiddenAt === undefined;
    // Without a pause: there is one before the write that it is asked for.
    if (type.kind === 'SubjectAccessReview')
      return { object: { ...object, status: { allowed } } as unknown as T, date: this.#date };
    const on = this.#on;
    const write = { verb: 'create', on, object: { ...object, kind: type.kind } } as unknown as LiveWrite;
    return this.#write(write, () =>
      on === 'hub' ? hub.admin.create(type, object) : clusters.create(on, write.object as KubernetesObject),
    );
  }

  async replace<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<Read<T>> {
    const { clusters, hub } = this.#parts;
    const on = this.#on;
    const whole = { ...object, apiVersion: type.apiVersion, kind: type.kind };
    return this.#write({ verb: 'replace', on, object: whole }, () => {
      if (on === 'hub') return hub.admin.replace(type, object, options);
      return options.subresource === 'status'
        ? clusters.replaceStatus(on, whole)
        : clusters.replace(on, whole, 'live');
    });
  }

  async delete(type: ResourceType, at: Address, { preconditions = {} }: DeleteOptions = {}): Promise<void> {
    const { clusters, hub } = this.#parts;
    const on = this.#on;
    const object = { ...type, metadata: { ...at, ...preconditions } } as unknown as KubernetesObject;
    await this.#write({ verb: 'delete', on, object }, () =>
      on === 'hub'
        ? hub.admin.delete(type, at, { preconditions })
        : clusters.remove(on, object, preconditions.resourceVersion !== undefined),
    );
  }

  async #write<T extends KubernetesObject>(write: LiveWrite, send: () => Promise<unknown>): Promise<Read<T>> {
    const { events } = this.#parts;
    await events.pause(true);
    const isAway = this.#isAway;
    if (isAway && events.isLost()) throw new Unreachable(`the request to the ${this.#on} is lost`);
    const accepted = events.before(write);
    const failure = isAway ? undefined : events.failureOf(write);
    if (failure?.hasEffect === false) throw failure.error;
    const answer = (await send()) as Read<T> | undefined;
    accepted();
    if (isAway) throw new Unreachable(`the answer of the ${this.#on} is lost`);
    if (failure !== undefined) throw failure.error;
    await events.pause(true);
    return answer ?? { object: write.object as T, date: this.#date };
  }

  async #arrive(isWrite: boolean): Promise<void> {
    await this.#parts.events.pause(isWrite);
    if (this.#isAway) throw new Unreachable(`no answer of the ${this.#on}`);
  }

  get #isAway(): boolean {
    return this.#parts.clusters.away[this.#on];
  }

  get #store(): Store {
    const on = this.#on;
    return on === 'hub' ? this.#parts.hub.store : this.#parts.clusters.pair.stores[on];
  }

  /** The Date header has whole seconds. */
  get #date(): Date {
    return new Date(Math.floor(this.#parts.clusters.now / 1_000) * 1_000);
  }

  /** What the model of the API server does not keep. */
  #asRead<T extends KubernetesObject>(object: T): T {
    const { clusters, hub } = this.#parts;
    const { metadata, kind } = object;
    if (this.#on === 'source' && kind === VMS.kind) {
      const managedFields = [
        {
          manager: clusters.strategyBy === 'live' ? FIELD_MANAGER : clusters.strategyBy,
          fieldsV1: { 'f:spec': { 'f:runStrategy': {} } },
        },
        { manager: FIELD_MANAGER, time: timestamp(clusters.writtenAt) },
      ];
      return { ...object, metadata: { ...metadata, managedFields } };
    }
    const isGoing =
      hub.isNamespaceGoing &&
      kind === LIVE_KIND.namespace.kind &&
      metadata.name === clusters.pair.target.namespace;
    return isGoing && this.#on === 'target'
      ? { ...object, metadata: { ...metadata, deletionTimestamp: this.#date.toISOString() } }
      : object;
  }

  #notFound({ plural }: ResourceType, name: string): ApiError {
    const message = `${plural} "${name}" not found`;
    return new ApiError('get', { code: 404, reason: 'NotFound', message, details: { name } }, this.#date);
  }
}

const apiServer = (on: Server, parts: Parts): ApiServer =>
  Object.assign(new Connection(on, parts), {
    version: () => Promise.resolve('v1.36.0'),
  }) as unknown as ApiServer;
