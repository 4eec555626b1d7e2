import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION, EVENT_REASON } from '../../../functions/domain/names.ts';
import type { KubernetesEvent } from '../../../functions/domain/objects.ts';
import {
  EVENTS,
  MIGRATIONS,
  NAMESPACES,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { allowLaunchers, refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import type { History } from '../../support/tenant/history.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { fullFor, give, headroomFor, newTenant, retire, type Tenant } from '../../support/tenant/tenant.ts';
import { conditionsOf, isReportedToTheEnd } from '../../support/tenant/conditions.ts';
import { rawText } from '../../support/raw-text.ts';
import type { ForeignText } from '../../../functions/domain/foreign-text.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  // As in a cluster; other tests reach the API server by a kubeconfig.
  environment = await startTestEnvironment({ inPods: true, env: { SETTLE_MS: '250' } });
});

afterAll(async () => {
  await environment.stop();
});

/** Resolves when the migration has succeeded and every report about it is written. */
const untilThrough = async (tenant: Tenant, vms: readonly number[] = [0]): Promise<void> => {
  await tenant.history.until(`the migrations of ${tenant.name} are through`, (history) =>
    [vms.every((vm) => tenant.isThrough(vm)), !history.isLocked(), isReportedToTheEnd(history)].every(
      Boolean,
    ),
  );
};

/** Each version of each Event of this project's. */
const ownEvents = (history: History): KubernetesEvent[] =>
  history.of(EVENTS).filter(({ source }) => source?.component === 'managed-tenant-quota');

const reasonsOn = (history: History, kind: string): Set<ForeignText | undefined> =>
  new Set(
    ownEvents(history)
      .filter(({ involvedObject }) => involvedObject.kind === kind)
      .map(({ reason }) => reason),
  );

/** Which quota was raised for how long, from what to what. */
const WHAT =
  'ResourceQuota quota was raised for (\\d+ ms|\\d+ s) \\(requests\\.cpu \\S+ → \\S+, .*\\) and restored';

test('one quota, one VM: succeeds, is reported on the migration and the VMMRQ, and leaves everything as before (F7, F45)', async () => {
  const tenant = await newTenant(environment, { name: 'one-vm' });
  const { history } = tenant;
  await tenant.migrate();
  await untilThrough(tenant);

  const want: [kind: string, reason: string, message: string][] = [
    [
      'VirtualMachineInstanceMigration',
      EVENT_REASON.migrationAdmitted,
      '^(pod virt-launcher-\\S+ of mig0 exists|the quotas count every pod of the lock.*); ',
    ],
    ['VirtualMachineMigrationResourceQuota', EVENT_REASON.quotaLowered, '^for mig0: .*; '],
  ];
  await history.until('it is reported on both', () => ownEvents(history).length >= want.length);
  const reports = ownEvents(history).toSorted((one, other) =>
    (one.reason ?? '') < (other.reason ?? '') ? -1 : 1,
  );
  expect(
    reports.map(({ involvedObject, reason, message }) => [involvedObject.kind, reason, message]),
  ).toEqual(
    want.map(([kind, reason, message]) => [
      kind,
      reason,
      expect.stringMatching(new RegExp(`${message}${WHAT}$`)),
    ]),
  );
  expect(history.locks()).toHaveLength(1);
  expect(wasRaised(history)).toBe(true);
  await expectAsBefore(environment.admin, tenant);
});

test("a VMMRQ's status has the incumbent's fields, and does not change afterwards", async () => {
  const tenant = await newTenant(environment, { name: 'status' });
  const { history, before } = tenant;
  await tenant.migrate();
  await untilThrough(tenant);

  const vmmrq = history.latest(VMMRQS);
  expect(vmmrq?.status).toMatchObject({
    creationTime: vmmrq?.metadata.creationTimestamp,
    additionalMigrationResources: vmmrq?.spec.additionalMigrationResources,
    migrationsToBlockingResourceQuotas: {},
    originalBlockingResourceQuotas: [],
  });
  expect(conditionsOf(history)).toMatchObject({
    Ready: 'True',
    Blocking: 'False',
    Locked: 'False',
    Raised: 'False',
    NotEnough: 'False',
  });
  const { hard } = before.quotas[0]?.spec ?? {};
  expect(history.of(RESOURCE_QUOTAS).map(({ status }) => status?.hard)).toContainEqual({
    ...hard,
    'requests.cpu': '2010m',
    'requests.memory': String(2 * 1_412_828_864),
  });
  await expectAsBefore(environment.admin, tenant);
});

test('several quotas: raises those that refuse, and never writes to the others (F29)', async () => {
  const { pods, 'requests.cpu': cpu, 'requests.memory': memory } = fullFor(1) as Record<string, string>;
  const quotas = {
    cpu: { 'requests.cpu': cpu ?? '' },
    memory: { 'requests.memory': memory ?? '', 'services.loadbalancers': '0' },
    'with-headroom': { pods: pods ?? '', 'requests.cpu': '40' },
    storage: { 'requests.storage': '1Ti' },
  };
  const tenant = await newTenant(environment, { name: 'several-quotas', quotas });
  await tenant.migrate();
  await untilThrough(tenant);

  const { history } = tenant;
  expect(['cpu', 'memory', 'with-headroom', 'storage'].filter((name) => wasRaised(history, name))).toEqual([
    'cpu',
    'memory',
  ]);
  await expectAsBefore(environment.admin, tenant);
});

test('two VMs, allowance for one: one after the other (F40)', async () => {
  const tenant = await newTenant(environment, { name: 'two-vms-headroom-for-one', vms: 2 });
  await Promise.all([tenant.migrate(0), tenant.migrate(1)]);
  await untilThrough(tenant, [0, 1]);

  expect(tenant.history.locks().map(({ migrations }) => migrations.length)).toEqual([1, 1]);
  await expectAsBefore(environment.admin, tenant);
});

test('two VMs, allowance for both (F40)', async () => {
  const tenant = await newTenant(environment, { name: 'two-vms', vms: 2, gives: headroomFor(2) });
  const resume = environment.hold(tenant.name, 'mtq-lock');
  await Promise.all([tenant.migrate(0), tenant.migrate(1)]);
  await Promise.all([tenant.untilBlocked(0), tenant.untilBlocked(1)]);
  resume();
  await untilThrough(tenant, [0, 1]);

  const both = tenant.history.locks().map(({ migrations }) => migrations.map(({ name }) => name).toSorted());
  expect(both).toEqual([['mig0', 'mig1']]);
  await expectAsBefore(environment.admin, tenant);
});

test('four VMs blocked when a VMMRQ that gives too little arrives: each is reported, nothing is locked', async () => {
  const vms = [0, 1, 2, 3];
  const tenant = await newTenant(environment, { name: 'four-vms-too-little', vms: vms.length, gives: null });
  await Promise.all(vms.map((vm) => tenant.migrate(vm)));
  await Promise.all(vms.map((vm) => tenant.untilBlocked(vm)));
  await give(environment.admin, { namespace: tenant.name, name: 'more', by: {} }, { 'requests.cpu': '1m' });
  const { history } = tenant;
  const blocking = (): string =>
    rawText(history.latest(VMMRQS)?.status?.conditions?.find(({ type }) => type === 'Blocking')?.message);
  await history.until('each is reported', () => vms.every((vm) => blocking().includes(`mig${vm}: `)));
  expect(history.locks()).toEqual([]);
  await retire(environment.admin, tenant);
});

test('three namespaces at once (F8)', async () => {
  const names = ['at-once-a', 'at-once-b', 'at-once-c'];
  const tenants = await Promise.all(names.map((name) => newTenant(environment, { name })));
  await Promise.all(tenants.map((tenant) => tenant.migrate()));
  await Promise.all(tenants.map((tenant) => untilThrough(tenant)));
  for (const tenant of tenants) await expectAsBefore(environment.admin, tenant);
});

test('a migration that no raise helps is not locked, and its shortfall is reported', async () => {
  const gives = { 'requests.cpu': '100m', 'requests.memory': '2Gi' };
  const tenant = await newTenant(environment, { name: 'cannot-fit', gives });
  const { history } = tenant;
  await tenant.migrate();
  for (const kind of ['VirtualMachineInstanceMigration', 'VirtualMachineInstance']) {
    await history.until(`it is reported on the ${kind}`, () =>
      reasonsOn(history, kind).has(EVENT_REASON.quotaNotEnough),
    );
  }
  await history.until('the VMMRQ says so', () => conditionsOf(history)['NotEnough'] === 'True');

  const message = history
    .latest(VMMRQS)
    ?.status?.conditions?.find(({ type }) => type === 'NotEnough')?.message;
  expect(message).toContain('which is 505m too little');
  expect(history.locks()).toEqual([]);
  expect(tenant.migration()?.status?.phase).toBe('Pending');
  await expectAsBefore(environment.admin, tenant);
});

test('cancelled while raised: lowers at once (F32)', async () => {
  const tenant = await newTenant(environment, { name: 'cancelled' });
  const { history } = tenant;
  await refuseTargets(environment, tenant);
  await history.until('it is raised', () => wasRaised(history));
  await environment.admin.delete(MIGRATIONS, { namespace: tenant.name, name: 'mig0' });
  await tenant.untilUnlocked();
  await allowLaunchers(environment.admin, tenant.name);
  await history.until('the migration is gone', () => tenant.migration() === undefined);

  expect(history.locks()).toHaveLength(1);
  const { annotations } = history.latest(NAMESPACES)?.metadata ?? {};
  expect(JSON.parse(annotations?.[ANNOTATION.lastAttempt] ?? '{}')).toMatchObject({
    outcome: 'gaveWay',
    failures: 0,
  });
});
