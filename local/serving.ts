import { startChild, type Child } from './controlplane/children.ts';

export interface ServingOptions {
  readonly name: string;
  /** Of Node. */
  readonly args: readonly string[];
  /** Its whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly cwd?: string;
  /** Where it serves its health. */
  readonly port: number;
  /** Hears of the process at once: before it is ready it works already, and may have to be ended. */
  readonly onStart?: ((child: Child) => void) | undefined;
}

const READY_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** A Node process that serves health at this port; resolves when it is ready, rejects with the end of its log. */
export async function startServing({ port, onStart, ...options }: ServingOptions): Promise<Child> {
  const child = await startChild({ command: process.execPath, ...options });
  onStart?.(child);
  let ended: string | undefined;
  void child.ended.then((how) => (ended = how));
  const until = performance.now() + READY_WITHIN_MS;
  while (!(await isReady(port))) {
    if (ended !== undefined || performance.now() > until) {
      await child.stop(0);
      throw new Error(`${options.name} is not ready (${ended ?? 'it runs'}). Its log:\n${child.logTail()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return child;
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${String(port)}/health/readiness`)).ok;
  } catch {
    return false;
  }
}
