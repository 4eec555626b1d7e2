import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Child } from '../../cluster/controlplane/children.ts';
import { startServing, type ServingOptions } from '../../cluster/serving.ts';

export interface Serving extends Child {
  /** Its whole output. */
  readonly printed: () => string;
}

/** Like startServing, in this folder, which also gets its log; `env`: its whole environment except PATH. */
export async function startServingIn(
  folder: string,
  { name, args, env, port }: Omit<ServingOptions, 'logFile' | 'cwd'>,
): Promise<Serving> {
  const logFile = join(folder, `${name}-${String(port)}.log`);
  const whole = { PATH: process.env['PATH'], ...env };
  const child = await startServing({ name, args, env: whole, logFile, cwd: folder, port });
  return { ...child, printed: () => readFileSync(logFile, 'utf8') };
}

/** A kubeconfig for an API server at this port, as JSON; the token is a word to look for in logs. */
export const kubeconfigOf = (port: number): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'some', cluster: { server: `https://127.0.0.1:${String(port)}` } }],
    users: [{ name: 'someone', user: { token: 'the-secret-token' } }],
    contexts: [{ name: 'some', context: { cluster: 'some', user: 'someone' } }],
    'current-context': 'some',
  });
