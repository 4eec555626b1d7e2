import { createHash } from 'node:crypto';
import { Agent, type AgentOptions } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { FIELD_MANAGER } from '../../domain/names.ts';
import { Client } from '../../kubernetes/api-client.ts';
import type { Bounds } from '../../kubernetes/bounds.ts';
import { SharedMemory, type TenantBudget } from '../../kubernetes/budget.ts';
import type { ApiServer } from '../../kubernetes/cluster.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { Transport } from '../../kubernetes/transport.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../runtime/log.ts';
import { BoundedCluster } from './bounded-cluster.ts';
import { isOwnAddress, lookupOthers, refused, withoutIpv6Form, type IsRefused } from './own-addresses.ts';

/** The API server of another cluster, and a token for it. */
export interface Remote {
  /** https. */
  readonly url: string;
  readonly token: string;
  /** PEM; undefined for the certificates that Node trusts. */
  readonly ca: string | undefined;
  /** Whether the certificate is not checked. */
  readonly isInsecure: boolean;
  /** The Provider's namespace: all servers of one share a budget. */
  readonly tenant: string;
}

export interface RemotesOptions {
  /** Whether addresses of this machine are allowed: only for clusters that are on it, and never by a tenant's input. */
  readonly allowLoopback: boolean;
  /** Whether an address is refused besides. It gets IPv4 addresses as such, however they are written. */
  readonly isRefused: IsRefused;
  /** See Client. */
  readonly maxKeptBytes: number;
  /** Bytes for the answers of all API servers together; they may take twice as much. */
  readonly memoryBytes: number;
  readonly clock: Clock;
  readonly log: Log;
}

const MIB = 1024 * 1024;

/** What is taken of an API server that a tenant names. */
const BOUNDS: Omit<Bounds, 'budget'> = {
  // Kubernetes stores 1.5 MiB, which may be six times that as JSON ("<" is sent as "\\u003c").
  objectBytes: 9 * MIB,
  pageBytes: 8 * MIB,
  // A VM has a thousand, one with 9,000 labels 63,000.
  objectValues: 100_000,
  pageValues: 300_000,
  depth: 100,
  ...{ objectMs: 5_000, pageMs: 10_000, listMs: 30_000, listPages: 1_000 },
  errorText: 512,
  isNamedByTenant: true,
};

const MAX_TENANTS = 100;
const MAX_REMOTES = 100;

interface Tenant {
  readonly budget: TenantBudget;
  /** Clients by their connection and token. Another token is another client. */
  readonly clients: Map<string, ApiServer>;
}

/** Clients, so that connections are kept from one event to the next. No tenant takes the time, the memory or the clients of another one. */
export class Remotes {
  readonly #options: RemotesOptions;
  readonly #memory: SharedMemory;
  readonly #tenants = new Map<string, Tenant>();

  constructor(options: RemotesOptions) {
    this.#options = options;
    this.#memory = new SharedMemory(options.memoryBytes);
  }

  get allowLoopback(): boolean {
    return this.#options.allowLoopback;
  }

  at(remote: Remote): ApiServer {
    const newTenant = (): Tenant => ({ budget: this.#memory.newBudget(), clients: new Map() });
    const { budget, clients } = used(this.#tenants, remote.tenant, MAX_TENANTS, newTenant);
    const key = createHash('sha256').update(JSON.stringify(remote)).digest('hex');
    return used(clients, key, MAX_REMOTES, () => this.#connect(remote, budget));
  }

  readonly #isRefused: IsRefused = async (written) => {
    const { allowLoopback, isRefused } = this.#options;
    const address = withoutIpv6Form(written);
    return (!allowLoopback && isOwnAddress(address)) || isRefused(address);
  };

  /** Creates the client; connections are kept. A redirect is an error, so the token goes to this address only. */
  #connect({ url, token, ca, isInsecure }: Remote, budget: TenantBudget): ApiServer {
    const { maxKeptBytes, clock, log } = this.#options;
    const server = new URL(url);
    const agent = new OthersAgent(this.#isRefused, {
      keepAlive: true,
      ...(ca === undefined ? {} : { ca }),
      ...(isInsecure ? { rejectUnauthorized: false } : {}),
      lookup: lookupOthers(this.#isRefused),
    });
    const credentials = { headers: { authorization: `Bearer ${token}` }, agent };
    const access = { server, credentials: () => Promise.resolve(credentials), bounds: { ...BOUNDS, budget } };
    const client = new Client(new Transport(access, FIELD_MANAGER), FIELD_MANAGER, maxKeptBytes);
    const onFailure = (error: unknown): void =>
      log('warn', 'no answer from the API server of a Provider', {
        server: server.host,
        error: describeError(error),
      });
    return new BoundedCluster(client, { budget, clock, onFailure });
  }
}

/** Returns the value of the key, which is then the last of the map. The first, which was used least recently, is forgotten beyond `max`. */
function used<T>(map: Map<string, T>, key: string, max: number, make: () => T): T {
  const value = map.get(key) ?? make();
  map.delete(key);
  const [first = ''] = map.keys();
  if (map.size >= max) map.delete(first);
  map.set(key, value);
  return value;
}

/** Connects to no address that is refused. An address is looked up nowhere; each connection is checked, because a pod may get it meanwhile. */
class OthersAgent extends Agent {
  readonly #isRefused: IsRefused;

  constructor(isRefused: IsRefused, options: AgentOptions) {
    super(options);
    this.#isRefused = isRefused;
  }

  override createConnection(...[options, callback]: Parameters<Agent['createConnection']>): undefined {
    const host = options.host ?? '';
    const expectOther = async (): Promise<void> => {
      if (isIP(host) !== 0 && (await this.#isRefused(host))) throw refused(host);
    };
    // Node sends the error to the request.
    const answer = callback as (error: Error | null, socket?: Duplex | null) => void;
    expectOther().then(
      () => answer(null, super.createConnection(options)),
      (error: unknown) => answer(error as Error),
    );
  }
}

/** The cluster of the plans, and the way to the others. */
export interface Reach {
  readonly hub: ApiServer;
  readonly remotes: Pick<Remotes, 'allowLoopback' | 'at'>;
}
