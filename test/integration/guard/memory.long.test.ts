import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lockOf, withLock } from '../../../functions/domain/lock.ts';
import { KUBEVIRT, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import { isAlreadyExists } from '../../../functions/kubernetes/errors.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { MIGRATIONS, NAMESPACES, PODS } from '../../../functions/kubernetes/resources.ts';
import { guardDeployment } from '../../cluster/guard.ts';
import { newMigration } from '../../cluster/kubevirt/objects.ts';
import { auditLog } from '../../support/audit.ts';
import { writeByHand } from '../../support/by-hand.ts';
import { askUntil } from '../../support/eventually.ts';
import { startGuards, type Guards, type Replica } from '../../support/guards.ts';

/** A tenant with large objects, which the guard must not keep in memory all at once. */
const TENANT = 'hoarder';
const LONG = 'x'.repeat(250 * 1024);
const COUNT = { pods: 300, migrations: 100 };
const AT_ONCE = 16;
/** The migration of the lock. The labels of the tenant's pods name it too. */
const CANCELLED = { name: 'cancelled', uid: 'uid-of-cancelled', vmi: 'uid-of-its-vmi' };
const LONG_AGO_MS = 60_000;

const SERVICE_ACCOUNTS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

let guards: Guards;
let replica: Replica;

beforeAll(async () => {
  guards = await startGuards({ OVERDUE_SECONDS: '1', SWEEP_SECONDS: '1', CA_LEAD_MS: '0' });
});

afterAll(async () => {
  await guards.stop();
});

async function each(count: number, make: (index: number) => Promise<unknown>): Promise<void> {
  const left = Array.from({ length: count }, (_, index) => index).values();
  const work = async (): Promise<void> => {
    for (const index of left) await make(index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function fill(): Promise<void> {
  const { admin } = guards;
  const annotations = { theirs: LONG };
  const labels = {
    [KUBEVIRT.launcherLabel]: KUBEVIRT.launcher,
    [KUBEVIRT.migrationJobUID]: CANCELLED.uid,
  };
  await admin
    .create(SERVICE_ACCOUNTS, { metadata: { namespace: TENANT, name: 'default' } })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  await each(COUNT.pods, (index) => {
    const container = { name: 'theirs', image: 'none' };
    const metadata = { namespace: TENANT, name: `theirs-${index}`, annotations, labels };
    return admin.create(PODS, { metadata, spec: { containers: [container] } });
  });
  await each(COUNT.migrations, (index) => {
    const { metadata, ...migration } = newMigration({ namespace: TENANT, name: `mig${index}`, vmi: 'vm0' });
    return admin.create(MIGRATIONS, { ...migration, metadata: { ...metadata, annotations } });
  });
}

/** Sets an expired lock without functions, so that only the guard can end it. */
async function lockAndLeave(): Promise<void> {
  const { object } = await guards.admin.get(NAMESPACES, { name: TENANT });
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const lock = {
    v: 1,
    token: 'token-1',
    acquiredAt: at(-LONG_AGO_MS),
    expiresAt: at(1_000 - LONG_AGO_MS),
    migrations: [CANCELLED],
    quotas: [],
    vmmrqs: [],
    of: '',
  };
  await writeByHand(guards.admin, TENANT, withLock(object, lock).metadata);
}

/** The guard's peak resident memory, bytes (Linux). */
function maxResident(): number {
  const status = readFileSync(`/proc/${replica.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

function memoryLimit(): number {
  const { spec } = guardDeployment(guards.objects) as unknown as {
    spec: { template: { spec: { containers: { resources: { limits: { memory: string } } }[] } } };
  };
  const [container] = spec.template.spec.containers;
  const limit = parseQuantity(container?.resources.limits.memory ?? '0') / parseQuantity('1');
  return Number(limit);
}

/** The guard's list requests for this path. */
async function pagesOf(path: string): Promise<string[]> {
  return (await auditLog(guards.controlPlane, guards.admin))
    .filter(({ user }) => user.username === userOf(SERVICE_ACCOUNT.guard))
    .filter(({ verb, requestURI }) => verb === 'list' && requestURI.startsWith(`${path}?`))
    .map(({ requestURI }) => requestURI);
}

test('a guard that starts with 100 MiB of one tenant’s objects repairs its lock within the Deployment’s memory limit', async () => {
  await guards.admin.create(NAMESPACES, { metadata: { name: TENANT } });
  await fill();
  replica = await guards.start('watchful');
  await lockAndLeave();
  await askUntil(
    'the namespace is free',
    async () => lockOf((await guards.admin.get(NAMESPACES, { name: TENANT })).object).kind,
    (kind) => kind === 'none',
  );
  // The guard read each list to its end.
  await askUntil(
    'the guard has listed them all',
    () => pagesOf('/apis/kubevirt.io/v1/virtualmachineinstancemigrations'),
    (pages) => pages.length > 1 && pages.at(-1)?.includes('continue=') === true,
  );
  const max = maxResident();
  process.stdout.write(`  at most ${(max / 2 ** 20).toFixed(0)} MiB of ${memoryLimit() / 2 ** 20}\n`);
  expect(max).toBeLessThan(memoryLimit());
  const pages = await pagesOf(`/api/v1/namespaces/${TENANT}/pods`);
  expect(pages.some((uri) => uri.includes('continue='))).toBe(true);
  expect(await replica.problem()).toBe('');
});
