import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { userOf, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import { expectQuiescent } from '../../support/invariants/quiescent.ts';
import { auditLog, isDryRun, whatOf } from '../../support/environment/audit.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import { invariantViolations } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { expectNoRaise } from '../../support/invariants/no-raise.ts';
import { ownAddress, publish } from '../../support/environment/published.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ controlPlane: { apiServers: 2 } });
  await publish(environment.admin, environment.cluster.controlPlane.apiServers);
});

afterAll(async () => {
  await environment.stop();
});

/** Number of proof requests that each API server answered. */
async function proofs(): Promise<number[]> {
  const { controlPlane } = environment.cluster;
  return Promise.all(
    controlPlane.apiServers.map(async (server) => {
      const admin = connect(controlPlane.kubeconfigAt(server, controlPlane.adminKubeconfig));
      const requests = await auditLog(server, admin);
      return requests.filter(
        (request) =>
          request.user.username === userOf(SERVICE_ACCOUNT.raise) &&
          isDryRun(request) &&
          whatOf(request) === 'create resourcequotas',
      ).length;
    }),
  );
}

test('raise asks each API server for the proof', async () => {
  const tenant = await newTenant(environment, { name: 'both' });
  await tenant.migrate();
  await tenant.untilThrough();
  await expectQuiescent(environment.admin, tenant);
  expect(invariantViolations(tenant.history)).toEqual([]);
  const [first = 0, second = 0] = await proofs();
  expect(first).toBeGreaterThan(0);
  expect(second).toBeGreaterThan(0);
});

test('raise waits for an API server that has not seen the lock, and names it (F31)', async () => {
  const { controlPlane } = environment.cluster;
  const late = new URL(controlPlane.apiServers[1]?.url ?? '');
  await expectNoRaise(environment, 'late', {
    arrange: () => {
      controlPlane.lagNamespaces(8_000);
      return Promise.resolve();
    },
    putRight: () => {
      controlPlane.lagNamespaces(0);
      return Promise.resolve();
    },
    reason: `at API server https://${ownAddress()}:${late.port}`,
  });
});
