import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { lockOf, withLock, type Lock } from '../../../functions/domain/lock.ts';
import { KUBEVIRT, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { isFencedBy } from '../../../functions/domain/quota/lower.ts';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import { isAlreadyExists } from '../../../functions/kubernetes/errors.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { MIGRATIONS, NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { guardDeployment } from '../../cluster/guard.ts';
import { newMigration } from '../../cluster/kubevirt/objects/objects.ts';
import { auditLog } from '../../support/environment/audit.ts';
import { writeByHand } from '../../support/tenant/by-hand.ts';
import { askUntil } from '../../support/eventually.ts';
import { startGuards, type Guards, type Replica } from '../../support/environment/guards.ts';

/** A tenant with large objects, which the guard must not keep in memory all at once. */
const TENANT = 'hoarder';
const LONG = 'x'.repeat(250 * 1024);
/** So many labels are a megabyte with their managedFields, and three of memory. */
const COUNT = { pods: 300, migrations: 100, quotas: 20, labels: 9_000 };
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
let replica: Replica | undefined;

beforeAll(async () => {
  guards = await startGuards({ OVERDUE_SECONDS: '1', SWEEP_SECONDS: '1', CA_LEAD_MS: '0' });
});

afterEach(async () => {
  await replica?.stop();
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
async function lockAndLeave(name: string, quotas: Lock['quotas'] = []): Promise<void> {
  const { object } = await guards.admin.get(NAMESPACES, { name });
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const lock = {
    v: 1,
    token: 'token-1',
    acquiredAt: at(-LONG_AGO_MS),
    expiresAt: at(1_000 - LONG_AGO_MS),
    migrations: [CANCELLED],
    quotas,
    vmmrqs: [],
    of: '',
  };
  await writeByHand(guards.admin, name, withLock(object, lock).metadata);
}

const free = (name: string): Promise<unknown> =>
  askUntil(
    `namespace ${name} is free`,
    async () => lockOf((await guards.admin.get(NAMESPACES, { name })).object).kind,
    (kind) => kind === 'none',
  );

/** The guard's peak resident memory, bytes (Linux). */
function maxResident(): number {
  const status = readFileSync(`/proc/${String(replica?.pid)}/status`, 'utf8');
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

function expectWithinLimit(): void {
  const max = maxResident();
  process.stdout.write(`  at most ${(max / 2 ** 20).toFixed(0)} MiB of ${memoryLimit() / 2 ** 20}\n`);
  expect(max).toBeLessThan(memoryLimit());
}

test('a guard that starts with 100 MiB of one tenant’s objects repairs its lock within the Deployment’s memory limit', async () => {
  await guards.admin.create(NAMESPACES, { metadata: { name: TENANT } });
  await fill();
  replica = await guards.start('watchful');
  await lockAndLeave(TENANT);
  await free(TENANT);
  // The guard read each list to its end.
  await askUntil(
    'the guard has listed them all',
    () => pagesOf('/apis/kubevirt.io/v1/virtualmachineinstancemigrations'),
    (pages) => pages.length > 1 && pages.at(-1)?.includes('continue=') === true,
  );
  expectWithinLimit();
  const pages = await pagesOf(`/api/v1/namespaces/${TENANT}/pods`);
  expect(pages.some((uri) => uri.includes('continue='))).toBe(true);
  expect(await replica.problem()).toBe('');
});

test('a guard lowers a lock of twenty quotas with a megabyte each, and frees its namespace', async () => {
  // The API server takes seconds for one such quota where it shares its CPU.
  const admin = connect(guards.controlPlane.adminKubeconfig, undefined, { silenceMs: 60_000 });
  const name = 'labeller';
  await admin.create(NAMESPACES, { metadata: { name } });
  const labels = Object.fromEntries(
    Array.from({ length: COUNT.labels }, (_, index) => [`${'k'.repeat(20)}${index}`, 'v'.repeat(60)]),
  );
  const quotas: Lock['quotas'] = [];
  for (let index = 0; index < COUNT.quotas; index += 1) {
    const metadata = { namespace: name, name: `quota${index}`, labels };
    const { object } = await admin.create(RESOURCE_QUOTAS, { metadata, spec: { hard: { pods: '5' } } });
    quotas.push({ name: object.metadata.name, uid: object.metadata.uid });
  }
  replica = await guards.start('alone');
  await lockAndLeave(name, quotas);
  await free(name);
  for (const quota of quotas) {
    const { object } = await admin.get(RESOURCE_QUOTAS, { namespace: name, name: quota.name });
    expect(isFencedBy(object, 'token-1')).toBe(true);
    expect(Object.keys(object.metadata.labels ?? {})).toHaveLength(COUNT.labels);
  }
  expectWithinLimit();
});
