import { expect, test } from '@jest/globals';
import type { Clock } from '../../functions/runtime/clock.ts';
import { Settling } from './settling.ts';

/** Notes the same state for so many seconds, one after another; the Lease is renewed every second, or never. */
async function after(
  notes: readonly (readonly [deployment: string | undefined, seconds: number])[],
  isAlive = true,
): Promise<boolean> {
  let ms = 0;
  let reads = 0;
  const clock = { elapsed: () => ms } as Clock;
  const get = (): Promise<unknown> => {
    reads += 1;
    return Promise.resolve({ object: { spec: { renewTime: isAlive ? String(ms) : 'never' } } });
  };
  const settling = new Settling({ cluster: { get } as never, clock, kubevirtNamespace: 'kubevirt' });
  for (const [deployment, seconds] of notes) {
    for (let second = 0; second <= seconds; second += 1) {
      settling.note(deployment);
      ms += 1_000;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  // Once at the begin of each quiet time, and once at its end.
  if (isAlive) expect(reads).toBeLessThanOrEqual(2 * notes.length);
  return settling.isSettled('new');
}

test.each<[string, Parameters<typeof after>, boolean]>([
  ['after a minute', [[['new', 61]]], true],
  ['before', [[['new', 58]]], false],
  ['another deployment', [[['other', 61]]], false],
  [
    'with a VM in between',
    [
      [
        ['new', 40],
        [undefined, 1],
        ['new', 40],
      ],
    ],
    false,
  ],
  [
    'with a VM afterwards',
    [
      [
        ['new', 61],
        [undefined, 1],
      ],
    ],
    false,
  ],
  ['while virt-controller does not renew its Lease', [[['new', 61]], false], false],
])('an upgrade has settled %s', async (_, args, want) => {
  expect(await after(...args)).toBe(want);
});
