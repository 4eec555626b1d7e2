import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION } from '../../../functions/domain/names.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent, expectInTime, untilOver } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { droppedEvents, WHAT_ENDS_A_LOCK } from '../../support/faults/dropped-events.ts';
import { Measured } from '../../support/measured.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

const LOCK_SECONDS = 10;
/** Offset of each of our processes' clocks, hours. No two clocks agree, and none agrees with the API server. */
const WRONG_CLOCKS = { feasibility: 9, lock: -7, raise: 5, lower: -3, unlock: 12, guard: -11 };
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
  WRONG_CLOCKS: JSON.stringify(WRONG_CLOCKS),
  NODE_OPTIONS: `--import=${new URL('../../support/wrong-clock.mjs', import.meta.url).href}`,
};

let environment: TestEnvironment;
let dropped: ReturnType<typeof droppedEvents>;
const measured = new Measured('locked for');

beforeAll(async () => {
  environment = await startTestEnvironment({ env: ENV });
  dropped = droppedEvents(environment);
});

afterAll(async () => {
  measured.print();
  await environment.stop();
});

/** Far less than any clock's offset. */
const MINUTE_MS = 60_000;

test('the clocks are wrong: each process logs another hour', async () => {
  const tenant = await newTenant(environment, { name: 'a-release' });
  await tenant.migrate();
  await tenant.untilThrough();
  for (const [step, hours] of Object.entries(WRONG_CLOCKS).filter(([name]) => name !== 'guard')) {
    const said = environment.lines.items
      .filter(({ service }) => service === step)
      .map(({ time }) => Date.parse(time ?? ''));
    expect(said.length).toBeGreaterThan(0);
    for (const at of said)
      expect(Math.abs(at - hours * 60 * MINUTE_MS - Date.now())).toBeLessThan(5 * MINUTE_MS);
  }
  expect(tenant.history.locks()).toHaveLength(1);
  measured.add(tenant.name, expectInTime(tenant, LOCK_SECONDS));
  await expectQuiescent(environment.admin, tenant);
});

test("our annotations have the API server's time", async () => {
  const tenant = await newTenant(environment, { name: 'given-up' });
  await refuseTargets(environment, tenant);
  await untilOver(tenant);
  const { date } = await environment.admin.get(NAMESPACES, { name: tenant.name });
  const [lock] = tenant.history.locks();
  const { annotations = {} } = tenant.history.latest(NAMESPACES)?.metadata ?? {};
  const { at } = JSON.parse(annotations[ANNOTATION.lastAttempt] ?? '{}') as { at?: string };
  for (const time of [lock?.acquiredAt, lock?.expiresAt, at])
    expect(Math.abs(Date.parse(time ?? '') - date.getTime())).toBeLessThan(2 * MINUTE_MS);
  // `lower` waited for the raise to fail, and did not decide by a clock that is hours ahead.
  expect(wasRaised(tenant.history)).toBe(true);
  measured.add(tenant.name, expectInTime(tenant, LOCK_SECONDS));
  await expectQuiescent(environment.admin, tenant);
});

test('the watchdog alone restores a quota when the functions get no events', async () => {
  const tenant = await newTenant(environment, { name: 'watchdog-alone' });
  dropped.set(tenant.name, WHAT_ENDS_A_LOCK);
  await tenant.migrate();
  await untilOver(tenant);
  measured.add(tenant.name, expectInTime(tenant, LOCK_SECONDS));
  expect(wasRaised(tenant.history)).toBe(true);
  await expectQuiescent(environment.admin, tenant);
});
