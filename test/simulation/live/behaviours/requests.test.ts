import { expect, test } from '@jest/globals';
import { has } from '../../../../functions/domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../../../functions/domain/live/names.ts';
import { moveUndisturbed } from '../world/undisturbed-move.ts';

/** Our requests of one move that nobody disturbs, on each cluster. They must not grow unnoticed (docs/scale.md). */
const MOST = { hub: 152, source: 101, target: 131 };

test('a move that nobody disturbs costs no more requests than that', async () => {
  const { requests, migration } = await moveUndisturbed();
  const [vm] = migration?.status?.vms ?? [];
  expect(has(vm, LIVE_CONDITION.succeeded)).toBe(true);
  const countOn = (cluster: keyof typeof MOST): number =>
    requests.filter((request) => request.split(' ')[1] === cluster).length;
  const counts = { hub: countOn('hub'), source: countOn('source'), target: countOn('target') };
  const tooMany = Object.entries(MOST).filter(
    ([cluster, most]) => countOn(cluster as keyof typeof MOST) > most,
  );
  expect({ counts, tooMany }).toEqual({ counts, tooMany: [] });
});
