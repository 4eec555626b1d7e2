import { readdirSync, readFileSync } from 'node:fs';
import type { LocalCluster } from '../../test/cluster/cluster.ts';

const NS_PER_MS = 1_000_000;

/** PIDs of the guard and of every function that runs. */
export const ownPids = (cluster: LocalCluster): number[] => [cluster.guard().pid, ...functionPids(cluster)];

/** PIDs of the functions that run. */
export const functionPids = ({ eventing }: LocalCluster): number[] =>
  eventing.activator.running().map(({ pid }) => pid);

/** CPU time of these processes so far, milliseconds: all threads, as the scheduler counts it (Linux, /proc/…/schedstat). */
export const cpuMs = (pids: readonly number[]): number =>
  pids
    .flatMap((pid) =>
      readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}/schedstat`),
    )
    .map((file) => Number(readFileSync(file, 'utf8').split(' ')[0]) / NS_PER_MS)
    .reduce((sum, each) => sum + each, 0);

/** Resident memory of a process, MiB (VmRSS). */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  return Number(kibibytes) / 1_024;
}
