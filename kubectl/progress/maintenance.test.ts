import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { aProgress, aStatus } from '../../test/support/builders/maintenance.ts';
import { createdAt, NOW, seconds } from '../../test/support/builders/object.ts';
import type { MaintenanceProgress, ProgressState } from '../../functions/domain/progress/progress-object.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import type { Clock } from '../../functions/runtime/clock.ts';
import { Terminal } from '../terminal/terminal.ts';
import { followMaintenance } from './maintenance.ts';

const done = aProgress('Drain', aStatus([1], [], { state: 'Completed' }));
/** A drain that ended so many seconds before the time of the API server, by a clock that is an hour wrong. */
const endedAgo = (ago: number, state: ProgressState = 'Completed'): MaintenanceProgress => {
  const times = { startedAt: seconds(3_600), endedAt: seconds(3_660) };
  return createdAt(-ago - 60)(aProgress('Drain', aStatus([1], [], { state, ...times, message: 'so it is' })));
};

interface Followed {
  /** "exit code or error, after so many seconds". */
  readonly end: string;
  readonly stdout: string;
  readonly stderr: string;
  /** What stderr has before the first pause. */
  readonly atOnce: string;
}

/** Follows `name` where these objects exist from this second on. */
async function followed(
  name: string | undefined,
  { objects, from = 0 }: { readonly objects: readonly MaintenanceProgress[]; readonly from?: number },
): Promise<Followed> {
  let ms = 0;
  let atOnce: string | undefined;
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const said = { stdout: '', stderr: '' };
  stdout.on('data', (chunk: Buffer) => void (said.stdout += chunk.toString()));
  stderr.on('data', (chunk: Buffer) => void (said.stderr += chunk.toString()));
  const clock: Clock = {
    elapsed: () => ms,
    now: () => new Date(ms),
    after: (delay, work) => {
      setImmediate(() => {
        atOnce ??= said.stderr;
        ms += delay;
        work();
      });
      return () => undefined;
    },
  };
  const cluster = {
    create: () => Promise.resolve({ object: { status: { allowed: true } } }),
    list: () =>
      Promise.resolve({
        items: ms >= from * 1_000 ? objects : [],
        resourceVersion: '1',
        date: new Date(NOW + ms),
      }),
    watch: () => Promise.reject(new Error('not watched here')),
  } as unknown as ApiServer;
  const terminal = new Terminal({ stdin, stdout, stderr } as unknown as NodeJS.Process);
  const code = await followMaintenance(
    name,
    { session: { cluster, namespace: 'default' }, terminal },
    clock,
  ).catch((error: unknown) => (error instanceof Error ? error.message : error));
  return { end: `${String(code)}, after ${String(ms / 1_000)} s`, ...said, atOnce: atOnce ?? '' };
}

test.each<[string, Parameters<typeof followed>, string]>([
  ['follows what has ended by its name', [done.metadata.name, { objects: [done] }], '0, after 0 s'],
  ['waits for a drain to begin', [done.metadata.name, { objects: [done], from: 59 }], '0, after 59 s'],
  ['gives up after a minute', ['node1', { objects: [] }], 'no drain or upgrade is about node1, after 60 s'],
  [
    'then names the last one',
    ['node1', { objects: [endedAgo(540)] }],
    'no drain or upgrade of node1 is under way; the last one: kubectl vmmrq progress drain-12345678-1, after 60 s',
  ],
  ['or answers by one that has completed just now', ['node1', { objects: [endedAgo(539)] }], '0, after 60 s'],
  ['or by one that has failed just now', ['node1', { objects: [endedAgo(9, 'Failed')] }], '1, after 60 s'],
  [
    'does not wait without a name',
    [undefined, { objects: [] }],
    'no drain or upgrade is under way, after 0 s',
  ],
])('%s', async (_, args, want) => {
  expect((await followed(...args)).end).toBe(want);
});

test('says at once what it waits for, and shows the last one', async () => {
  const waiting = 'waiting up to 60 s for a drain or an upgrade of node1 to begin; Ctrl-C stops\n';
  expect((await followed('node1', { objects: [] })).atOnce).toBe(waiting);
  const line = 'drain-12345678-1 Completed 1/1: so it is\n';
  expect(await followed('node1', { objects: [endedAgo(9)] })).toMatchObject({
    atOnce: `${waiting}the last one ended ${seconds(3_660)}: ${line}`,
    stdout: line,
  });
});

test('waits for nothing where a drain is under way, and says nothing of it', async () => {
  const { stderr } = await followed(done.metadata.name, { objects: [done] });
  expect(stderr).toBe('');
});
