import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { FULL_VMIS } from '../../cluster/kubevirt/objects/objects.ts';
import { atOnce } from '../../support/at-once.ts';
import { expectQuiescent, expectInTime, untilOver } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { unlimitMigrations } from '../../support/environment/limits.ts';
import { droppedEvents, to } from '../../support/faults/dropped-events.ts';
import { Measured } from '../../support/measured.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { give, newTenant, headroomFor, type Tenant } from '../../support/tenant/tenant.ts';

const LOCK_SECONDS = 8;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  STALL_SECONDS: '1',
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
};
const AT_ONCE = 4;

let environment: TestEnvironment;
let dropped: ReturnType<typeof droppedEvents>;
let runs: Map<string, Promise<Tenant>>;
const measured = new Measured('locked for');

const change = async (
  tenant: Tenant,
  additionalMigrationResources: Record<string, string>,
): Promise<void> => {
  const merge = { spec: { additionalMigrationResources } };
  await environment.admin.patch(VMMRQS, { namespace: tenant.name, name: 'more' }, { merge });
};
const cancel = ({ name }: Tenant): Promise<void> =>
  environment.admin.delete(MIGRATIONS, { namespace: name, name: 'mig0' });
const removeVm = ({ name }: Tenant): Promise<void> =>
  environment.admin.delete(FULL_VMIS, { namespace: name, name: 'vm0' });
const removeNamespace = ({ name }: Tenant): Promise<void> => environment.admin.delete(NAMESPACES, { name });

type Act = (tenant: Tenant) => Promise<void>;

const OF_VMMRQ: Readonly<Record<string, Act>> = {
  'its VMMRQ is deleted': ({ name }) => environment.admin.delete(VMMRQS, { namespace: name, name: 'more' }),
  'its VMMRQ gives less': (tenant) => change(tenant, { 'requests.cpu': '1m', 'requests.memory': '1' }),
  'its VMMRQ gives more': (tenant) => change(tenant, headroomFor(3)),
  'a second VMMRQ is there': ({ name }) =>
    give(environment.admin, { namespace: name, name: 'even-more' }, headroomFor(1)),
};

const WHILE_LOCKED: Readonly<Record<string, Act>> = {
  ...OF_VMMRQ,
  'its migration is deleted': cancel,
  'its VM is deleted': removeVm,
  'its namespace is deleted': removeNamespace,
  'its lock expires, and no step gets an event': ({ name }) => {
    dropped.set(name, to('mtq-raise', 'mtq-lower', 'mtq-unlock'));
    return Promise.resolve();
  },
};

const WHILE_RAISED: Readonly<Record<string, Act>> = {
  ...OF_VMMRQ,
  'its migration is deleted': cancel,
  'its VM is deleted': removeVm,
  'its namespace is deleted': removeNamespace,
  'its lock expires, and no step gets an event': ({ name }) => {
    dropped.set(name, to('mtq-lower', 'mtq-unlock'));
    return Promise.resolve();
  },
};

async function locked(name: string, act: Act): Promise<Tenant> {
  const tenant = await newTenant(environment, { name });
  const go = environment.hold(name, 'mtq-raise');
  await tenant.migrate();
  await tenant.history.until('it is locked', (history) => history.isLocked());
  await act(tenant);
  go();
  return tenant;
}

/** Refuses the target pod, so that the quota stays raised for a while. */
async function raised(name: string, act: Act): Promise<Tenant> {
  const tenant = await newTenant(environment, { name });
  await refuseTargets(environment, tenant);
  await tenant.history.until('it is raised', () => wasRaised(tenant.history));
  await act(tenant);
  return tenant;
}

const untilEnd = (tenant: Tenant): Promise<unknown> =>
  Promise.race([
    untilOver(tenant),
    tenant.history.until('it is gone', (history) => history.isGone(NAMESPACES)),
  ]);

/** Checks right after the lock's end, because a new lock may follow the back-off. */
async function toItsEnd(name: string, begin: () => Promise<Tenant>): Promise<Tenant> {
  const tenant = await begin();
  await untilEnd(tenant);
  measured.add(name, expectInTime(tenant, LOCK_SECONDS));
  await expectQuiescent(environment.admin, tenant);
  return tenant;
}

const works = new Map<string, () => Promise<Tenant>>([
  ...Object.entries(WHILE_LOCKED).map(([what, act], index) => {
    return [`while locked, ${what}`, () => locked(`locked-${index}`, act)] as const;
  }),
  ...Object.entries(WHILE_RAISED).map(([what, act], index) => {
    return [`while raised, ${what}`, () => raised(`raised-${index}`, act)] as const;
  }),
]);

beforeAll(async () => {
  environment = await startTestEnvironment({ env: ENV });
  dropped = droppedEvents(environment);
  await unlimitMigrations(environment.admin);
  runs = atOnce(AT_ONCE, new Map([...works].map(([name, begin]) => [name, () => toItsEnd(name, begin)])));
});

afterAll(async () => {
  measured.print();
  await environment.stop();
});

async function tenantOf(name: string): Promise<Tenant> {
  const tenant = await runs.get(name);
  if (tenant === undefined) throw new Error(`no case ran ${name}`);
  return tenant;
}

test.each([...works.keys()])('%s (F9, F10, F11, F12, F32, F35)', async (name) => {
  await tenantOf(name);
});

test('a lock whose VMMRQ is deleted before the raise never raises', async () => {
  const { history } = await tenantOf('while locked, its VMMRQ is deleted');
  expect(wasRaised(history)).toBe(false);
});

test('a deleted namespace is gone, whether it was locked or raised', async () => {
  for (const name of ['while locked, its namespace is deleted', 'while raised, its namespace is deleted']) {
    const { history } = await tenantOf(name);
    await history.until('it is gone', () => history.isGone(NAMESPACES) && history.isGone(RESOURCE_QUOTAS));
  }
});
