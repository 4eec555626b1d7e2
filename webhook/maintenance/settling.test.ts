import { expect, test } from '@jest/globals';
import type { Clock } from '../../functions/runtime/clock.ts';
import { Settling } from './settling.ts';

/** The Lease's renewTime at this second; undefined: it cannot be read. */
type Lease = (second: number) => string | undefined;
const ALIVE: Lease = String;
const DEAD: Lease = () => 'never';

/** Notes the same state in each of so many seconds. */
async function after(
  notes: readonly (readonly [deployment: string | undefined, seconds: number])[],
  lease = ALIVE,
): Promise<boolean> {
  let ms = 0;
  let reads = 0;
  const clock = { elapsed: () => ms } as Clock;
  const get = (): Promise<unknown> => {
    reads += 1;
    const renewTime = lease(ms / 1_000);
    return renewTime === undefined
      ? Promise.reject(new Error('not now'))
      : Promise.resolve({ object: { spec: { renewTime } } });
  };
  const settling = new Settling({ cluster: { get } as never, clock, kubevirtNamespace: 'kubevirt' });
  for (const [deployment, seconds] of notes) {
    for (let second = 0; second <= seconds; second += 1) {
      settling.note(deployment);
      ms += 1_000;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  // The Lease is read once at the begin of each quiet time, and once at its end.
  if (lease === ALIVE) expect(reads).toBeLessThanOrEqual(2 * notes.length);
  return settling.isSettled('new');
}

const renewedFrom =
  (first: number): Lease =>
  (second) =>
    String(Math.max(first, second));
const readFrom =
  (first: number): Lease =>
  (second) =>
    second < first ? undefined : String(second);

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
  ['while virt-controller does not renew its Lease', [[['new', 61]], DEAD], false],
  ['at the first renewal after a crash', [[['new', 75]], renewedFrom(70)], false],
  ['a minute after a crash', [[['new', 125]], renewedFrom(70)], true],
  ['where the Lease could not be read at the begin', [[['new', 65]], readFrom(30)], false],
  ['a minute after the Lease could be read', [[['new', 125]], readFrom(30)], true],
])('an upgrade has settled %s', async (_, args, want) => {
  expect(await after(...args)).toBe(want);
});
