import { expect, test } from '@jest/globals';
import { hierarchies } from './cgroup.ts';

const ROOT = '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard';

test('cgroup v2 has one hierarchy', () => {
  const line = '31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate';
  expect(hierarchies(`${ROOT}\n${line}\n`)).toEqual(['/sys/fs/cgroup']);
});

test('cgroup v1 has one for each controller; the folder above them is none', () => {
  const lines = [
    ROOT,
    '31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755',
    '32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu',
    '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw',
  ];
  expect(hierarchies(lines.join('\n'))).toEqual(['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/unified']);
});

test('a mount that is there twice counts once', () => {
  const line = '31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw';
  expect(hierarchies(`${line}\n${line}`)).toEqual(['/sys/fs/cgroup']);
});
