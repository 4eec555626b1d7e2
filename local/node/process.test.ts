import { expect, test } from '@jest/globals';
import { viewOf } from './process.ts';

const STATUS = `Name:	node
Uid:	65532	65532	65532	65532
Gid:	65532	65532	65532	65532
VmRSS:	   69632 kB
CapEff:	0000000000000000
CapBnd:	0000000000000000
NoNewPrivs:	1
Seccomp:	2
`;
const MOUNTS = `100 90 0:30 / / ro,relatime - overlay overlay rw,lowerdir=/a
101 100 0:31 / /tmp rw,relatime - tmpfs tmpfs rw
`;

test('a process as the manifests want it has no liberties', () => {
  expect(viewOf(STATUS, MOUNTS)).toEqual({ uid: 65_532, rssMiB: 68, liberties: [] });
});

test.each([
  ['root', { 'Uid:\t65532': 'Uid:\t0' }, 'user is 0\t65532\t65532\t65532'],
  ['another group', { 'Gid:\t65532': 'Gid:\t0' }, 'group is 0\t65532\t65532\t65532'],
  ['a capability', { 'CapEff:\t00': 'CapEff:\t04' }, 'capabilities are 0400000000000000 of 0000000000000000'],
  [
    'one to be had',
    { 'CapBnd:\t00': 'CapBnd:\t04' },
    'capabilities are 0000000000000000 of 0400000000000000',
  ],
  ['a way to privileges', { 'NoNewPrivs:\t1': 'NoNewPrivs:\t0' }, 'it may gain privileges'],
  ['no filter', { 'Seccomp:\t2': 'Seccomp:\t0' }, 'no seccomp filter'],
])('%s is a liberty', (_, change, want) => {
  const [[kept, taken]] = Object.entries(change) as [[string, string]];
  expect(viewOf(STATUS.replace(kept, taken), MOUNTS).liberties).toEqual([want]);
});

test('so is a root that can be written, and one that is not told', () => {
  const want = ['its root can be written'];
  expect(viewOf(STATUS, MOUNTS.replace(' ro,', ' rw,')).liberties).toEqual(want);
  expect(viewOf(STATUS, '').liberties).toEqual(want);
});
