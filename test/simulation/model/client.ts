import type { KubernetesObject, Pod } from '../../../functions/domain/objects.ts';
import type {
  Address,
  MergePatch,
  Cluster,
  DeleteOptions,
  ListedType,
  ListOptions,
  New,
  Read,
  ReadList,
  ResourceType,
  Selection,
  WatchEvent,
  WatchFrom,
  WriteOptions,
} from '../../../functions/kubernetes/cluster.ts';
import { PODS } from '../../../functions/kubernetes/resources.ts';
import { listed } from './listed.ts';
import type { Admission } from './admission.ts';
import { mergePatch } from './merge-patch.ts';
import { kept } from './frozen.ts';
import type { ApiErrors } from './api-errors.ts';
import type { Pace, Phase, Verb } from './request.ts';
import { selects } from './selectors.ts';
import type { Store } from './store.ts';
import type { Watches } from './watches.ts';
import { Writes, type WriteRequest } from './writes.ts';

/** A client's connection to one API server. */
export interface ModelCluster extends Cluster {
  /** PUT of pods/resize: only the containers' resources change. */
  resize(pod: Pod): Promise<Read<Pod>>;
}

export interface ClientParts {
  readonly user: string;
  readonly store: Store;
  readonly apiErrors: ApiErrors;
  readonly admission: Admission;
  readonly watches: Watches;
  readonly server: string;
  readonly pace: Pace;
  readonly date: () => Date;
  /** The revision that a list of resourceVersion 0 shows; each list has its own. */
  readonly cachedRevision: () => number;
}

interface Options extends Omit<WriteOptions, 'subresource'> {
  readonly subresource?: WriteRequest['subresource'];
}

/** The object of a request; undefined: not given. */
type About = { [Key in keyof (Address & Options)]?: (Address & Options)[Key] | undefined };

/** One user's requests to one API server, with the answers of functions/kubernetes/client.ts. */
export class Client implements ModelCluster {
  readonly #parts: ClientParts;
  readonly #writes: Writes;

  constructor(parts: ClientParts) {
    this.#parts = parts;
    this.#writes = new Writes(parts);
  }

  async get<T extends KubernetesObject>(
    type: ResourceType<T>,
    { namespace, name }: Address,
  ): Promise<Read<T>> {
    const request = this.#request('get', type, { namespace, name });
    await request.suspend('arrive');
    const object = this.#parts.store.get<T>(request);
    if (object === undefined) throw this.#parts.apiErrors.notFound({ type, name });
    await request.suspend('answer');
    return this.#read(object);
  }

  async list<T extends KubernetesObject>(
    type: ResourceType<T> | ListedType<T>,
    { namespace, ...selection }: Selection,
    { resourceVersion }: ListOptions = {},
  ): Promise<ReadList<T>> {
    const { trim: _, ...whole } = type;
    const request = this.#request('list', whole, { namespace });
    await request.suspend('arrive');
    const { store, date, cachedRevision } = this.#parts;
    const revision = resourceVersion === '0' ? cachedRevision() : store.revision;
    const items = store.list<T>(type.kind, namespace, revision).filter(selects(type.kind, selection));
    await request.suspend('answer');
    return { items: listed(type, items), resourceVersion: String(revision), date: date() };
  }

  async create<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: New<T>,
    options: WriteOptions = {},
  ): Promise<Read<T>> {
    const { name: given, generateName = '', namespace } = object.metadata as Partial<T['metadata']>;
    const name = given ?? this.#parts.store.newName(generateName);
    const request = this.#request('create', type, { namespace, name, ...options });
    const named = { ...object, metadata: { ...object.metadata, name } } as unknown as T;
    return this.#read(await this.#writes.create(request, named));
  }

  replace<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<Read<T>> {
    return this.#put(type, object, options);
  }

  resize(pod: Pod): Promise<Read<Pod>> {
    return this.#put(PODS, pod, { subresource: 'resize' });
  }

  async patch<T extends KubernetesObject>(
    type: ResourceType<T>,
    at: Address,
    { merge, subresource }: MergePatch,
  ): Promise<Read<T>> {
    if (subresource === 'scale') throw new Error('the model has nothing that can be scaled');
    const request = this.#request('patch', type, { ...at, subresource });
    return this.#read(await this.#writes.update(request, (former: T) => mergePatch(former, merge) as T));
  }

  async delete(type: ResourceType, at: Address, options: DeleteOptions = {}): Promise<void> {
    await this.#writes.delete(this.#request('delete', type, at), options);
  }

  /** This client already uses a single API server. */
  at(): this {
    return this;
  }

  async *watch<T extends KubernetesObject>(
    type: ResourceType<T>,
    from: WatchFrom,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    const { store, apiErrors, watches } = this.#parts;
    const request = this.#request('watch', type, { namespace: from.namespace });
    await request.suspend('arrive');
    const after = Number(from.resourceVersion);
    if (after < store.compacted) throw apiErrors.expired();
    const endsAt = store.now() + (from.timeoutSeconds ?? TIMEOUT_SECONDS) * 1_000;
    const suspend = (): Promise<void> => request.suspend('answer');
    const watching = { kind: type.kind, selects: selects(type.kind, from), after, endsAt, signal, suspend };
    yield* watches.watch(watching) as AsyncIterable<WatchEvent<T>>;
  }

  async #put<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: T,
    options: Options,
  ): Promise<Read<T>> {
    const { name, namespace } = object.metadata;
    const request = this.#request('replace', type, { name, namespace, ...options });
    const sent = kept(object);
    return this.#read(await this.#writes.update(request, () => sent));
  }

  #read<T>(object: T): Read<T> {
    return { object, date: this.#parts.date() };
  }

  #request(verb: Verb, type: ResourceType, about: About): WriteRequest {
    const { namespace, name = '', subresource, dryRun = false } = about;
    const { server, user, pace } = this.#parts;
    const point = {
      request: {},
      server,
      user,
      verb,
      kind: type.kind,
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === '' ? {} : { name }),
      ...(subresource === undefined ? {} : { subresource }),
      dryRun,
    };
    const suspend = (phase: Phase): Promise<void> => pace({ ...point, phase });
    return { ...point, name, subresource, type, suspend };
  }
}

/** The client's default (functions/kubernetes/client.ts). */
const TIMEOUT_SECONDS = 300;
