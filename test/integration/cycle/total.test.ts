import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import { CONDITION, REASON, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import type { ClusterVmmrq, Reservation, ResourceList } from '../../../functions/domain/objects.ts';
import {
  CLUSTER_VMMRQS,
  NAMESPACES,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/as-before.ts';
import { askUntil } from '../../support/eventually.ts';
import { startFaultyProxy, type FaultyProxy } from '../../support/faulty-proxy.ts';
import { all, by, isIn, isLock } from '../../support/our-writes.ts';
import { headroomFor, newTenant, type Tenant } from '../../support/tenant.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/test-environment.ts';

let environment: TestEnvironment;
let proxy: FaultyProxy;

beforeAll(async () => {
  proxy = await startFaultyProxy((account) =>
    environment.cluster.eventing.activator.kill(account.replace('mtq-', ''), 'SIGKILL'),
  );
  environment = await startTestEnvironment({
    env: { LOCK_SECONDS: '8', OVERDUE_SECONDS: '1', SWEEP_SECONDS: '1' },
    reroute: (account, kubeconfig) =>
      account === SERVICE_ACCOUNT.lock ? proxy.reroute(account, kubeconfig) : kubeconfig,
  });
});

/** It belongs to all tests that share the cluster. */
afterEach(() => environment.admin.delete(CLUSTER_VMMRQS, { name: 'shared' }));

afterAll(async () => {
  await environment.stop();
  await proxy.stop();
});

/** Its own VMMRQ reports, and gives too little. */
const poorTenant = (name: string): Promise<Tenant> =>
  newTenant(environment, { name, gives: { 'requests.cpu': '1m' } });

/** Cluster-wide VMMRQ `shared` for these namespaces. Each migration takes 604m CPU of its total. */
const share = async (total: ResourceList, ...tenants: readonly Tenant[]): Promise<void> => {
  const key = 'kubernetes.io/metadata.name';
  const values = tenants.map(({ name }) => name);
  await environment.admin.create(CLUSTER_VMMRQS, {
    metadata: { name: 'shared' },
    spec: {
      namespaceSelector: { matchExpressions: [{ key, operator: 'In', values }] },
      additionalMigrationResources: headroomFor(1),
      purposes: ['UserRequested'],
      total,
    },
  });
};

const shared = async (): Promise<ClusterVmmrq> =>
  (await environment.admin.get(CLUSTER_VMMRQS, { name: 'shared' })).object;
const reserved = async (): Promise<readonly Reservation[]> => (await shared()).status?.reserved ?? [];
const patchReserved = (reservations: readonly Reservation[] | null): Promise<unknown> =>
  environment.admin.patch(
    CLUSTER_VMMRQS,
    { name: 'shared' },
    { merge: { status: { reserved: reservations } }, subresource: 'status' },
  );
const untilFree = (): Promise<unknown> =>
  askUntil('nothing is reserved', reserved, (left) => left.length === 0);

const reasonsOf = ({ history }: Tenant): (string | undefined)[] =>
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
    const [one, other] = await Promise.all([poorTenant('total-one'), poorTenant('total-other')]);
    await share({ 'requests.cpu': '1' }, one, other);
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
    await untilFree();
    for (const tenant of [one, other]) await expectAsBefore(environment.admin, tenant);
  });

  test('that others have makes a namespace wait, unlocked, until it is free', async () => {
    const tenant = await poorTenant('total-waits');
    await share({ 'requests.cpu': '1' }, tenant);
    const until = new Date(Date.now() + 50_000).toISOString();
    await patchReserved([{ ...FORGED, until }]);
    await tenant.migrate();
    await tenant.history.until('it says why', () => reasonsOf(tenant).includes(REASON.totalReached));
    expect(tenant.history.locks()).toEqual([]);
    await patchReserved(null);
    await tenant.untilThrough();
    await expectAsBefore(environment.admin, tenant);
  });

  test('that is less than a migration needs is reported', async () => {
    const tenant = await poorTenant('total-small');
    await share({ 'requests.cpu': '600m' }, tenant);
    await tenant.migrate();
    await tenant.history.until('it says why', () => reasonsOf(tenant).includes(REASON.beyondTotal));
    expect(tenant.history.locks()).toEqual([]);
    const message = JSON.stringify(tenant.history.latest(VMMRQS)?.status);
    expect(message).toContain('requests.cpu=4m more than cvmmrq/shared gives in all namespaces together');
  });
});

describe('a reservation', () => {
  test('of no lock, for ever, is removed by the next lock that needs its room', async () => {
    const tenant = await poorTenant('total-forged');
    await share({ 'requests.cpu': '1' }, tenant);
    await patchReserved([FORGED]);
    await tenant.migrate();
    await tenant.untilThrough();
    await untilFree();
    await expectAsBefore(environment.admin, tenant);
  });

  test('of a lock that was never set, because the function died, ends with that lock’s time', async () => {
    const tenant = await poorTenant('total-crash');
    await share({ 'requests.cpu': '1' }, tenant);
    const isLockOf = all(by(SERVICE_ACCOUNT.lock, 'PUT', 'namespaces'), isLock, isIn(tenant.name));
    const died = proxy.inject({ hits: isLockOf, when: 'before', proxyFault: 'kill' });
    await tenant.migrate();
    await died;
    expect(tenant.history.locks()).toEqual([]);
    expect(await reserved()).toEqual([
      expect.objectContaining({
        namespace: tenant.name,
        quota: 'quota',
        amounts: { 'requests.cpu': '604m' },
      }),
    ]);
    await tenant.untilThrough();
    await untilFree();
    await expectAsBefore(environment.admin, tenant);
  });

  test('that is gone prevents the raise', async () => {
    const tenant = await poorTenant('total-wiped');
    await share({ 'requests.cpu': '1' }, tenant);
    const go = environment.hold(tenant.name, 'mtq-raise');
    await tenant.migrate();
    await tenant.history.until('it is locked', () => tenant.history.isLocked());
    await patchReserved(null);
    go();
    await tenant.untilUnlocked();
    const { object } = await environment.admin.get(NAMESPACES, { name: tenant.name });
    expect(JSON.stringify(object.metadata.annotations)).toContain(REASON.totalReached);
    await tenant.untilThrough();
    await expectAsBefore(environment.admin, tenant, { failed: true });
  });

  test('is removed by the guard, where it repairs the lock', async () => {
    const tenant = await poorTenant('total-repair');
    await share({ 'requests.cpu': '1' }, tenant);
    const go = environment.hold(tenant.name, 'mtq-raise', 'mtq-lower', 'mtq-unlock');
    await tenant.migrate();
    await tenant.untilUnlocked();
    expect(await reserved()).toEqual([]);
    go();
    await tenant.untilThrough();
    await expectAsBefore(environment.admin, tenant, { failed: true });
  });
});
