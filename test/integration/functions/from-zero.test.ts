import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { REASON, SOURCE_EVENT } from '../../../functions/domain/names.ts';
import { CYCLE_STEPS } from '../../../functions/runtime/settings.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;
/** When each function's first process was ready, milliseconds since 1970. */
const readyAt = new Map<string, number>();

/** No resync runs during the test. */
beforeAll(async () => {
  environment = await startTestEnvironment({
    env: { SWEEP_SECONDS: '3600' },
    onActivity: (trace) => {
      if (trace.kind === 'started' && !readyAt.has(trace.service)) readyAt.set(trace.service, trace.at);
    },
  });
});

afterAll(async () => {
  await environment.stop();
});

test('the first refusal starts every function, and nothing is locked before the later steps answer', async () => {
  const tenant = await newTenant(environment, { name: 'from-zero' });
  expect(readyAt.has('unlock')).toBe(false);
  await tenant.migrate();
  await tenant.untilUnlocked();
  const locked = environment.lines.items.find(({ reason }) => reason === REASON.locked);
  const lockedAt = Date.parse(locked?.time ?? '');
  for (const step of CYCLE_STEPS) expect([step, readyAt.get(step)]).toEqual([step, expect.any(Number)]);
  for (const step of ['raise', 'lower', 'unlock']) expect(readyAt.get(step)).toBeLessThanOrEqual(lockedAt);
  expect(tenant.history.locks()).toHaveLength(1);
  await expectAsBefore(environment.admin, tenant);
});

test('a refusal whose events are lost gets its lock without a resync', async () => {
  const tenant = await newTenant(environment, { name: 'lost-refusal' });
  const { broker } = environment.cluster.eventing;
  broker.lose(
    ({ event: { attributes }, trigger }) =>
      trigger === 'mtq-feasibility' &&
      attributes['type'] === SOURCE_EVENT.update &&
      attributes['namespace'] === tenant.name,
  );
  await tenant.migrate();
  await tenant.untilUnlocked();
  broker.lose(undefined);
  expect(tenant.history.locks()).toHaveLength(1);
  await expectAsBefore(environment.admin, tenant);
});
