import { expect, test } from '@jest/globals';
import { missing, type Machine } from './requirements.ts';

const machine: Machine = {
  platform: 'linux',
  arch: 'x64',
  uid: 0,
  which: (program) => `/usr/bin/${program}`,
  cniPlugins: '/usr/lib/cni',
};
const without =
  (...programs: string[]) =>
  (program: string): string | undefined =>
    programs.includes(program) ? undefined : machine.which(program);

test('a machine that has everything lacks nothing', () => {
  expect(missing(machine)).toEqual([]);
});

test.each<[string, Partial<Machine>, string[]]>([
  [
    'no Linux',
    { platform: 'darwin', uid: 501 },
    ['Pods run on Linux; this is darwin. Nothing helps but another machine.'],
  ],
  ['no root', { uid: 1000 }, ['Only root may make containers: run it as root (sudo npm run test:node).']],
  ['another machine', { arch: 'riscv64' }, ['The image is for x64 and arm64; this is riscv64.']],
  [
    'no containerd',
    { which: without('containerd', 'ctr', 'runc') },
    [
      'Not installed: containerd, ctr, runc. On Debian: apt-get install --no-install-recommends containerd runc',
    ],
  ],
  [
    'no CNI plugins',
    { cniPlugins: undefined },
    [
      'Not installed: the CNI plugins bridge, host-local, loopback. ' +
        'On Debian: apt-get install --no-install-recommends containernetworking-plugins',
    ],
  ],
])('%s: says what is missing and what to do', (_, different, want) => {
  expect(missing({ ...machine, ...different })).toEqual(want);
});

test('it says all of it at once', () => {
  const said = missing({ ...machine, uid: 1000, which: without('runc'), cniPlugins: undefined });
  expect(said.length).toBe(2);
  expect(said[1]).toMatch(/runc containernetworking-plugins$/);
});
