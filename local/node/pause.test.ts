import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { readElf } from '../../image/elf.ts';
import { PLATFORMS } from '../../image/platforms.ts';
import { temporaryFolder } from '../controlplane/exit.ts';
import { pauseProgram } from './pause.ts';

test.each(PLATFORMS)('for $architecture it is a program that needs nothing', (platform) => {
  const elf = readElf(pauseProgram(platform));
  expect(elf).toEqual({ machine: platform.elfMachine, interpreter: undefined, needed: [] });
});

const [here] = PLATFORMS.filter(({ nodePackage }) => nodePackage === `node-linux-${process.arch}`);
const runnable = process.platform === 'linux' && here !== undefined ? test : test.skip;

/** proc(5): state S is asleep; ticks of the processor that it has had. */
function look(pid: number | undefined): { state: string | undefined; ticks: number } {
  const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8').split(' ');
  return { state: stat[2], ticks: Number(stat[13]) + Number(stat[14]) };
}

runnable('it sleeps, costs no time, and ends when it is told to', async () => {
  const folder = temporaryFolder('mtq-pause-');
  const file = join(folder.path, 'pause');
  writeFileSync(file, here === undefined ? '' : pauseProgram(here), { mode: 0o755 });
  const running = spawn(file, { stdio: 'ignore' });
  try {
    await once(running, 'spawn');
    while (look(running.pid).state !== 'S') await delay(10);
    const { ticks } = look(running.pid);
    await delay(100);
    expect(running.exitCode).toBeNull();
    expect(look(running.pid)).toEqual({ state: 'S', ticks });
    running.kill('SIGTERM');
    expect(await once(running, 'exit')).toEqual([null, 'SIGTERM']);
  } finally {
    running.kill('SIGKILL');
    folder.remove();
  }
});
