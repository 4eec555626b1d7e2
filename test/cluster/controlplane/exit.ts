import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { writingTo, type Place } from './unwritable.ts';

/**
 * Everything that this process must clean up, however it ends: one registry for the demo, the tests and `npm run local`.
 * (By SIGKILL it can leave folders, and where children.ts has no help from the kernel, processes.)
 */

/** A resource that must not outlive this process. */
export interface ChildHandle {
  /** Ends it at once and synchronously: SIGKILL, not a request. */
  kill(): void;
  /** Resolves when it is over. */
  readonly gone: Promise<unknown>;
}

export interface TemporaryFolder {
  readonly path: string;
  /** Removes the folder and its content. */
  remove(): void;
}

// Under jest `process` is a copy whose listeners are never called; this is the real one.
const self = runInThisContext('process') as NodeJS.Process;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const EXIT_DELAY_MS = 3_000;

const children = new Set<ChildHandle>();
const folders = new Set<string>();
let leaving = false;
let listening = false;

/** True after a signal to end this process: the end of a child is then no error. */
export const isLeaving = (): boolean => leaving;

/** Ends `mortal` when this process ends (except by SIGKILL). Call the result when `mortal` has ended by itself. */
export function killAtExit(child: ChildHandle): () => void {
  children.add(child);
  listen();
  return () => {
    children.delete(child);
    listen();
  };
}

/**
 * A new folder in `place`. It is removed by `remove` or when this process ends, after all mortals. Throws an Error with the variable to
 * set where nothing can be written.
 */
export function temporaryFolder(
  prefix: string,
  place: Place = { folder: tmpdir(), variable: 'TMPDIR' },
): TemporaryFolder {
  const path = writingTo(place, () => mkdtempSync(join(place.folder, prefix)));
  folders.add(path);
  listen();
  return {
    path,
    remove: () => {
      removeFolder(path);
      listen();
    },
  };
}

/** Listens only while a mortal exists, because every jest file has its own copy of this module. */
function listen(): void {
  const wanted = children.size + folders.size > 0;
  if (wanted === listening || leaving) return;
  listening = wanted;
  if (wanted) self.on('exit', atExit);
  else self.off('exit', atExit);
  for (const signal of SIGNALS) {
    if (wanted) self.on(signal, onSignal);
    else self.off(signal, onSignal);
  }
}

function onSignal(signal: NodeJS.Signals): void {
  const code = 128 + constants.signals[signal];
  if (leaving) self.exit(code);
  leaving = true;
  // So that hack/script.ts expects what fails from now on.
  self.exitCode = code;
  void killAllAndWait().then(() => self.exit(code));
}

/** Waits for all of them, so that no port and no process remains. */
async function killAllAndWait(): Promise<void> {
  killAll();
  const timeout = new Promise((resolve) => setTimeout(resolve, EXIT_DELAY_MS));
  await Promise.race([Promise.allSettled([...children].map(({ gone }) => gone)), timeout]);
}

function atExit(): void {
  killAll();
  for (const folder of folders) removeFolder(folder);
}

function killAll(): void {
  for (const child of children) child.kill();
}

function removeFolder(path: string): void {
  // A just killed process may still be writing, so retry for a while.
  rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  folders.delete(path);
}
