import { afterAll, beforeAll, test } from '@jest/globals';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { isConflict, isNotFound } from '../../../functions/kubernetes/errors.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { CONFIG_MAPS } from '../../cluster/policies-in-force.ts';
import { expectQuiescent, expectInTime } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { Measured } from '../../support/measured.ts';
import { fullFor, newTenant } from '../../support/tenant/tenant.ts';

/**
 * A tenant creates and deletes objects that the raised quota counts and admission does not restrict, as fast as it can. Each
 * changes the quota's status, so our writes conflict and must be retried.
 */

const LOCK_SECONDS = 20;
const CLIENTS = 8;
const BUSY = 100;

let environment: TestEnvironment;
const measured = new Measured('locked for', 'between two changes of the quota');

beforeAll(async () => {
  environment = await startTestEnvironment({
    env: { LOCK_SECONDS: String(LOCK_SECONDS), SWEEP_SECONDS: '1', OVERDUE_SECONDS: '1' },
  });
});

afterAll(async () => {
  measured.print();
  await environment.stop();
});

/** Runs until the caller calls the result, which resolves after the last answer. */
function churn(admin: Cluster, namespace: string): () => Promise<void> {
  let isOver = false;
  const work = async (client: number): Promise<void> => {
    const name = `churned-${client}`;
    while (!isOver) {
      await admin.create(CONFIG_MAPS, { metadata: { namespace, name } }).catch(unless(isConflict));
      await admin.delete(CONFIG_MAPS, { namespace, name }).catch(unless(isNotFound));
    }
  };
  const all = Promise.all(Array.from({ length: CLIENTS }, (_, client) => work(client)));
  return async () => {
    isOver = true;
    await all;
  };
}

/** Quota admission itself may give up after too many conflicts. */
const unless =
  (isExpected: (error: unknown) => boolean) =>
  (error: unknown): void => {
    if (!isExpected(error)) throw error;
  };

test('a raised quota is restored, however often it changes for another reason', async () => {
  const name = 'busy';
  const tenant = await newTenant(environment, {
    name,
    quotas: { quota: { ...fullFor(1), configmaps: '1M' } },
  });
  const { history } = tenant;
  const changes = (): number => history.of(RESOURCE_QUOTAS).length;
  const letGo = environment.hold(name, 'mtq-lower');
  await tenant.migrate();
  await history.until('it is raised', wasRaised);
  const [before, since] = [changes(), performance.now()];
  const stop = churn(environment.admin, name);
  await history.until(`it has changed ${BUSY} times since`, () => changes() > before + BUSY);
  letGo();
  await tenant.untilThrough();
  const pace = (performance.now() - since) / 1_000 / (changes() - before);
  await stop();
  measured.add(`${CLIENTS} clients`, expectInTime(tenant, LOCK_SECONDS), pace);
  await expectQuiescent(environment.admin, tenant);
});
