import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { raisedQuota } from '../../../functions/domain/quota/raise.ts';
import { LOCK_VERSION, withLock, type Lock, type Reference } from '../../../functions/domain/lock.ts';
import {
  ANNOTATION,
  EVENT,
  REASON,
  SERVICE_ACCOUNT,
  SYSTEM_NAMESPACE,
} from '../../../functions/domain/names.ts';
import type { KubernetesObject, Migration, ResourceQuota } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import {
  MIGRATIONS,
  NAMESPACES,
  RESOURCE_QUOTAS,
  VMIS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent, expectInTime } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { droppedEvents, to } from '../../support/faults/dropped-events.ts';
import { grantIn } from '../../support/invariants/replay-state.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';

/** The lock version of a newer release during a rollout or after a rollback: our processes must end its locks correctly. */
const NEWER = LOCK_VERSION + 1;
/** Long enough that a wrong early unlock would show, on a slow machine too. */
const LOCK_SECONDS = 20;

interface OtherVersion {
  readonly tenant: Tenant;
  readonly lock: Lock;
}

let environment: TestEnvironment;
let dropped: ReturnType<typeof droppedEvents>;
let locked: OtherVersion;
let raised: OtherVersion;
let alone: OtherVersion;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { SWEEP_SECONDS: '1', OVERDUE_SECONDS: '1' } });
  dropped = droppedEvents(environment);
  [locked, raised, alone] = await Promise.all([
    setUpLocked(),
    setUpRaised('raised'),
    setUpRaised('raised-and-alone', 'mtq-lower', 'mtq-unlock'),
  ]);
});

afterAll(async () => {
  await environment.stop();
});

/** A client for the newer version's process, which uses the same account as ours. */
const as = async (account: keyof typeof SERVICE_ACCOUNT): Promise<Cluster> =>
  connect(
    await environment.cluster.controlPlane.kubeconfigFor({
      namespace: SYSTEM_NAMESPACE,
      name: SERVICE_ACCOUNT[account],
    }),
    'test',
  );

const firstQuota = async ({ name }: Tenant): Promise<ResourceQuota> => {
  const [quota] = (await environment.admin.list(RESOURCE_QUOTAS, { namespace: name })).items;
  if (quota === undefined) throw new Error(`${name} has no quota`);
  return quota;
};

/** The lock of this version with the version number of the next. */
async function newerLock({ name }: Tenant): Promise<Lock> {
  const { items } = await environment.admin.list(MIGRATIONS, { namespace: name });
  const quotas = (await environment.admin.list(RESOURCE_QUOTAS, { namespace: name })).items;
  const named = ({ metadata }: KubernetesObject): Reference => ({
    name: metadata.name,
    uid: metadata.uid,
  });
  const vmis = (await environment.admin.list(VMIS, { namespace: name })).items;
  const vmiOf = ({ spec }: Migration): string =>
    vmis.find(({ metadata }) => metadata.name === spec.vmiName)?.metadata.uid ?? '';
  const now = Date.now();
  return {
    v: NEWER,
    token: `of-the-newer-version-${name}`,
    acquiredAt: new Date(now).toISOString(),
    expiresAt: new Date(now + LOCK_SECONDS * 1_000).toISOString(),
    migrations: items.map((migration) => ({ ...named(migration), vmi: vmiOf(migration) })),
    quotas: quotas.map(named),
    vmmrqs: [],
    of: '',
  };
}

/** Locks the namespace with the newer version's annotation. */
async function lockedByNewer(tenant: Tenant, lock: object): Promise<void> {
  const { object } = await environment.admin.get(NAMESPACES, { name: tenant.name });
  await (await as('lock')).replace(NAMESPACES, withLock(object, lock as Lock));
}

/** The newer version's raise. Its grant shares only `token`, `expiresAt` and `raised` with ours. */
async function raisedByNewer(tenant: Tenant, { token, expiresAt }: Lock): Promise<void> {
  const { items: vmmrqs } = await environment.admin.list(VMMRQS, { namespace: tenant.name });
  const quota = await firstQuota(tenant);
  const lock = { token, expiresAt, migrations: [], quotas: [] };
  const raised = raisedQuota(quota, { lock, vmmrqs, now: Date.now() });
  const annotations = raised?.metadata.annotations ?? {};
  const grant = JSON.parse(annotations[ANNOTATION.grant] ?? '{}') as object;
  annotations[ANNOTATION.grant] = JSON.stringify({
    ...grant,
    v: NEWER,
    vmmrqs: 'by name',
    quotas: 7,
    how: { new: true },
  });
  await (await as('raise')).replace(RESOURCE_QUOTAS, raised ?? quota, { subresource: 'status' });
}

/** Sets up a blocked migration with the newer version's lock for it. */
async function setUpLocked(): Promise<OtherVersion> {
  const tenant = await newTenant(environment, { name: 'locked' });
  const go = environment.hold(tenant.name, 'mtq-lock');
  await tenant.migrate();
  await tenant.untilBlocked();
  const lock = await newerLock(tenant);
  await lockedByNewer(tenant, { ...lock, of: 'the newer version' });
  go();
  const { token, migrations } = lock;
  await environment.forge({
    type: EVENT.namespaceLocked,
    from: 'lock',
    namespace: tenant.name,
    token,
    migrations,
  });
  return { tenant, lock };
}

/** Sets up a raise by the newer version, which then stops; these Triggers deliver nothing. */
async function setUpRaised(name: string, ...triggers: readonly string[]): Promise<OtherVersion> {
  const tenant = await newTenant(environment, { name });
  dropped.set(tenant.name, to(...triggers));
  const lock = await newerLock(tenant);
  // Value types that this version cannot read.
  await lockedByNewer(tenant, { ...lock, migrations: ['by-uid'], quotas: 'all' });
  await raisedByNewer(tenant, lock);
  await tenant.history.until('it is raised', wasRaised);
  return { tenant, lock };
}

async function expectEndedInTime({ tenant, lock }: OtherVersion): Promise<void> {
  await tenant.untilUnlocked();
  expect(tenant.history.lockedPeriods()[0]?.until).toBeGreaterThanOrEqual(Date.parse(lock.expiresAt));
  expectInTime(tenant, LOCK_SECONDS);
}

test('raise does not raise for a lock of a newer version', async () => {
  const { token } = locked.lock;
  await environment.lines.until('raise has said so', () =>
    environment.lines.items.some((line) =>
      [line.step === 'raise', line.token === token, line.reason === REASON.notOurLock].every(Boolean),
    ),
  );
});

test('such a lock ends at its expiry and not before, without a raise', async () => {
  await expectEndedInTime(locked);
  const tokens = locked.tenant.history.of(RESOURCE_QUOTAS).map((quota) => grantIn(quota)?.token);
  expect(tokens).not.toContain(locked.lock.token);
});

test.each<[string, () => OtherVersion]>([
  ['by the functions', () => raised],
  ['by the guard alone', () => alone],
])(
  'a newer version’s raise is lowered to the original text and unlocked at its expiry, not before: %s',
  async (_actor, otherVersion) => {
    const { tenant, lock } = otherVersion();
    await expectEndedInTime(otherVersion());
    const quotas = tenant.history.versions().filter(({ kind }) => kind === RESOURCE_QUOTAS.kind);
    const before = quotas.findLast(({ at }) => at < Date.parse(lock.expiresAt));
    expect(grantIn(before?.object as ResourceQuota)?.token).toBe(lock.token);
    await expectQuiescent(environment.admin, tenant);
    expect(JSON.stringify((await firstQuota(tenant)).spec)).toBe(
      JSON.stringify(tenant.before.quotas[0]?.spec),
    );
  },
);
