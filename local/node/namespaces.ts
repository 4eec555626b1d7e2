import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { killAtExit } from '../controlplane/exit.ts';

/**
 * Of mounts: what is mounted is mounted for nobody else. Of the network: its own addresses, bridge and ports. Of processes:
 * when the first one ends, however it ends, the kernel ends all others. So containers, mounts, interfaces and routes cannot
 * outlive the run.
 */
const NAMESPACES = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];

export interface Inside {
  readonly module: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** What remains to be cleared away when all of it is gone, however it ended. */
  readonly afterwards: () => Promise<void>;
}

/** Runs a module of ours as the first process of namespaces of its own; resolves with its exit code. */
export async function runInside({ module, args, env, afterwards }: Inside): Promise<number> {
  const command = ['unshare', ...NAMESPACES, process.execPath, module, ...args];
  // In a session of its own, so that Ctrl-C reaches only us; gone with us, even when we are killed.
  const running = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command], {
    stdio: ['ignore', 'inherit', 'pipe'],
    detached: true,
    env,
  });
  running.stderr.pipe(process.stderr);
  const ended = new Promise<number>((resolve, reject) => {
    running.once('error', reject);
    running.once('exit', (code) => resolve(code ?? 1));
  });
  const cleared = ended.finally(afterwards);
  const kill = (): void => {
    // Of a first process that was killed unshare complains.
    running.stderr.unpipe();
    killFirst(running.pid);
  };
  const forget = killAtExit({ kill, gone: cleared });
  try {
    return await cleared;
  } finally {
    forget();
  }
}

/**
 * Kills the first process in there, not unshare, which waits for it: so it ends after all of them. (Killed itself, it would
 * end before.)
 */
function killFirst(unshare: number | undefined): void {
  if (unshare === undefined) return;
  try {
    const [first] = readFileSync(`/proc/${unshare}/task/${unshare}/children`, 'utf8').split(' ');
    process.kill(Number(first) === 0 ? unshare : Number(first), 'SIGKILL');
  } catch {
    // Gone already.
  }
}
