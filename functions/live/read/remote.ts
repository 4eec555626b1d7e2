import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import { FIELD_MANAGER } from '../../domain/names.ts';
import { Client } from '../../kubernetes/api-client.ts';
import type { ApiServer } from '../../kubernetes/cluster.ts';
import { lookupOthers } from './own-addresses.ts';
import { Transport } from '../../kubernetes/transport.ts';

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

export interface RemoteOptions {
  /** Whether addresses of this machine are allowed: only for clusters that are on it, and never by a tenant's input. */
  readonly allowLoopback: boolean;
  /** See Client. */
  readonly maxKeptBytes: number;
}

/** Creates the client of another cluster; connections are kept. A redirect is an error, so the token goes to this address only. */
export function connectRemote(
  { url, token, ca, isInsecure }: Remote,
  { allowLoopback, maxKeptBytes }: RemoteOptions,
): ApiServer {
  const credentials: RequestOptions = {
    headers: { authorization: `Bearer ${token}` },
    ...(ca === undefined ? {} : { ca }),
    ...(isInsecure ? { rejectUnauthorized: false } : {}),
    ...(allowLoopback ? {} : { lookup: lookupOthers }),
  };
  const access = { server: new URL(url), credentials: () => Promise.resolve(credentials) };
  return new Client(new Transport(access, FIELD_MANAGER), FIELD_MANAGER, maxKeptBytes);
}

const MAX_REMOTES = 100;

/** Clients by their connection and token, so that connections are kept from one event to the next. Another token is another client. */
export class Remotes {
  readonly #options: RemoteOptions;
  readonly #known = new Map<string, ApiServer>();

  constructor(options: RemoteOptions) {
    this.#options = options;
  }

  get allowLoopback(): boolean {
    return this.#options.allowLoopback;
  }

  at(remote: Remote): ApiServer {
    const key = createHash('sha256').update(JSON.stringify(remote)).digest('hex');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const client = connectRemote(remote, this.#options);
    if (this.#known.size >= MAX_REMOTES) this.#known.clear();
    this.#known.set(key, client);
    return client;
  }
}

/** The cluster of the plans, and the way to the others. */
export interface Reach {
  readonly hub: ApiServer;
  readonly remotes: Pick<Remotes, 'allowLoopback' | 'at'>;
}
