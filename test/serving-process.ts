import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, type Child } from '../local/controlplane/children.ts';

export interface ServingOptions {
  readonly name: string;
  readonly args: readonly string[];
  /** Its whole environment, but for PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** Where it runs, and where its log goes. */
  readonly folder: string;
  readonly port: number;
}

export interface Serving extends Child {
  /** Everything it has printed. */
  readonly printed: () => string;
}

const READY_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** A Node process that serves health at this port; resolves when it is ready, rejects with the end of its log. */
export async function startServing({ name, args, env, folder, port }: ServingOptions): Promise<Serving> {
  const logFile = join(folder, `${name}-${String(port)}.log`);
  const child = await startChild({
    name,
    command: process.execPath,
    args,
    logFile,
    env: { PATH: process.env['PATH'], ...env },
    cwd: folder,
  });
  let ended: string | undefined;
  void child.ended.then((how) => (ended = how));
  const until = performance.now() + READY_WITHIN_MS;
  while (!(await isReady(port))) {
    if (ended !== undefined || performance.now() > until) {
      await child.stop(0);
      throw new Error(`${name} is not ready (${ended ?? 'it runs'}):\n${child.logTail()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return { ...child, printed: () => readFileSync(logFile, 'utf8') };
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${String(port)}/health/readiness`)).ok;
  } catch {
    return false;
  }
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
