import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Below which the kubelet makes the pods' control groups. */
export interface Cgroup {
  /** In every hierarchy, from its top: "/mtq-node-…". */
  readonly path: string;
  /** Removes it in every hierarchy, with what is below it. Rejects when a process stays in it. */
  remove(): Promise<void>;
}

const WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 50;

/** Makes a control group of this name in every hierarchy of this machine: the one of cgroup v2, or the many of v1. */
export function makeCgroup(name: string): Cgroup {
  const folders = hierarchies(readFileSync('/proc/self/mountinfo', 'utf8')).map((top) => join(top, name));
  const remove = async (): Promise<void> => {
    for (const folder of folders) await removeWhenEmpty(folder);
  };
  try {
    for (const folder of folders) mkdirSync(folder);
  } catch (cause) {
    // A hierarchy that may not be written; the others may have been.
    for (const folder of folders) removeTree(folder);
    throw new Error('no control group can be made here, and the kubelet needs one', { cause });
  }
  return { path: `/${name}`, remove };
}

/** Where they are mounted, by /proc/self/mountinfo (man 5 proc). */
export function hierarchies(mountinfo: string): string[] {
  const found = mountinfo.split('\n').flatMap((line) => {
    const [mount = '', filesystem = ''] = line.split(' - ');
    const point = mount.split(' ')[4];
    return point !== undefined && /^cgroup2? /.test(filesystem) ? [point] : [];
  });
  return [...new Set(found)];
}

/** A process that was killed leaves its group a moment later. */
async function removeWhenEmpty(folder: string): Promise<void> {
  const until = performance.now() + WITHIN_MS;
  for (;;) {
    try {
      removeTree(folder);
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
    }
    await delay(LOOK_EVERY_MS);
  }
}

/** Its files go with it; only groups below it must go first. */
function removeTree(folder: string): void {
  let below;
  try {
    below = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  for (const entry of below) if (entry.isDirectory()) removeTree(join(folder, entry.name));
  rmdirSync(folder);
}
