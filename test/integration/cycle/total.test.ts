import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import { CONDITION, REASON } from '../../../functions/domain/names.ts';
import type { Reservation } from '../../../functions/domain/objects.ts';
import { RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import type { Tenant } from '../../support/tenant/tenant.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { sharedTotal, type SharedTotal } from '../../support/tenant/total.ts';
import type { ForeignText } from '../../../functions/domain/foreign-text.ts';

let environment: TestEnvironment;
let total: SharedTotal;

beforeAll(async () => {
  environment = await startTestEnvironment({
    env: { LOCK_SECONDS: '15', OVERDUE_SECONDS: '1', SWEEP_SECONDS: '1' },
  });
  total = sharedTotal(environment);
});

/** It belongs to all tests that share the cluster. */
afterEach(() => total.remove());

afterAll(async () => {
  await environment.stop();
});

const reasonsOf = ({ history }: Tenant): (ForeignText | undefined)[] =>
  (history.latest(VMMRQS)?.status?.conditions ?? [])
    .filter(({ type, status }) => type === CONDITION.blocking && status === 'True')
    .map(({ reason }) => reason);

/** The revisions between which its quota was raised. */
function raises({ history }: Tenant): { readonly from: number; readonly to: number }[] {
  const key = 'requests.cpu';
  const versions = history.of(RESOURCE_QUOTAS).map(({ metadata, spec, status }) => ({
    revision: Number(metadata.resourceVersion),
    isRaised: parseQuantity(status?.hard?.[key] ?? '0') > parseQuantity(spec.hard?.[key] ?? '0'),
  }));
  return versions.flatMap(({ revision, isRaised }, index) => {
    if (!isRaised || versions[index - 1]?.isRaised === true) return [];
    const end = versions.slice(index).find((later) => !later.isRaised);
    return [{ from: revision, to: end?.revision ?? Infinity }];
  });
}

const FORGED: Reservation = {
  namespace: 'nowhere',
  quota: 'quota',
  token: 'forged',
  amounts: { 'requests.cpu': '1' },
  until: '2999-01-01T00:00:00Z',
};

describe('the total of a cluster-wide VMMRQ', () => {
  test('for one migration lets two namespaces go one after the other', async () => {
    const [one, other] = await Promise.all([total.poorTenant('total-one'), total.poorTenant('total-other')]);
    await total.share({ 'requests.cpu': '1' }, one, other);
    const { controlPlane } = environment.cluster;
    const go = environment.hold(one.name, 'mtq-lower', 'mtq-unlock');
    // Its recount would undo the raise.
    await controlPlane.pauseControllerManager();
    await one.migrate();
    await one.history.until('it is raised', () => raises(one).length > 0);
    await other.migrate();
    // On a slow machine the guard may have repaired the lock before the first look at the other namespace.
    const isWaiting = (): boolean => reasonsOf(other).includes(REASON.totalReached) || other.isThrough();
    await other.history.until('it waits', isWaiting);
    controlPlane.resumeControllerManager();
    go();
    await Promise.all([one.untilThrough(), other.untilThrough()]);
    const [first, second] = [...raises(one), ...raises(other)].toSorted((a, b) => a.from - b.from);
    expect(first?.to).toBeLessThanOrEqual(second?.from ?? -1);
    await total.untilFree();
    for (const tenant of [one, other]) await expectAsBefore(environment.admin, tenant);
  });

  test('that others have makes a namespace wait, unlocked, until it is free', async () => {
    const tenant = await total.poorTenant('total-waits');
    await total.share({ 'requests.cpu': '1' }, tenant);
    const until = new Date(Date.now() + 50_000).toISOString();
    await total.patchReserved([{ ...FORGED, until }]);
    await tenant.migrate();
    await tenant.history.until('it says why', () => reasonsOf(tenant).includes(REASON.totalReached));
    expect(tenant.history.locks()).toEqual([]);
    await total.patchReserved(null);
    await tenant.untilThrough();
    await expectAsBefore(environment.admin, tenant);
  });

  test('that is less than a migration needs is reported', async () => {
    const tenant = await total.poorTenant('total-small');
    await total.share({ 'requests.cpu': '600m' }, tenant);
    await tenant.migrate();
    await tenant.history.until('it says why', () => reasonsOf(tenant).includes(REASON.beyondTotal));
    expect(tenant.history.locks()).toEqual([]);
    const message = JSON.stringify(tenant.history.latest(VMMRQS)?.status);
    expect(message).toContain('requests.cpu=4m more than cvmmrq/shared gives in all namespaces together');
  });

  test('with a reservation of no lock, for ever: it is removed by the next lock that needs its room', async () => {
    const tenant = await total.poorTenant('total-forged');
    await total.share({ 'requests.cpu': '1' }, tenant);
    await total.patchReserved([FORGED]);
    await tenant.migrate();
    await tenant.untilThrough();
    await total.untilFree();
    await expectAsBefore(environment.admin, tenant);
  });
});

describe('a reservation', () => {
  test('is removed by the guard, where it repairs the lock', async () => {
    const tenant = await total.poorTenant('total-repair');
    await total.share({ 'requests.cpu': '1' }, tenant);
    const go = environment.hold(tenant.name, 'mtq-raise', 'mtq-lower', 'mtq-unlock');
    await tenant.migrate();
    await tenant.untilUnlocked();
    expect(await total.reserved()).toEqual([]);
    go();
    await tenant.untilThrough();
    await expectAsBefore(environment.admin, tenant, { failed: true });
  });
});
