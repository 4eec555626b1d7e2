import type { KubernetesObject, Pod } from '../../../functions/domain/objects.ts';
import type {
  Address,
  MergePatch,
  Cluster,
  DeleteOptions,
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
import { ApiError, describeError, Unreachable } from '../../../functions/kubernetes/errors.ts';
import { CALL_FAULTS, type Fault, type Faults, type InjectedFault } from './faults.ts';
import type { Life } from '../engine/life.ts';
import type { ModelCluster } from '../model/api-server.ts';
import type { Schedule } from '../engine/schedule.ts';
import type { Trace } from '../engine/trace.ts';

/** The sender of requests. */
export interface Caller {
  /** For the trace: "raise-3". */
  readonly actor: string;
  /** Site of injected faults: "raise"; undefined: no faults. */
  readonly site: string | undefined;
  readonly user: string;
  readonly life: Life;
  /** The only API server to use; left out: any that answers. */
  readonly at?: string;
}

export interface Network {
  readonly schedule: Schedule;
  readonly faults: Faults;
  readonly trace: Trace;
  /** The API server at the caller's address, or any of them, as a load balancer chooses: for the one request that is made of it at once. */
  readonly server: (caller: Caller) => ModelCluster;
  /** HTTP status of a request that always fails; undefined: the request may succeed. */
  readonly broken: (call: Pick<Call, 'verb' | 'kind'>) => number | undefined;
  /** Called for every request that the API server has answered, before the answer is on its way. */
  readonly onAnswer: (caller: Caller, call: Call, error: unknown) => void;
}

/** One request. */
export interface Call {
  readonly verb: string;
  readonly kind: string;
  readonly name: string;
  readonly isWrite: boolean;
  readonly dryRun: boolean;
}

/** As the project's transport: it gives up a server that is silent for this long (functions/kubernetes/transport.ts). */
const SILENCE_MS = 4_000;
const MAX_SLOW_MS = 9_000;
const MAX_FROZEN_MS = 14_000;
export const READ_FAULTS = ['failBefore', 'error', 'slow', 'freeze'] as const;

/** The connection of one process to the API servers. Requests and answers may be late, get lost, or outlive their sender. */
export class Client implements Cluster {
  readonly #caller: Caller;
  readonly #network: Network;

  constructor(caller: Caller, network: Network) {
    this.#caller = caller;
    this.#network = network;
  }

  get<T extends KubernetesObject>(type: ResourceType<T>, at: Address): Promise<Read<T>> {
    return this.#send(read('GET', type, at.name), (server) => server.get(type, at));
  }

  list<T extends KubernetesObject>(
    type: ResourceType<T>,
    where: Selection,
    options?: ListOptions,
  ): Promise<ReadList<T>> {
    return this.#send(read('LIST', type, ''), (server) => server.list(type, where, options));
  }

  create<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: New<T>,
    options: WriteOptions = {},
  ): Promise<Read<T>> {
    const { name, generateName } = object.metadata as { name?: string; generateName?: string };
    return this.#send(write('POST', type, { name: name ?? generateName, dryRun: options.dryRun }), (server) =>
      server.create(type, object, options),
    );
  }

  replace<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<Read<T>> {
    return this.#send(write('PUT', type, { name: object.metadata.name, dryRun: options.dryRun }), (server) =>
      server.replace(type, object, options),
    );
  }

  patch<T extends KubernetesObject>(
    type: ResourceType<T>,
    at: Address,
    change: MergePatch,
  ): Promise<Read<T>> {
    return this.#send(write('PATCH', type, { name: at.name }), (server) => server.patch(type, at, change));
  }

  delete(type: ResourceType, at: Address, options?: DeleteOptions): Promise<void> {
    return this.#send(write('DELETE', type, { name: at.name }), (server) => server.delete(type, at, options));
  }

  at(server: string): Client {
    return new Client({ ...this.#caller, at: server }, this.#network);
  }

  resize(pod: Pod): Promise<Read<Pod>> {
    const call = { verb: 'RESIZE', kind: 'Pod', name: pod.metadata.name, isWrite: true, dryRun: false };
    return this.#send(call, (server) => server.resize(pod));
  }

  async *watch<T extends KubernetesObject>(
    type: ResourceType<T>,
    from: WatchFrom,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    const { life } = this.#caller;
    const open = new AbortController();
    const close = (): void => open.abort();
    signal.addEventListener('abort', close, { once: true });
    life.onEnd(close);
    if (signal.aborted || !life.isAlive) close();
    const broken = this.#broken(read('WATCH', type, ''));
    if (broken !== undefined) throw broken;
    for await (const event of this.#network.server(this.#caller).watch(type, from, open.signal)) {
      if (!life.isAlive) await never();
      yield event;
    }
    if (!life.isAlive) await never();
  }

  #send<T>(call: Call, work: (server: ModelCluster) => Promise<T>): Promise<T> {
    const broken = this.#broken(call);
    return broken === undefined ? this.#sendOn(call, work) : this.#reject(broken);
  }

  #reject(error: ApiError): Promise<never> {
    const { actor, life } = this.#caller;
    return new Promise((_, reject) => {
      this.#network.schedule.suspend(actor, () => {
        if (life.isAlive) reject(error);
      });
    });
  }

  #sendOn<T>(call: Call, work: (server: ModelCluster) => Promise<T>): Promise<T> {
    const { actor, site, life } = this.#caller;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (!life.isAlive) return promise;
    const injected = site === undefined ? undefined : this.#inject(site, call);
    if (injected?.fault === 'crashBefore') {
      this.#network.trace.log(actor, () => `dies before ${described(call)}`);
      life.end();
      return promise;
    }
    const answer = this.#answering(call, injected, reject);
    const lost = (): void => reject(new Unreachable(`${described(call)}: lost`));
    if (injected?.fault === 'failBefore') answer(lost);
    else if (injected?.fault === 'error') answer(() => reject(this.#refusal(call, 500)));
    else {
      const isLost = injected?.fault === 'failAfter';
      this.#start(injected, () => {
        this.#work(call, work, injected).then(
          (result) => answer(isLost ? lost : () => resolve(result)),
          (error: unknown) => answer(isLost ? lost : () => reject(error)),
        );
      });
    }
    return promise;
  }

  /** On its way to the API server. */
  #start(injected: InjectedFault | undefined, go: () => void): void {
    const { schedule, faults } = this.#network;
    if (injected?.fault !== 'slow') schedule.suspend(this.#caller.actor, go);
    else schedule.later(this.#caller.actor, faults.particulars(injected).between(500, MAX_SLOW_MS), go);
  }

  /** In the API server: the request continues without its sender. */
  async #work<T>(
    call: Call,
    work: (server: ModelCluster) => Promise<T>,
    injected: InjectedFault | undefined,
  ): Promise<T> {
    const { server, onAnswer, trace } = this.#network;
    const said = (error: unknown): void => {
      onAnswer(this.#caller, call, error);
      trace.log(this.#caller.actor, () => `${described(call)} ${outcomeOf(error)}${faultText(injected)}`);
    };
    try {
      const result = await work(server(this.#caller));
      said(undefined);
      return result;
    } catch (error) {
      said(error);
      throw error;
    }
  }

  /** The client's result and its time. Like the project's transport, the client gives up a server that is silent for too long. */
  #answering(
    call: Call,
    injected: InjectedFault | undefined,
    reject: (error: Error) => void,
  ): (resolveCall: () => void) => void {
    const { actor, site, life } = this.#caller;
    const { schedule, faults, trace } = this.#network;
    const giveUp = (): void => {
      if (life.isAlive) reject(new Unreachable(`${described(call)}: silent for too long`));
    };
    const cancel = site === undefined ? NOTHING : schedule.time.after(SILENCE_MS, giveUp);
    return (resolveCall) => {
      const end = (): void => {
        cancel();
        if (!life.isAlive) return;
        if (injected?.fault !== 'crashAfter') {
          resolveCall();
          return;
        }
        trace.log(actor, () => `dies after ${described(call)}`);
        life.end();
      };
      if (injected?.fault !== 'freeze') {
        schedule.suspend(actor, end);
        return;
      }
      cancel();
      const frozen = faults.particulars(injected).below(MAX_FROZEN_MS);
      trace.log(actor, () => `is suspended for ${String(frozen)} ms`);
      schedule.later(actor, frozen, end);
    };
  }

  /** The error of a request that always fails. */
  #broken(call: Call): ApiError | undefined {
    const { site } = this.#caller;
    const code = site === undefined ? undefined : this.#network.broken(call);
    if (site === undefined || code === undefined) return undefined;
    this.#network.faults.count('broken', faultSite(site, call));
    return this.#refusal(call, code);
  }

  #refusal(call: Call, code: number): ApiError {
    const status = { code, message: `HTTP ${String(code)}` };
    return new ApiError(described(call), status, new Date(this.#network.schedule.time.now));
  }

  #inject(site: string, { isWrite }: Call): InjectedFault | undefined {
    const { faults } = this.#network;
    const at = faultSite(site, { isWrite });
    return isWrite ? faults.inject(at, CALL_FAULTS) : faults.inject(at, READ_FAULTS);
  }
}

/** Writes and reads are different sites of faults. */
const faultSite = (site: string, { isWrite }: Pick<Call, 'isWrite'>): string =>
  isWrite ? site : `${site} reads`;

const NOTHING = (): void => undefined;
/** A new promise for each call: waiters on a shared one would keep their whole world in memory. */
const never = (): Promise<never> => new Promise(() => undefined);

const read = (verb: string, { kind }: ResourceType, name: string): Call => ({
  verb,
  kind,
  name,
  isWrite: false,
  dryRun: false,
});

function write(
  verb: string,
  { kind }: ResourceType,
  { name = '', dryRun = false }: { name?: string | undefined; dryRun?: boolean | undefined },
): Call {
  return { verb, kind, name, isWrite: true, dryRun };
}

const described = ({ verb, kind, name, dryRun }: Call): string =>
  `${verb} ${kind} ${name}${dryRun ? ' (dry run)' : ''}`;

const faultText = (injected: { fault: Fault } | undefined): string =>
  injected === undefined ? '' : ` [${injected.fault}]`;

const outcomeOf = (error: unknown): string => {
  if (error === undefined) return 'ok';
  return error instanceof ApiError ? `${error.code} ${error.reason}` : describeError(error);
};
