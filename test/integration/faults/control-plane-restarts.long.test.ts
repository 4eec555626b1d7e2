import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ANNOTATION } from '../../../functions/domain/names.ts';
import { MIGRATIONS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent, expectInTime, untilOver } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { unlimitMigrations } from '../../support/environment/limits.ts';
import { Measured } from '../../support/measured.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';

/** Long enough to reach each state and restart in the middle of a lock. */
const LOCK_SECONDS = 30;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  STALL_SECONDS: '1',
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
};

let environment: TestEnvironment;
const measured = new Measured('locked for', 'gone for');

beforeAll(async () => {
  environment = await startTestEnvironment({ env: ENV, controlPlane: {} });
  await unlimitMigrations(environment.admin);
});

afterAll(async () => {
  measured.print();
  await environment.stop();
});

/** Brings a namespace to the state in which the restart hits it; the result resumes the cycle. */
const STATES: Readonly<Record<string, (tenant: Tenant) => Promise<() => void>>> = {
  locked: async (tenant) => {
    const go = environment.hold(tenant.name, 'mtq-raise');
    await tenant.migrate();
    await tenant.history.until('it is locked', (history) => history.isLocked());
    return go;
  },
  raised: async (tenant) => {
    const go = environment.hold(tenant.name, 'mtq-lower');
    await refuseTargets(environment, tenant);
    await tenant.history.until('it is raised', () => wasRaised(tenant.history));
    return go;
  },
  'lowered, not unlocked': async (tenant) => {
    const go = environment.hold(tenant.name, 'mtq-unlock');
    await tenant.migrate();
    await tenant.history.until(
      'its quota is let go of',
      (history) =>
        history.latest(RESOURCE_QUOTAS)?.metadata.annotations?.[ANNOTATION.lastRelease] !== undefined,
    );
    return go;
  },
};

const RESTARTS: Readonly<Record<string, () => Promise<void>>> = {
  'the API server': async () => {
    await environment.cluster.controlPlane.stopApiServer();
    await environment.cluster.controlPlane.startApiServer();
  },
  etcd: () => environment.cluster.controlPlane.restartEtcd(),
};

describe.each(Object.entries(RESTARTS))('%s restarts', (what, restart) => {
  const tenants = new Map<string, Tenant>();
  let goneFor: number;

  beforeAll(async () => {
    const holds = await Promise.all(
      Object.entries(STATES).map(async ([state, reach]) => {
        const name = `${what} ${state}`.toLowerCase().replaceAll(/[^a-z]+/g, '-');
        const tenant = await newTenant(environment, { name });
        tenants.set(state, tenant);
        return reach(tenant);
      }),
    );
    for (const tenant of tenants.values()) expect(tenant.history.isLocked()).toBe(true);
    const began = performance.now();
    await restart();
    goneFor = (performance.now() - began) / 1_000;
    for (const go of holds) go();
  });

  test.each(Object.keys(STATES))('while a namespace is %s', async (state) => {
    const tenant = tenants.get(state);
    if (tenant === undefined) throw new Error(`no namespace was ${state}`);
    await untilOver(tenant);
    measured.add(`${what} restarts, ${state}`, expectInTime(tenant, LOCK_SECONDS), goneFor);
    await expectQuiescent(environment.admin, tenant);
  });

  test('a later migration succeeds as usual', async () => {
    const name = `after-${what}`.toLowerCase().replaceAll(/[^a-z]+/g, '-');
    const tenant = await newTenant(environment, { name });
    await tenant.migrate();
    await tenant.untilThrough();
    await expectQuiescent(environment.admin, tenant);
    await environment.admin.delete(MIGRATIONS, { namespace: name, name: 'mig0' });
  });
});
