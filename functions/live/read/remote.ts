import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import { FIELD_MANAGER } from '../../domain/names.ts';
import { Client } from '../../kubernetes/api-client.ts';
import type { Bounds } from '../../kubernetes/bounds.ts';
import { SharedMemory } from '../../kubernetes/budget.ts';
import type { ApiServer } from '../../kubernetes/cluster.ts';
import { describeError, Unreachable } from '../../kubernetes/errors.ts';
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

const MAX_REMOTES = 100;

/** Clients by their connection and token, so that connections are kept from one event to the next. Another token is another client. */
export class Remotes {
  readonly #options: RemotesOptions;
  readonly #memory: SharedMemory;
  readonly #known = new Map<string, ApiServer>();

  constructor(options: RemotesOptions) {
    this.#options = options;
    this.#memory = new SharedMemory(options.memoryBytes);
  }

  get allowLoopback(): boolean {
    return this.#options.allowLoopback;
  }

  at(remote: Remote): ApiServer {
    const key = createHash('sha256').update(JSON.stringify(remote)).digest('hex');
    const client = this.#known.get(key) ?? this.#connect(remote);
    const [oldest = ''] = this.#known.keys();
    // The one that was used last is the last one of the map.
    this.#known.delete(key);
    if (this.#known.size >= MAX_REMOTES) this.#known.delete(oldest);
    this.#known.set(key, client);
    return client;
  }

  readonly #isRefused: IsRefused = async (written) => {
    const { allowLoopback, isRefused } = this.#options;
    const address = withoutIpv6Form(written);
    return (!allowLoopback && isOwnAddress(address)) || isRefused(address);
  };

  /** Creates the client; connections are kept. A redirect is an error, so the token goes to this address only. */
  #connect({ url, token, ca, isInsecure }: Remote): ApiServer {
    const { maxKeptBytes, clock, log } = this.#options;
    const server = new URL(url);
    const credentials: RequestOptions = {
      headers: { authorization: `Bearer ${token}` },
      ...(ca === undefined ? {} : { ca }),
      ...(isInsecure ? { rejectUnauthorized: false } : {}),
      lookup: lookupOthers(this.#isRefused),
    };
    // An address is looked up nowhere, so it is checked before the first request.
    let isChecked = false;
    const expectOther = async (): Promise<void> => {
      const address = server.hostname.replace(/^\[|\]$/g, '');
      if (isIP(address) !== 0 && !isChecked && (await this.#isRefused(address)))
        throw new Unreachable('no request is sent', { cause: refused(server.hostname) });
      isChecked = true;
    };
    const budget = this.#memory.newBudget();
    const access = {
      server,
      credentials: async () => {
        await expectOther();
        return credentials;
      },
      bounds: { ...BOUNDS, budget },
    };
    const client = new Client(new Transport(access, FIELD_MANAGER), FIELD_MANAGER, maxKeptBytes);
    const onFailure = (error: unknown): void =>
      log('warn', 'no answer from the API server of a Provider', {
        server: server.host,
        error: describeError(error),
      });
    return new BoundedCluster(client, { budget, clock, onFailure });
  }
}

/** The cluster of the plans, and the way to the others. */
export interface Reach {
  readonly hub: ApiServer;
  readonly remotes: Pick<Remotes, 'allowLoopback' | 'at'>;
}
