import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { raisedQuota } from '../../../functions/domain/quota/raise.ts';
import { LOCK_VERSION, withLock, type Lock } from '../../../functions/domain/lock.ts';
import { EVENT, REASON, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import { RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { ignoreNotFound } from '../../../functions/kubernetes/errors.ts';
import { POLICY_BINDINGS, policiesInForce } from '../../cluster/policies-in-force.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { writeByHand } from '../../support/tenant/by-hand.ts';
import { expectQuiescent, expectInTime } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

const LOCK_SECONDS = 8;

let environment: TestEnvironment;

/** With a VMMRQ from before the policy, whose allowance must not count. */
beforeAll(async () => {
  environment = await startTestEnvironment({ env: { SWEEP_SECONDS: '1', OVERDUE_SECONDS: '1' } });
  await ignoreNotFound(
    environment.admin.delete(POLICY_BINDINGS, { name: 'managed-tenant-quota-reserved-namespaces' }),
  );
  const itCounts = await policiesInForce(environment.admin);
  await itCounts();
});

afterAll(async () => {
  await environment.stop();
});

test('a blocked migration with a sufficient VMMRQ: reported, and never locked, even by forged events (F19)', async () => {
  const tenant = await newTenant(environment, { name: 'openshift-vms' });
  const { name: namespace, history } = tenant;
  const { metadata } = await tenant.migrate();
  await tenant.untilBlocked();
  await environment.lines.until('the reason is reported', () =>
    environment.lines.items.some(
      (line) => line.namespace === namespace && line.reason === REASON.reservedNamespace,
    ),
  );
  const migrations = [{ name: metadata.name, uid: metadata.uid }];
  await environment.forge({
    type: EVENT.migrationFeasible,
    from: 'forger',
    namespace,
    migrations,
    cause: 'x',
  });
  await environment.forge({ type: EVENT.namespaceLocked, from: 'forger', namespace, token: 'x', migrations });
  expect(history.locks()).toEqual([]);
  await expectAsBefore(environment.admin, tenant);
});

test('a namespace locked and raised by hand: lowered and unlocked in time', async () => {
  const tenant = await newTenant(environment, { name: 'knative-vms' });
  const { name: namespace, history, before } = tenant;
  const [quota] = before.quotas;
  if (quota === undefined) throw new Error('there is no quota');
  const now = Date.now();
  const lock: Lock = {
    v: LOCK_VERSION,
    token: 'by-hand',
    acquiredAt: new Date(now).toISOString(),
    expiresAt: new Date(now + LOCK_SECONDS * 1_000).toISOString(),
    migrations: [],
    quotas: [{ name: quota.metadata.name, uid: quota.metadata.uid }],
    vmmrqs: [],
    of: '',
  };
  await writeByHand(environment.admin, namespace, withLock(before.namespace, lock).metadata);
  const { items: vmmrqs } = await environment.admin.list(VMMRQS, { namespace });
  const raised = raisedQuota(quota, { lock, vmmrqs, now });
  if (raised === undefined) throw new Error('nothing is given');
  // Only our accounts may write a grant.
  const account = { namespace: SYSTEM_NAMESPACE, name: SERVICE_ACCOUNT.raise };
  const asRaise = connect(await environment.cluster.controlPlane.kubeconfigFor(account), 'test');
  await asRaise.replace(RESOURCE_QUOTAS, raised, { subresource: 'status' });
  await history.until('it is raised', wasRaised);
  await tenant.untilUnlocked();
  expectInTime(tenant, LOCK_SECONDS);
  await expectQuiescent(environment.admin, tenant);
});
