import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { aProgress, aStatus } from '../../test/support/builders/maintenance.ts';
import type { MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import type { Clock } from '../../functions/runtime/clock.ts';
import { Terminal } from '../terminal/terminal.ts';
import { followMaintenance } from './maintenance.ts';

const done = aProgress('Drain', aStatus([1], [], { state: 'Completed' }));

/** Follows `name` where these objects exist from this second on; "exit code or error, after so many seconds". */
async function followed(
  name: string | undefined,
  { objects, from = 0 }: { readonly objects: readonly MaintenanceProgress[]; readonly from?: number },
): Promise<string> {
  let ms = 0;
  const clock: Clock = {
    elapsed: () => ms,
    now: () => new Date(ms),
    after: (delay, work) => {
      ms += delay;
      setImmediate(work);
      return () => undefined;
    },
  };
  const cluster = {
    create: () => Promise.resolve({ object: { status: { allowed: true } } }),
    list: () => Promise.resolve({ items: ms >= from * 1_000 ? objects : [], resourceVersion: '1' }),
    watch: () => Promise.reject(new Error('not watched here')),
  } as unknown as ApiServer;
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const terminal = new Terminal({ stdin, stdout, stderr } as unknown as NodeJS.Process);
  const code = await followMaintenance(
    name,
    { session: { cluster, namespace: 'default' }, terminal },
    clock,
  ).catch((error: unknown) => (error instanceof Error ? error.message : error));
  return `${String(code)}, after ${String(ms / 1_000)} s`;
}

test.each<[string, Parameters<typeof followed>, string]>([
  ['follows what has ended by its name', [done.metadata.name, { objects: [done] }], '0, after 0 s'],
  ['waits for a drain to begin', [done.metadata.name, { objects: [done], from: 59 }], '0, after 59 s'],
  ['gives up after a minute', ['node1', { objects: [] }], 'no drain or upgrade is about node1, after 60 s'],
  [
    'then names the last one',
    ['node1', { objects: [done] }],
    'no drain or upgrade of node1 is under way; the last one: kubectl vmmrq progress drain-12345678-1, after 60 s',
  ],
  [
    'does not wait without a name',
    [undefined, { objects: [] }],
    'no drain or upgrade is under way, after 0 s',
  ],
])('%s', async (_, args, want) => {
  expect(await followed(...args)).toBe(want);
});
