import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { FIELD_MANAGER } from '../domain/names.ts';
import { NoApiServer, type Access } from './access.ts';
import { Client } from './api-client.ts';
import type { ApiServer } from './cluster.ts';
import { Unreachable } from './errors.ts';
import { Transport } from './transport.ts';

export interface ConnectOptions {
  /** See Client. */
  readonly maxKeptBytes?: number;
  /** See Access. */
  readonly silenceMs?: number;
  /** Headers of each request, besides those of the credentials. */
  readonly headers?: OutgoingHttpHeaders;
}

/**
 * The API server of a kubeconfig's current context. `fieldManager`: also the user agent; our own processes leave it out.
 * Throws NoApiServer.
 */
export function connect(
  kubeconfig: string,
  fieldManager = FIELD_MANAGER,
  options: ConnectOptions = {},
): ApiServer {
  const config = new KubeConfig();
  try {
    config.loadFromFile(kubeconfig);
    return connectBy(config, fieldManager, options);
  } catch (cause) {
    throw new NoApiServer('KUBECONFIG', { cause });
  }
}

/** Connects like `connect`, by a loaded kubeconfig. Throws where its current context has no cluster. */
export function connectBy(
  config: KubeConfig,
  fieldManager: string,
  { maxKeptBytes, silenceMs, headers = {} }: ConnectOptions,
): ApiServer {
  const access = { ...accessBy(config, headers), ...(silenceMs === undefined ? {} : { silenceMs }) };
  return new Client(new Transport(access, fieldManager), fieldManager, maxKeptBytes);
}

function accessBy(config: KubeConfig, headers: OutgoingHttpHeaders): Access {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('it has no current context with a cluster');
  let asked: Promise<RequestOptions> | undefined;
  return {
    server: new URL(cluster.server),
    // A credential plugin (`users[].user.exec`) is asked once by requests at the same time.
    credentials: () =>
      (asked ??= credentialsOf(config, { hasProxy: cluster.proxyUrl !== undefined, headers }).finally(() => {
        asked = undefined;
      })),
  };
}

async function credentialsOf(
  config: KubeConfig,
  { hasProxy, headers }: { readonly hasProxy: boolean; readonly headers: OutgoingHttpHeaders },
): Promise<RequestOptions> {
  const credentials: RequestOptions = { headers: { ...headers } };
  try {
    await config.applyToHTTPSOptions(credentials);
  } catch (cause) {
    throw new Unreachable('the kubeconfig gives no credentials', { cause });
  }
  // Only a proxy needs it: it keeps no connection.
  if (!hasProxy) delete credentials.agent;
  return credentials;
}
