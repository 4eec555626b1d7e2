import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { OurEvent } from '../../../functions/domain/events.ts';
import { EVENT, KIND, SERVICE_ACCOUNT, SOURCE_EVENT, userOf } from '../../../functions/domain/names.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS, newMigration } from '../../cluster/kubevirt/objects/objects.ts';
import { auditLog, isDryRun, whatOf, type Audited } from '../../support/environment/audit.ts';
import { grantsOf, isGranted } from '../../support/environment/granted.ts';
import {
  startTestEnvironment,
  type TestEnvironment,
  type SourceEvent,
} from '../../support/environment/test-environment.ts';
import { bindRole, untilAllowed } from '../../support/environment/roles.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { isReportedToTheEnd } from '../../support/tenant/conditions.ts';

const OURS = /^system:serviceaccount:mtq-system:(mtq-[a-z]+)$/;
const QUIET = 'quiet';
const PERSON = { name: 'cluster-admin', groups: ['cluster-admins'] };

const REQUESTS: Readonly<Record<string, readonly string[]>> = {
  lock: [
    'get namespaces',
    'get virtualmachineinstances',
    'list events',
    'list pods',
    'list resourcequotas',
    'list virtualmachinemigrationresourcequotas',
    'update namespaces',
  ],
  raise: [
    'create resourcequotas (dry run)',
    'get resourcequotas',
    'get virtualmachinemigrationresourcequotas',
    'list endpointslices',
    'update resourcequotas/status',
    // Of a quota that was never raised.
    'update resourcequotas/status (dry run)',
  ],
  lower: ['create events', 'get resourcequotas', 'list pods', 'update resourcequotas/status'],
  unlock: ['get namespaces', 'get resourcequotas', 'update namespaces'],
};
/**
 * `lower` runs before the pod is charged or stored, or once its migration stalls; `raise` after its lock has ended; the guard's view lacks
 * the migration when `lock` asks (`watch-cache` has the usual case).
 */
const ON_A_SLOW_MACHINE = [
  'get namespaces',
  'list events',
  'get virtualmachineinstancemigrations',
  'list virtualmachinemigrationresourcequotas',
  'patch virtualmachineinstancemigrations',
  'list pods by unlock',
  'list virtualmachineinstancemigrations by lock',
];

const isOfSlowMachine = (kind: string, step: string): boolean =>
  [kind, `${kind} by ${step}`].some((each) => ON_A_SLOW_MACHINE.includes(each));

let environment: TestEnvironment;
let tenant: Tenant;
/** The user who starts the migration, so that every request of the set-up's administrator meanwhile would be a failure. */
let person: Cluster;
/** All requests from the migration's creation to the end of all its effects. */
let cycleRequests: Audited[];

const QUOTA_CONTROLLER = 'system:serviceaccount:kube-system:resourcequota-controller';
const accountOf = ({ user }: Audited): string | undefined => OURS.exec(user.username)?.[1];
const byUs = (requests: readonly Audited[]): Audited[] =>
  requests.filter((one) => accountOf(one) !== undefined);

beforeAll(async () => {
  // A long stall time prevents a nudge on a slow machine: a normal cycle has no such write.
  environment = await startTestEnvironment({ env: { STALL_SECONDS: '30' } });
  const { controlPlane } = environment.cluster;
  await environment.admin.create(NAMESPACES, { metadata: { name: QUIET } });
  await bindRole(environment.admin, { role: 'admin', user: PERSON.name });
  await bindRole(environment.admin, {
    role: 'migrator',
    user: PERSON.name,
    rules: [
      { apiGroups: ['kubevirt.io'], resources: ['virtualmachineinstancemigrations'], verbs: ['create'] },
      { apiGroups: [''], resources: ['namespaces'], verbs: ['list'] },
    ],
  });
  await untilAllowed(environment.admin, PERSON.name, {
    verb: 'create',
    group: 'kubevirt.io',
    resource: 'virtualmachineinstancemigrations',
    allowed: true,
  });
  person = connect(await controlPlane.kubeconfigForUser(PERSON));
});

afterAll(async () => {
  await environment.stop();
});

/** These tests run before anything else happens in the cluster. */
describe('a trigger that finds nothing to do', () => {
  const source = (kind: { apiVersion: string; kind: string }, type: string): SourceEvent => ({
    ...kind,
    type,
    namespace: QUIET,
    name: 'nobody',
  });
  const ours = (type: OurEvent['type']): OurEvent => ({
    type,
    from: 'test',
    namespace: QUIET,
    token: randomUUID(),
  });

  const REQUESTS: Readonly<
    Record<string, [account: string, post: (environment: TestEnvironment) => Promise<void>]>
  > = {
    'feasibility, by a migration': [
      'mtq-feasibility',
      ({ forgeSource }) => forgeSource(source(KIND.migration, SOURCE_EVENT.update)),
    ],
    'lower, by a migration': [
      'mtq-lower',
      ({ forgeSource }) => forgeSource(source(KIND.migration, SOURCE_EVENT.delete)),
    ],
    'lower, by quota.raised': ['mtq-lower', ({ forge }) => forge(ours(EVENT.quotaRaised))],
    'lower, by lock.stalled': ['mtq-lower', ({ forge }) => forge(ours(EVENT.lockStalled))],
    'raise, by namespace.locked': ['mtq-raise', ({ forge }) => forge(ours(EVENT.namespaceLocked))],
    'unlock, by quota.lowered': ['mtq-unlock', ({ forge }) => forge(ours(EVENT.quotaLowered))],
  };

  test.each(Object.entries(REQUESTS))('costs one read: %s', async (_what, [account, post]) => {
    const { controlPlane } = environment.cluster;
    const before = (await auditLog(controlPlane, person)).length;
    await post(environment);
    const requests = (await auditLog(controlPlane, person)).slice(before);
    expect(requests.filter((one) => accountOf(one) === account)).toHaveLength(1);
  });

  test('costs no request when the event itself shows that there is nothing to do', async () => {
    const { controlPlane } = environment.cluster;
    const before = (await auditLog(controlPlane, person)).length;
    await environment.forgeSource({
      ...source(KIND.migration, SOURCE_EVENT.update),
      status: { phase: 'Pending' },
    });
    const requests = byUs((await auditLog(controlPlane, person)).slice(before));
    expect(requests.filter((one) => accountOf(one) !== SERVICE_ACCOUNT.guard).map(whatOf)).toEqual([]);
  });
});

test('the deletion of a migration that got through costs `lower` no request', async () => {
  const { controlPlane } = environment.cluster;
  const before = (await auditLog(controlPlane, person)).length;
  const deleted = { ...KIND.migration, type: SOURCE_EVENT.delete, namespace: QUIET, name: 'nobody' };
  await environment.forgeSource({ ...deleted, status: { phase: 'Succeeded' } });
  const requests = (await auditLog(controlPlane, person)).slice(before);
  expect(requests.filter((one) => accountOf(one) === 'mtq-lower')).toEqual([]);
});

describe('one cycle', () => {
  beforeAll(async () => {
    const { controlPlane, eventing } = environment.cluster;
    tenant = await newTenant(environment, { name: 'audited' });
    await tenant.history.until('feasibility has reported on the new VMMRQ', (history) => {
      const conditions = history.latest(VMMRQS)?.status?.conditions ?? [];
      return conditions.length > 0;
    });
    await eventing.broker.idle();
    const before = (await auditLog(controlPlane, person)).length;
    await person.create(FULL_MIGRATIONS, newMigration({ namespace: tenant.name, name: 'mig0', vmi: 'vm0' }));
    await tenant.untilThrough();
    await tenant.history.until('every report is written', isReportedToTheEnd);
    await eventing.broker.idle();
    cycleRequests = (await auditLog(controlPlane, person)).slice(before);
  });

  test('has no request of the set-up’s administrator, and only the expected accounts write our objects', () => {
    expect(cycleRequests.filter(({ user }) => user.username === 'admin').map(whatOf)).toEqual([]);
    const isWrite = ({ verb }: Audited): boolean => !['get', 'list', 'watch'].includes(verb);
    const resources = ['namespaces', 'resourcequotas', 'virtualmachinemigrationresourcequotas'];
    const writers = cycleRequests
      .filter((one) => isWrite(one) && resources.includes(one.objectRef?.resource ?? ''))
      .map(({ user }) => user.username)
      // It recounts after the source pod has ended, which may be later than the last of these requests.
      .filter((user) => user !== QUOTA_CONTROLLER);
    expect(new Set(writers)).toEqual(
      new Set([
        // The status of the VMMRQ is the same before and after, so no step writes it.
        ...['lock', 'raise', 'lower', 'unlock'].map((step) => userOf(`mtq-${step}`)),
        // Quota admission charges pods as the API server's user.
        'system:apiserver',
      ]),
    );
  });

  test('has only requests that config/rbac grants to the requesting account (F15)', () => {
    const refused = byUs(cycleRequests).filter((request) => {
      const account = accountOf(request) ?? '';
      return !isGranted(grantsOf(environment.cluster.objects, account), request);
    });
    expect(refused.map((request) => `${accountOf(request) ?? ''} ${whatOf(request)}`)).toEqual([]);
  });

  test('has no refusals except of proofs, and creates no quota', () => {
    const isProof = (request: Audited): boolean =>
      accountOf(request) === SERVICE_ACCOUNT.raise &&
      whatOf(request) === 'create resourcequotas' &&
      isDryRun(request);
    const requests = byUs(cycleRequests);
    const refused = requests.filter(({ responseStatus }) => responseStatus?.code === 403);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.filter((request) => !isProof(request)).map(whatOf)).toEqual([]);
    const created = requests.filter((request) => whatOf(request) === 'create resourcequotas');
    expect(created.filter((request) => !isProof(request))).toEqual([]);
  });

  test('has the minimum number of writes by lock, raise, lower and unlock', () => {
    const writes = byUs(cycleRequests)
      .filter((one) => ['update', 'patch', 'delete'].includes(one.verb) && !isDryRun(one))
      .filter(
        ({ objectRef, responseStatus }) =>
          responseStatus?.code === 200 && objectRef?.resource !== 'virtualmachinemigrationresourcequotas',
      )
      .map((one) => `${accountOf(one) ?? ''} ${whatOf(one)}`);
    expect(writes).toEqual([
      'mtq-lock update namespaces',
      'mtq-raise update resourcequotas/status',
      'mtq-lower update resourcequotas/status',
      'mtq-unlock update namespaces',
    ]);
  });

  test('has at most eight log lines by the functions', () => {
    const said = environment.lines.items.filter(
      ({ namespace, level }) => namespace === tenant.name && level !== 'debug',
    );
    expect(said.map(({ service, reason }) => `${service} ${reason ?? ''}`)).toEqual(
      expect.arrayContaining(['lock Locked', 'raise Raised', 'unlock Unlocked']),
    );
    expect(said.length).toBeLessThanOrEqual(8);
  });

  test.each(Object.entries(REQUESTS))(
    '%s has only these requests: another kind makes every cycle dearer',
    (step, kinds) => {
      const seen = byUs(cycleRequests)
        .filter((one) => accountOf(one) === `mtq-${step}`)
        .map((one) => `${whatOf(one)}${isDryRun(one) ? ' (dry run)' : ''}`);
      expect(
        [...new Set(seen)].filter((kind) => kinds.includes(kind) || !isOfSlowMachine(kind, step)).toSorted(),
      ).toEqual(kinds);
    },
  );
});
