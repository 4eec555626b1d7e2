import { FIELD_MANAGER } from '../domain/names.ts';
import { Client } from './api-client.ts';
import type { ApiServer } from './cluster.ts';
import { inCluster } from './in-cluster.ts';
import { Transport } from './transport.ts';

export interface ApiServerAddress {
  readonly KUBECONFIG?: string | undefined;
  readonly SERVICE_ACCOUNT_FOLDER: string;
}

/** Bytes kept of one list: one of our processes may use 256 MiB in all (docs/scale.md). */
export const MAX_KEPT_BYTES = 24 * 1024 * 1024;

/**
 * The API server of KUBECONFIG where it is set, else of the cluster around the pod. Only a kubeconfig needs client-node: half
 * of what a function would otherwise load at a cold start (docs/adr/0013). Rejects with NoApiServer.
 */
export async function reachApiServer({
  KUBECONFIG: kubeconfig,
  SERVICE_ACCOUNT_FOLDER: folder,
}: ApiServerAddress): Promise<ApiServer> {
  if (kubeconfig !== undefined) {
    return (await import('./client.ts')).connect(kubeconfig, FIELD_MANAGER, {
      maxKeptBytes: MAX_KEPT_BYTES,
    });
  }
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  const access = inCluster({ host, port, folder, elapsed: () => performance.now() });
  return new Client(new Transport(access, FIELD_MANAGER), FIELD_MANAGER, MAX_KEPT_BYTES);
}
