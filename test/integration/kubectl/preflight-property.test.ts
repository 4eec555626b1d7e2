import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkSeeds } from '../../support/preflight/check-seeds.ts';
import { startPreflightWorld, type PreflightWorld } from '../../support/preflight/world.ts';

/*
 * Random clusters on a real API server: what preflight says of each VM, and what quota admission then does. PREFLIGHT_SEED
 * replays one; preflight-property.long.test.ts has more.
 */
const FIRST = 1;
const COUNT = 12;

let world: PreflightWorld;

beforeAll(async () => {
  world = await startPreflightWorld();
});

afterAll(async () => {
  await world.stop();
});

test(`what preflight says is what happens, in ${String(COUNT)} random clusters`, async () => {
  const { problems, unknown } = await checkSeeds(world, { first: FIRST, count: COUNT });
  expect(problems).toEqual([]);
  expect(unknown).toBeLessThanOrEqual(0.05);
});
