import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, test } from '@jest/globals';
import { failWhenOneEnds, isRunning, startChild, type Child } from './children.ts';
import { temporaryFolder } from './exit.ts';

const folder = temporaryFolder('mtq-children-');
afterAll(() => folder.remove());

const shell = (name: string, script: string): Promise<Child> =>
  startChild({ name, command: 'sh', args: ['-c', script], logFile: join(folder.path, `${name}.log`) });

describe('a child', () => {
  test('reports its exit and its last output', async () => {
    const child = await shell('short', 'echo one; echo two >&2; exit 3');
    await expect(child.ended).resolves.toBe('exit code 3');
    expect(child.logTail()).toBe('one\ntwo');
    child.signal('SIGTERM');
    await child.stop();
  });

  test('that ends too early makes its caller fail, with the end of its log', async () => {
    const children = [await shell('steady', 'exec sleep 60'), await shell('weak', 'echo no disk; exit 1')];
    await expect(failWhenOneEnds(children)).rejects.toThrow(
      'weak ended unexpectedly (exit code 1). The end of its log:\nno disk',
    );
    await Promise.all(children.map((child) => child.stop()));
  });

  test('that ignores SIGTERM is killed, with its own children', async () => {
    const child = await shell('deaf', 'trap "" TERM; sleep 60 & echo $!; wait; sleep 60');
    const grandchild = await numberIn(child);
    await child.stop(50);
    await expect(child.ended).resolves.toBe('signal SIGKILL');
    await untilGone(grandchild);
  });

  test('whose program does not exist fails', async () => {
    const options = { name: 'typo', args: [], logFile: join(folder.path, 'typo.log') };
    const started = startChild({ ...options, command: '/no/such/program' });
    await expect(started.then((child) => failWhenOneEnds([child]))).rejects.toThrow('typo');
  });
});

describe('when this process ends', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('by %s: children and folders are gone, exit code %d', async (signal, wanted) => {
    const owner = await startOwner('');
    owner.process.kill(signal);
    expect(await once(owner.process, 'exit')).toEqual([wanted, null]);
    expect(isRunning(owner.pid)).toBe(false);
    expect(existsSync(owner.folder)).toBe(false);
  });

  test.each([
    ['process.exit', 'setTimeout(() => process.exit(7), 0);', 7],
    ['an uncaught error', 'setTimeout(() => { throw new Error("expected in this test") }, 0);', 1],
  ])('by %s, its children and folders are removed', async (_, code, wanted) => {
    const owner = await startOwner(code);
    const [exitCode] = (await once(owner.process, 'exit')) as [number];
    expect(exitCode).toBe(wanted);
    await untilGone(owner.pid);
    expect(existsSync(owner.folder)).toBe(false);
  });
});

interface Owner {
  readonly process: ReturnType<typeof spawn>;
  readonly folder: string;
  readonly pid: number;
}

/** Another process like this one, with a folder and a child that would run for a minute. */
async function startOwner(then: string): Promise<Owner> {
  const code = `
    import { startChild } from ${here('./children.ts')};
    import { temporaryFolder } from ${here('./exit.ts')};
    const folder = temporaryFolder('mtq-owner-').path;
    const logFile = folder + '/log';
    const child = await startChild({ name: 'sleep', command: 'sleep', args: ['60'], logFile });
    console.log(JSON.stringify({ folder, pid: child.pid }));
    ${then}`;
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(createInterface(owner.stdout), 'line')) as [string];
  return { process: owner, ...(JSON.parse(line) as { folder: string; pid: number }) };
}

const here = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

async function numberIn(child: Child): Promise<number> {
  while (!/^\d+$/.test(child.logTail())) await tick();
  return Number(child.logTail());
}

async function untilGone(pid: number): Promise<void> {
  while (isRunning(pid)) await tick();
}

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
