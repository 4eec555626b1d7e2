import { DNS_LABEL, DNS_SUBDOMAIN } from '../../domain/dns-name.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { TenantBudget } from '../../kubernetes/budget.ts';
import type {
  Address,
  ApiServer,
  DeleteOptions,
  ListedType,
  ListOptions,
  MergePatch,
  New,
  Read,
  ReadList,
  ResourceType,
  Selection,
  WatchEvent,
  WatchFrom,
  WriteOptions,
} from '../../kubernetes/cluster.ts';
import { ApiError, Busy, TooMuch, Unreachable } from '../../kubernetes/errors.ts';
import { pause, type Clock } from '../../runtime/clock.ts';
import { Turns } from '../../runtime/turns.ts';

/** The one message for every failure: it may not show what listens at an address. */
const CANNOT_BE_REACHED = 'the API server cannot be reached';

/** Requests to one server at once, beside watches. */
const MAX_REQUESTS = 4;
/** Milliseconds for which a server gets no request after a failure; twice as long after each further one. */
const REST_MS = { first: 1_000, max: 30_000 };
/** A shorter wait is none. */
const MIN_WAIT_MS = 20;

export interface BoundedClusterOptions {
  /** The budget of all servers of the tenant. */
  readonly budget: TenantBudget;
  readonly clock: Clock;
  /** The callback for each failure, with its details. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The API server that a Provider names, with few requests at once. After a failure it rests, so that a bad server costs little. No
 * decision depends on that: a server that rests is one that does not answer.
 */
export class BoundedCluster implements ApiServer {
  readonly #client: ApiServer;
  readonly #options: BoundedClusterOptions;
  readonly #requests = new Turns(MAX_REQUESTS);
  /** The queue of requests until one is answered, at first and after a failure: a bad server costs one answer at a time. */
  readonly #trials = new Turns();
  #isAnswering = false;
  #restMs = 0;
  /** Elapsed milliseconds. */
  #restsUntil = 0;

  constructor(client: ApiServer, options: BoundedClusterOptions) {
    this.#client = client;
    this.#options = options;
  }

  version(): Promise<string> {
    return this.#ask(() => this.#client.version());
  }

  get<T extends KubernetesObject>(type: ResourceType<T>, at: Address): Promise<Read<T>> {
    return this.#askObject(type, at, () => this.#client.get(type, at));
  }

  list<T extends KubernetesObject>(
    type: ResourceType<T> | ListedType<T>,
    where: Selection,
    options?: ListOptions,
  ): Promise<ReadList<T>> {
    return this.#ask(async () => {
      const list = await this.#client.list(type, where, options);
      list.items.forEach((item) => expectListed(item, type, where));
      return list;
    });
  }

  create<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: New<T>,
    options?: WriteOptions,
  ): Promise<Read<T>> {
    return this.#askObject(type, object.metadata, () => this.#client.create(type, object, options));
  }

  replace<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<Read<T>> {
    return this.#askObject(type, object.metadata, () => this.#client.replace(type, object, options));
  }

  patch<T extends KubernetesObject>(
    type: ResourceType<T>,
    at: Address,
    change: MergePatch,
  ): Promise<Read<T>> {
    return this.#askObject(type, at, () => this.#client.patch(type, at, change));
  }

  delete(type: ResourceType, at: Address, options?: DeleteOptions): Promise<void> {
    return this.#ask(() => this.#client.delete(type, at, options));
  }

  async *watch<T extends KubernetesObject>(
    type: ResourceType<T>,
    from: WatchFrom,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    this.#expectNoRest();
    try {
      for await (const event of this.#client.watch(type, from, signal)) {
        if (event.type !== 'BOOKMARK') expectListed(event.object, type, from);
        yield event;
        await this.#wait(signal);
      }
    } catch (error) {
      throw signal.aborted ? error : this.#failed(error);
    }
  }

  at(): never {
    throw new Error('a Provider has one address');
  }

  #askObject<T extends KubernetesObject>(
    type: ResourceType<T>,
    { name, namespace }: Partial<Names>,
    request: () => Promise<Read<T>>,
  ): Promise<Read<T>> {
    return this.#ask(async () => {
      const read = await request();
      expectObject(read.object, { name, namespace: type.namespaced ? namespace : undefined });
      return read;
    });
  }

  async #ask<T>(request: () => Promise<T>): Promise<T> {
    this.#expectNoRest();
    const end = await (this.#isAnswering ? this.#requests : this.#trials).next();
    try {
      const answer = await this.#options.budget.requests.run(async () => {
        await this.#wait();
        this.#expectNoRest();
        return request();
      });
      this.#restMs = 0;
      this.#isAnswering = true;
      return answer;
    } catch (error) {
      throw this.#failed(error);
    } finally {
      end();
    }
  }

  #expectNoRest(): void {
    if (this.#options.clock.elapsed() < this.#restsUntil) throw new Resting(CANNOT_BE_REACHED);
  }

  async #wait(signal?: AbortSignal): Promise<void> {
    const { budget, clock } = this.#options;
    const isOver = (ms: number): boolean => ms < MIN_WAIT_MS || signal?.aborted === true;
    // Meanwhile other answers to the tenant may have spent more.
    for (let ms = budget.waitMs(clock.elapsed()); !isOver(ms); ms = budget.waitMs(clock.elapsed()))
      await pause(clock, ms, signal);
  }

  /** Returns the error to show. */
  #failed(error: unknown): unknown {
    if (error instanceof Resting || error instanceof Busy) return error;
    if (error instanceof ApiError || error instanceof TooMuch) {
      this.#restMs = 0;
      return error;
    }
    this.#isAnswering = false;
    const { clock, onFailure } = this.#options;
    onFailure(error);
    const now = clock.elapsed();
    // Requests that were sent together fail together.
    if (now >= this.#restsUntil) {
      this.#restMs = Math.min(Math.max(2 * this.#restMs, REST_MS.first), REST_MS.max);
      this.#restsUntil = now + this.#restMs;
    }
    return new Unreachable(CANNOT_BE_REACHED);
  }
}

/** What an answer may be: any JSON object. */
interface Answered {
  readonly metadata?: Readonly<Partial<Record<'name' | 'namespace' | 'uid', unknown>>> | null;
}

type Names = Readonly<Record<'name' | 'namespace', unknown>>;
/** The names of what was asked for: any name where none is given. */
type Asked = Omit<Names, 'name'> & Partial<Names>;

const NO_OBJECT = 'the answer has what is no object, or another one';
/** Kubernetes gives UUIDs. */
const UID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Throws Unreachable for what no API server of Kubernetes answers. Its names become parts of API paths, and of commands that users copy; and
 * an object of another name or namespace would be taken for the one that was asked for.
 */
function expectObject({ metadata }: Answered, asked: Asked): void {
  const { name, namespace, uid } = metadata ?? {};
  const isAsked = namespace === asked.namespace && (asked.name === undefined || name === asked.name);
  const areTexts =
    isText(name, DNS_SUBDOMAIN) &&
    (namespace === undefined || isText(namespace, DNS_LABEL)) &&
    (uid === undefined || isText(uid, UID));
  if (!isAsked || !areTexts) throw new Unreachable(NO_OBJECT);
}

/** Does the same for one of a list or a watch. */
function expectListed(
  item: Answered,
  { namespaced, trim }: { readonly namespaced: boolean; readonly trim?: unknown },
  where: Selection,
): void {
  const namespace = item.metadata?.namespace;
  // What is kept of it may lack its namespace.
  const hasNone = !namespaced || (namespace === undefined && trim !== undefined);
  expectObject(item, { namespace: hasNone ? undefined : (where.namespace ?? namespace ?? '') });
}

const isText = (value: unknown, pattern: RegExp): boolean => typeof value === 'string' && pattern.test(value);

class Resting extends Unreachable {}
