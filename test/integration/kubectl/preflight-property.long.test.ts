import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { checkSeeds } from '../../support/preflight/check-seeds.ts';
import { startPreflightWorld, type PreflightWorld } from '../../support/preflight/world.ts';

/* As preflight-property.test.ts, with other seeds. PREFLIGHT_FIRST and PREFLIGHT_SEEDS choose them. */
const FIRST = Number(process.env['PREFLIGHT_FIRST'] ?? 1_001);
const COUNT = Number(process.env['PREFLIGHT_SEEDS'] ?? 150);

jest.setTimeout(3_600_000);

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
