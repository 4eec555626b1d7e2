import { API_SERVERS } from '../domain/names.ts';
import type { KubernetesObject } from '../domain/objects.ts';
import type {
  Address,
  ApiServer,
  MergePatch,
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
} from './cluster.ts';
import { ApiError, shortStatus, type Status } from './errors.ts';
import { parseAnswer, type Bounds } from './bounds.ts';
import { Objects } from './one-object.ts';
import { Lists, type TrimItem } from './pages.ts';
import { chunksOf, type Request, type Response, type Transport } from './transport.ts';
import { PARSED } from './trim.ts';
import { linesOf } from './watch-lines.ts';

/**
 * The API server's verbs as requests. `fieldManager`: of its writes. `maxKeptBytes`: bytes of a list that are kept,
 * for a process whose memory is limited.
 */
export class Client implements ApiServer {
  readonly #transport: Transport;
  readonly #fieldManager: string;
  readonly #lists: Lists;
  readonly #objects: Objects;
  /** Clients for single API servers, kept for reuse. */
  readonly #servers = new Map<string, Client>();

  constructor(transport: Transport, fieldManager: string, maxKeptBytes = Infinity) {
    this.#lists = new Lists(maxKeptBytes, transport.bounds);
    this.#objects = new Objects(transport.bounds);
    this.#transport = transport;
    this.#fieldManager = fieldManager;
  }

  async version(): Promise<string> {
    return (await this.#one<{ gitVersion: string }>({ method: 'GET', path: '/version' })).object.gitVersion;
  }

  get<T extends KubernetesObject>(type: ResourceType<T>, at: Address): Promise<Read<T>> {
    return this.#one<T>({ method: 'GET', path: pathOf(type, at) });
  }

  async list<T extends KubernetesObject>(
    type: ResourceType<T> | ListedType<T>,
    where: Selection,
    options: ListOptions = {},
  ): Promise<ReadList<T>> {
    const ask = (page: Readonly<Record<string, string>>): Promise<Response> =>
      this.#transport.send({
        method: 'GET',
        path: pathOf(type, where, { ...selectors(where), ...page }),
        answerMs: this.#bounds.pageMs,
      });
    return this.#lists.read({ ask, keep: keepOf(type), what: type.plural }, options);
  }

  create<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: New<T>,
    options: WriteOptions = {},
  ): Promise<Read<T>> {
    const at = namespaceOf(object.metadata.namespace);
    return this.#one<T>({
      method: 'POST',
      path: pathOf(type, at, this.#writeQuery(options)),
      body: { apiVersion: type.apiVersion, kind: type.kind, ...object },
    });
  }

  replace<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<Read<T>> {
    const at = { name: object.metadata.name, ...namespaceOf(object.metadata.namespace) };
    const path = pathOf(type, { ...at, ...subresourceOf(options) }, this.#writeQuery(options));
    return this.#one<T>({ method: 'PUT', path, body: object });
  }

  patch<T extends KubernetesObject>(
    type: ResourceType<T>,
    at: Address,
    change: MergePatch,
  ): Promise<Read<T>> {
    return this.#one<T>({
      method: 'PATCH',
      path: pathOf(type, { ...at, ...subresourceOf(change) }, this.#writeQuery({})),
      body: change.merge,
      contentType: 'application/merge-patch+json',
    });
  }

  async delete(type: ResourceType, at: Address, options?: DeleteOptions): Promise<void> {
    const body = options === undefined ? {} : { body: options };
    await this.#one({ method: 'DELETE', path: pathOf(type, at), ...body });
  }

  async *watch<T extends KubernetesObject>(
    type: ResourceType<T>,
    from: WatchFrom,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    const query = {
      ...selectors(from),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: from.resourceVersion,
      ...(from.timeoutSeconds === undefined ? {} : { timeoutSeconds: String(from.timeoutSeconds) }),
    };
    // Bookmarks come every minute or so (follow.ts is stricter).
    const endless = { isEndless: true, silenceMs: 120_000 };
    const request = { method: 'GET', path: pathOf(type, from, query), signal, ...endless } as const;
    const { message, date } = await this.#transport.send(request);
    const { errorText, budget } = this.#bounds;
    for await (const { line, counter } of linesOf(chunksOf(message), this.#bounds)) {
      const { value: event, bytes } = parseAnswer<RawWatchEvent<T>>(line, counter, budget);
      try {
        if (event.type === 'ERROR')
          throw new ApiError(`watch of ${type.plural}`, shortStatus(event.object as Status, errorText), date);
        yield event as WatchEvent<T>;
      } finally {
        budget.free(bytes);
      }
    }
  }

  at(server: string): Client {
    const known = this.#servers.get(server);
    if (known !== undefined) return known;
    const made = new Client(this.#transport.at(server, API_SERVERS.tlsName), this.#fieldManager);
    this.#servers.set(server, made);
    return made;
  }

  get #bounds(): Bounds {
    return this.#transport.bounds;
  }

  #writeQuery({ dryRun }: WriteOptions): Record<string, string> {
    return { ...(dryRun === true ? { dryRun: 'All' } : {}), fieldManager: this.#fieldManager };
  }

  async #one<T extends object>(request: Request): Promise<Read<T>> {
    const { message, date } = await this.#transport.send(request);
    return { object: await this.#objects.read<T>(message), date };
  }
}

interface RawWatchEvent<T> {
  type: WatchEvent<T>['type'] | 'ERROR';
  object: T | Status;
}

/** What is kept of each item of a list. */
function keepOf<T extends KubernetesObject>(type: ResourceType<T> | ListedType<T>): TrimItem<T> {
  if (type.trim !== undefined) return type.trim;
  const { apiVersion, kind } = type;
  // Items of a list have no kind, and a write needs it.
  return (item, bytes) => ({ object: { ...item, apiVersion, kind }, size: bytes * PARSED });
}

interface ResourcePath {
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

function pathOf(
  type: Pick<ResourceType, 'apiVersion' | 'plural' | 'namespaced'>,
  resourcePath: ResourcePath,
  query: Record<string, string> = {},
): string {
  const parts = [type.apiVersion.includes('/') ? '/apis' : '/api', type.apiVersion];
  if (type.namespaced && resourcePath.namespace !== undefined)
    parts.push('namespaces', encode(resourcePath.namespace));
  parts.push(type.plural);
  if (resourcePath.name !== undefined) parts.push(encode(resourcePath.name));
  if (resourcePath.subresource !== undefined) parts.push(resourcePath.subresource);
  const search = new URLSearchParams(query).toString();
  return parts.join('/') + (search === '' ? '' : `?${search}`);
}

const encode = (part: string): string => encodeURIComponent(part);

const namespaceOf = (namespace: string | undefined): Selection =>
  namespace === undefined ? {} : { namespace };

const subresourceOf = ({ subresource }: { subresource?: string }): ResourcePath =>
  subresource === undefined ? {} : { subresource };

function selectors({ labelSelector, fieldSelector }: Selection): Record<string, string> {
  return {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}
