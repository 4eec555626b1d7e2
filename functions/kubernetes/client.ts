import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { FIELD_MANAGER } from '../domain/names.ts';
import { NoApiServer, type Access } from './access.ts';
import { Client } from './api-client.ts';
import type { ApiServer } from './cluster.ts';
import { Transport } from './transport.ts';

export interface ConnectOptions {
  /** See Client. */
  readonly maxKeptBytes?: number;
  /** See Access. */
  readonly silenceMs?: number;
}

/**
 * The API server of a kubeconfig's current context. `fieldManager`: the user agent, and the field manager of writes that name
 * no other; our own processes leave it out. Throws NoApiServer.
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

/** As `connect`, by a loaded kubeconfig. Throws where its current context has no cluster. */
export function connectBy(
  config: KubeConfig,
  fieldManager: string,
  { maxKeptBytes, silenceMs }: ConnectOptions,
): ApiServer {
  const access = { ...accessBy(config), ...(silenceMs === undefined ? {} : { silenceMs }) };
  return new Client(new Transport(access, fieldManager), fieldManager, maxKeptBytes);
}

function accessBy(config: KubeConfig): Access {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('it has no current context with a cluster');
  return {
    server: new URL(cluster.server),
    credentials: async () => {
      const credentials: RequestOptions = { headers: {} };
      await config.applyToHTTPSOptions(credentials);
      // Only a proxy needs it: it keeps no connection.
      if (cluster.proxyUrl === undefined) delete credentials.agent;
      return credentials;
    },
  };
}
