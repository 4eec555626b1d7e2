import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { VIRTUAL_MACHINES, VMIMS } from '../../../functions/kubernetes/live-resources.ts';
import type { ApiServer } from '../../../functions/kubernetes/cluster.ts';
import { Remotes, type Remote } from '../../../functions/live/read/remote.ts';
import { systemClock } from '../../../functions/runtime/clock.ts';

/**
 * A process that reads hostile API servers: `node hostile-reader.ts GOOD HOSTILE MEMORY_MIB PROVIDERS WAY…`, both servers as a Remote in
 * JSON. It asks each of the Providers every verb again and again, and writes how many milliseconds the check of another tenant takes
 * alone and beside that.
 */

const MIB = 1024 * 1024;
const CHECKS = 30;
const AT = { namespace: 'vms', name: 'web' };
const [good = '', hostile = '', memory = '', providers = '', ...ways] = process.argv.slice(2);
/** All of one tenant. */
const hostileAt = (way: string, token: string): Remote => {
  const remote = JSON.parse(hostile) as Remote;
  return { ...remote, url: new URL(`/${way}`, remote.url).href, token, tenant: 'hostile' };
};
const remotes = new Remotes({
  ...{ allowLoopback: true, clock: systemClock, log: () => undefined },
  isRefused: () => Promise.resolve(false),
  maxKeptBytes: Number(memory) * MIB,
  memoryBytes: Number(memory) * MIB,
});

async function watch(cluster: ApiServer, signal: AbortSignal): Promise<void> {
  const from = { namespace: 'vms', resourceVersion: '7' };
  for await (const { type } of cluster.watch(VMIMS, from, signal)) if (type === 'BOOKMARK') return;
}

async function readForEver(cluster: ApiServer, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await Promise.allSettled([
      ...Array.from({ length: 20 }, () => cluster.get(VIRTUAL_MACHINES, AT)),
      ...Array.from({ length: 4 }, () => cluster.list(VMIMS, { namespace: 'vms' })),
      ...Array.from({ length: 4 }, () => watch(cluster, signal)),
    ]);
    await sleep(10);
  }
}

/** Bytes of memory, at most. Not resourceUsage().maxRSS, which begins with that of the process that started this one (getrusage(2)). */
function highestRss(): number {
  const [, kib = ''] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return Number(kib) * 1_024;
}

/** The milliseconds of the checks of a tenant whose server is good: reads one after another. */
async function check(): Promise<number> {
  const cluster = remotes.at(JSON.parse(good) as Remote);
  const began = performance.now();
  for (let done = 0; done < CHECKS; done += 1) {
    await cluster.get(VIRTUAL_MACHINES, AT);
    await cluster.list(VMIMS, { namespace: 'vms' });
    await sleep(20);
  }
  return performance.now() - began;
}

await check();
const alone = await check();
const stopping = new AbortController();
for (const way of ways)
  for (let index = 0; index < Number(providers); index += 1)
    void readForEver(remotes.at(hostileAt(way, `token-${String(index)}`)), stopping.signal);
await sleep(1_000);
const beside = await check();
stopping.abort();
process.stdout.write(`${JSON.stringify({ alone, beside, rss: highestRss() })}\n`);
process.exit(0);
