import { readFileSync } from 'node:fs';

const HOME = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Requests to the API server; Node trusts its certificate by NODE_EXTRA_CA_CERTS. Rejects unless the answer is 2xx. */
export async function request<T>(path: string, change?: object): Promise<T> {
  const { API_SERVER = 'https://kubernetes.default.svc', TOKEN_FILE = `${HOME}/token` } = process.env;
  const token = readFileSync(TOKEN_FILE, 'utf8').trim();
  const response = await fetch(new URL(path, API_SERVER), {
    method: change === undefined ? 'GET' : 'PATCH',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' },
    ...(change === undefined ? {} : { body: JSON.stringify(change) }),
    signal: AbortSignal.timeout(5_000),
  });
  if (!response.ok) throw new Error(`${path}: ${String(response.status)}`);
  return (await response.json()) as T;
}
