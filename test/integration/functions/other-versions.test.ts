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
import { expectQuiescent, expectInTime } from '../../support/quiescent.ts';
import { wasRaised } from '../../support/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/test-environment.ts';
import { droppedEvents, to } from '../../support/dropped-events.ts';
import { grantIn } from '../../support/replay-state.ts';
import { newTenant, type Tenant } from '../../support/tenant.ts';

/** Of an upgrade that is being rolled out, or was taken back: its pods wrote this, ours must see it to its end. */
const NEWER = LOCK_VERSION + 1;
/** Long enough that everything which must not happen before its end has had its chance, on a slow machine too. */
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

/** As the newer version's own process, by the account that it shares with ours. */
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

/** What this version would write, of the version after it. */
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

/** Takes the namespace; `lock`: whatever the newer version says. */
async function lockedByNewer(tenant: Tenant, lock: object): Promise<void> {
  const { object } = await environment.admin.get(NAMESPACES, { name: tenant.name });
  await (await as('lock')).replace(NAMESPACES, withLock(object, lock as Lock));
}

/** The raise of the newer version. Only `token`, `expiresAt` and `raised` are as here. */
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

/** Has a migration that a quota refuses, and the newer version's lock for it. */
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

/** Raised by the newer version, which has gone; these Triggers bring nothing. */
async function setUpRaised(name: string, ...triggers: readonly string[]): Promise<OtherVersion> {
  const tenant = await newTenant(environment, { name });
  dropped.set(tenant.name, to(...triggers));
  const lock = await newerLock(tenant);
  // Shapes that nobody here can read.
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

test('raise is asked for a lock of a newer version, and does not: it is not ours', async () => {
  const { token } = locked.lock;
  await environment.lines.until('raise has said so', () =>
    environment.lines.items.some((line) =>
      [line.step === 'raise', line.token === token, line.reason === REASON.notOurLock].every(Boolean),
    ),
  );
});

test('such a lock ends at its time and not before, and nothing was ever raised for it', async () => {
  await expectEndedInTime(locked);
  const tokens = locked.tenant.history.of(RESOURCE_QUOTAS).map((quota) => grantIn(quota)?.token);
  expect(tokens).not.toContain(locked.lock.token);
});

test.each<[string, () => OtherVersion]>([
  ['by the functions', () => raised],
  ['by the guard alone', () => alone],
])(
  'what a newer version raised is put back to the letter and unlocked at its time, not before: %s',
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
