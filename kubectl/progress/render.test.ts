import { describe, expect, test } from '@jest/globals';
import { aProgress, aStatus, bucket } from '../../test/support/builders/maintenance.ts';
import type { BucketEntry, ProgressStatus } from '../../functions/domain/progress/progress-object.ts';
import { barOf } from './bar.ts';
import { plainLine, renderProgress } from './render.ts';

const linesOf = (status: ProgressStatus | undefined, columns = 120): string[] =>
  renderProgress(aProgress('Drain', status), { paint: (_, text) => text, columns });

const BLOCKED: BucketEntry = {
  namespace: 'tenant',
  name: 'vm1',
  reason: 'NotEnough',
  quotas: [{ name: 'quota', missing: { 'requests.cpu': '605m' } }],
};

test.each([
  [0, 4, 0],
  [1, 4, 7],
  [4, 4, 30],
  [0, 0, 30],
])('%d of %d fills %d of 30', (done, total, filled) => {
  expect(barOf(done, total)).toBe(`[${'#'.repeat(filled)}${'.'.repeat(30 - filled)}]`);
});

describe('on a terminal', () => {
  test('a drain has a bar, its buckets, and the VMs that are blocked', () => {
    const buckets = [
      bucket('running', 1),
      { name: 'blocked' as const, count: 2, vms: [BLOCKED] },
      bucket('noMigrationYet', 1),
    ];
    const status = aStatus([1, 2, 3, 4], [2, 3, 4], { state: 'Blocked', message: 'why', buckets });
    expect(linesOf(status)).toEqual([
      'Drain of node node1  [#######.......................] 1/4  Blocked',
      '  why',
      '  running 1, blocked 2, no migration yet 1',
      '  - tenant/vm1 (NotEnough: ResourceQuota quota lacks requests.cpu=605m)',
      '    and 1 more',
    ]);
  });

  test('VMs that wait for a node are blocked too', () => {
    const waiting = ['vm0', 'vm1'].map((name) => ({
      namespace: 'tenant',
      name,
      reason: 'TargetPodNotReady',
    }));
    const buckets = [{ name: 'waiting' as const, count: 2, vms: waiting }];
    const status = aStatus([1, 2], [1, 2], { state: 'Blocked', message: 'why', blocked: 1, buckets });
    expect(linesOf(status).slice(2)).toEqual(['  waiting 2', '  - tenant/vm0 (TargetPodNotReady)']);
  });

  test('no line is longer than the screen', () => {
    const status = aStatus([1], [1], { message: 'long '.repeat(40), buckets: [bucket('failed', 1)] });
    expect(Math.max(...linesOf(status, 80).map(({ length }) => length))).toBe(80);
  });

  test('one without a status shows its name', () => {
    expect(linesOf(undefined)).toEqual(['Drain of node node1  drain-12345678-1']);
  });
});

test('in a pipe it is one line', () => {
  expect(
    plainLine(aProgress('Drain', aStatus([1, 2], [1], { message: 'VMs that have left the node: 1 of 2' }))),
  ).toBe('drain-12345678-1 Running 1/2: VMs that have left the node: 1 of 2');
  expect(plainLine(aProgress('Drain'))).toBe('drain-12345678-1 begins');
});
