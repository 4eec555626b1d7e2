import { expect, test } from '@jest/globals';
import { backoffMsOf } from './automated-backoff.ts';
import { ANNOTATIONS } from '../objects/names.ts';
import type { Vmim } from '../objects/types.ts';

const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`;

/** One letter and the second of its creation: f(ailed a second later), s(ucceeded), p(ending), d(eleted after a failure), u(ser's). */
function migrationOf(text: string): Vmim {
  const kind = text.charAt(0);
  const created = Number(text.slice(1));
  const phase = { f: 'Failed', d: 'Failed', u: 'Failed', s: 'Succeeded' }[kind] ?? 'Pending';
  return {
    metadata: {
      name: text,
      uid: text,
      resourceVersion: '1',
      creationTimestamp: at(created),
      ...(kind === 'd' ? { deletionTimestamp: at(created) } : {}),
      ...(kind === 'u' ? {} : { annotations: { [ANNOTATIONS.evacuation]: 'node1' } }),
    },
    spec: { vmiName: 'vm0' },
    status: {
      phase,
      phaseTransitionTimestamps: [{ phase, phaseTransitionTimestamp: at(created + 1) }],
    },
  };
}

test.each([
  { name: 'the first one waits for nothing', earlier: '', want: 0 },
  { name: 'one failure: 20 s from then on', earlier: 'f9', want: 20_000 },
  { name: 'each further failure doubles it', earlier: 'f3 f6 f9', want: 80_000 },
  { name: 'a success ends the row', earlier: 'f3 s6 f9', want: 20_000 },
  { name: 'after a success: nothing', earlier: 'f3 f6 s9', want: 0 },
  { name: 'a deleted one does not count', earlier: 'd6 f9', want: 20_000 },
  { name: "a user's does not count", earlier: 'u9', want: 0 },
  { name: 'what has passed is deducted', earlier: 'f4', want: 15_000 },
  { name: 'one of the same second is no newer one', earlier: 'f10', now: 11, want: 20_000 },
  { name: 'only the newest waits', earlier: 'f4 p11', want: 0 },
])('$name', ({ earlier, now = 10, want }) => {
  const migration = migrationOf('p10');
  const others = earlier.split(' ').filter((text) => text !== '');
  const migrations = [...others.map(migrationOf), migration];
  expect(backoffMsOf({ migration, migrations, firstMs: 20_000, now: new Date(at(now)) })).toBe(want);
});
