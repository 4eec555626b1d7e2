import { startChild, type Child } from './controlplane/children.ts';

export interface ServingOptions {
  readonly name: string;
  /** Of Node. */
  readonly args: readonly string[];
  /** Its whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly cwd?: string;
  /** Port of its health endpoints. */
  readonly port: number;
  /** Called with the process at once: it works before it is ready, and the caller may have to end it. */
  readonly onStart?: ((child: Child) => void) | undefined;
  /** The health endpoint to wait for; default readiness. */
  readonly until?: 'readiness' | 'liveness' | undefined;
}

const READY_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** A Node process that serves health at this port; resolves when it is ready (`until`), rejects with the end of its log. */
export async function startServing(serving: ServingOptions): Promise<Child> {
  const { port, onStart, until: wanted = 'readiness', ...options } = serving;
  const child = await startChild({ command: process.execPath, ...options });
  onStart?.(child);
  let ended: string | undefined;
  void child.ended.then((how) => (ended = how));
  const until = performance.now() + READY_WITHIN_MS;
  while (!(await isHealthy(port, wanted))) {
    if (ended !== undefined || performance.now() > until) {
      await child.stop(0);
      throw new Error(`${options.name} is not ready (${ended ?? 'it runs'}). Its log:\n${child.logTail()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return child;
}

async function isHealthy(port: number, what: string): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${String(port)}/health/${what}`)).ok;
  } catch {
    return false;
  }
}
