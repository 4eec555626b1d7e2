import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isLeaving, killAtExit } from './exit.ts';

export interface ChildOptions {
  /** For messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Where its stdout and stderr are appended. */
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** A child process that dies with this process. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  /** Resolves with its end ("exit code 1", "signal SIGKILL"); never resolves while this process itself is ending. */
  readonly ended: Promise<string>;
  /** SIGSTOP; resolves when all its threads have stopped, which may take time on a busy machine; or at a SIGCONT. */
  pause(): Promise<void>;
  /** Sends a signal to the process (not to its children). Does nothing when it is gone. */
  signal(signal: NodeJS.Signals): void;
  /**
   * SIGTERM, SIGKILL after `graceMs` (milliseconds; 0: at once), and SIGKILL to its remaining children. Resolves
   * when it is gone.
   */
  stop(graceMs?: number): Promise<void>;
  /** The last lines of its log, for an error message. */
  logTail(): string;
  /** This process may end while it runs, and then ends it. */
  unref(): void;
}

const GRACE_MS = 5_000;
const TAIL_LINES = 15;
const LOOK_EVERY_MS = 2;

/** Starts a process in its own session, so that Ctrl-C reaches only this process, which then ends its children in order. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const log = openSync(options.logFile, 'a');
  const [command, args] = dyingWithUs(options.command, options.args);
  const spawned = spawn(command, args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: options.env ?? process.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  closeSync(log);
  let over = false;
  /** Number of SIGCONTs so far. */
  let going = 0;
  const gone = new Promise<string>((resolve) => {
    spawned.once('exit', (code, signal) =>
      resolve(signal === null ? `exit code ${String(code)}` : `signal ${signal}`),
    );
  });
  const pid = spawned.pid;
  // Without a pid it never ran, and the error has the reason.
  if (pid === undefined) return failedToStart(spawned, options.name);
  const killGroup = (): void => kill(-pid, 'SIGKILL');
  const forget = killAtExit({ kill: killGroup, gone });
  void gone.then(() => {
    over = true;
    forget();
  });

  return {
    name: options.name,
    pid,
    ended: gone.then((how) => (isLeaving() ? new Promise<string>(() => undefined) : how)),
    signal: (signal) => {
      if (signal === 'SIGCONT') going += 1;
      if (!over) kill(pid, signal);
    },
    pause: async () => {
      if (!over) kill(pid, 'SIGSTOP');
      const since = going;
      while (going === since && !over && !isStopped(pid)) await delay(LOOK_EVERY_MS);
    },
    stop: async (graceMs = GRACE_MS) => {
      if (over) return;
      if (graceMs > 0) kill(pid, 'SIGTERM');
      const timer = setTimeout(killGroup, graceMs);
      await gone;
      clearTimeout(timer);
      killGroup();
    },
    logTail: () => tail(options.logFile),
    unref: () => spawned.unref(),
  };
}

/** Rejects when one of the children ends by itself: "etcd ended unexpectedly (exit code 1)" and the end of its log. */
export async function failWhenOneEnds(children: readonly Child[]): Promise<never> {
  return Promise.race(
    children.map(async (child) => {
      const how = await child.ended;
      throw new Error(`${child.name} ended unexpectedly (${how}). The end of its log:\n${child.logTail()}`);
    }),
  );
}

async function failedToStart(spawned: ChildProcess, name: string): Promise<never> {
  const cause: unknown = await new Promise((resolve) => spawned.once('error', resolve));
  throw new Error(`cannot start ${name}`, { cause });
}

let canDieWithParent: boolean | undefined;

/** With util-linux the kernel kills the child even when SIGKILL ends this process. */
function dyingWithUs(command: string, args: readonly string[]): [string, string[]] {
  canDieWithParent ??= spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;
  return canDieWithParent
    ? ['setpriv', ['--pdeathsig', 'KILL', '--', command, ...args]]
    : [command, [...args]];
}

/** One thread gets the signal, and stops the others when it is scheduled (proc(5): state T). True without /proc. */
function isStopped(pid: number): boolean {
  const tasks = `/proc/${String(pid)}/task`;
  if (!existsSync(tasks)) return true;
  return readdirSync(tasks).every((thread) => {
    const stat = readFileSync(`${tasks}/${thread}/stat`, 'utf8');
    return ['T', 'Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '');
  });
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // Already gone (macOS answers EPERM for a group of zombies).
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['ESRCH', 'EPERM'].includes(code)) throw error;
  }
}

/** Whether a process with this id is running. A zombie is not: some init processes take their time to collect them. */
export function isRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}

function tail(file: string): string {
  if (!existsSync(file)) return '(no log)';
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.slice(-TAIL_LINES).join('\n');
}
