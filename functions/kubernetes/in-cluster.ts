import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { NoApiServer, type Access } from './access.ts';

/** The kubelet renews a token long before it expires; client-go reads it as often. */
const TOKEN_MS = 60_000;

export interface PodEnvironment {
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, which the kubelet sets in every container. */
  readonly host: string | undefined;
  readonly port: string | undefined;
  /** The folder of the service account, with `token` and `ca.crt`. */
  readonly folder: string;
  /** Milliseconds, from any start. */
  readonly elapsed: () => number;
}

/** The access that a pod has. Throws NoApiServer. */
export function inCluster({ host, port = '443', folder, elapsed }: PodEnvironment): Access {
  if (host === undefined) {
    throw new NoApiServer('KUBECONFIG', {
      cause: new Error('it is not set, and KUBERNETES_SERVICE_HOST says that this is no cluster'),
    });
  }
  const token = tokenIn(folder, elapsed);
  try {
    const server = new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`);
    const ca = readFileSync(join(folder, 'ca.crt'));
    token();
    return {
      server,
      // Rejects rather than throws.
      // eslint-disable-next-line @typescript-eslint/require-await
      credentials: async () => ({ ca, headers: { authorization: `Bearer ${token()}` } }),
    };
  } catch (cause) {
    throw new NoApiServer('SERVICE_ACCOUNT_FOLDER', { cause });
  }
}

function tokenIn(folder: string, elapsed: PodEnvironment['elapsed']): () => string {
  let token: string | undefined;
  let readAt = 0;
  return () => {
    if (token === undefined || elapsed() - readAt >= TOKEN_MS) {
      token = readFileSync(join(folder, 'token'), 'utf8').trim();
      readAt = elapsed();
    }
    return token;
  };
}
