import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { REPAIR_MS } from '../../../functions/domain/verdict/attempt.ts';
import { grantOf } from '../../../functions/domain/quota/grant.ts';
import { lockOf } from '../../../functions/domain/lock.ts';
import { CLUSTER_PREFIX, LABEL, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent, expectInTime, untilOver } from '../../support/invariants/quiescent.ts';
import { askUntil } from '../../support/eventually.ts';
import { invariantViolations, wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { droppedEvents, to, WHAT_ENDS_A_LOCK } from '../../support/faults/dropped-events.ts';
import { Measured } from '../../support/measured.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { CLUSTER_ROLE_BINDINGS, untilAllowed } from '../../support/environment/roles.ts';
import { forceUninstall } from '../../support/environment/force-uninstall.ts';
import { fullFor, newTenant, type Tenant } from '../../support/tenant/tenant.ts';

const LOCK_SECONDS = 8;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  STALL_SECONDS: '3',
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
};

/** The resources of a tenant's pod, as small as the LimitRange of refuseTargets allows. */
const BALLAST = 'ballast';
const MINIMUM = {
  containers: [{ name: 'main', image: 'main', resources: { requests: { cpu: '1m', memory: '1Mi' } } }],
};

let environment: TestEnvironment;
let dropped: ReturnType<typeof droppedEvents>;
const measured = new Measured('until free');

beforeAll(async () => {
  environment = await startTestEnvironment({ env: ENV });
  dropped = droppedEvents(environment);
});

afterAll(async () => {
  measured.print();
  await environment.stop();
});

async function marked(): Promise<string[]> {
  const [namespaces, quotas] = await Promise.all([
    environment.admin.list(NAMESPACES, { labelSelector: `${LABEL.locked}=true` }),
    environment.admin.list(RESOURCE_QUOTAS, { labelSelector: `${LABEL.raised}=true` }),
  ]);
  return [...namespaces.items, ...quotas.items].map(({ metadata }) => metadata.name);
}

describe('a forced uninstall in the middle of a cycle (F17)', () => {
  let tenant: Tenant;
  let left: ResourceQuota | undefined;

  beforeAll(async () => {
    tenant = await newTenant(environment, { name: 'torn-out' });
    await environment.admin.create(PODS, {
      metadata: { namespace: tenant.name, name: BALLAST },
      spec: MINIMUM,
    });
    // The uninstall may take as long as the timeout of a raise, and the cycle must not end before it.
    dropped.set(tenant.name, WHAT_ENDS_A_LOCK);
    await refuseTargets(environment, tenant);
    await tenant.history.until('it is raised', () => wasRaised(tenant.history));
    await forceUninstall(environment);
    left = (await environment.admin.list(RESOURCE_QUOTAS, { namespace: tenant.name })).items[0];
  });

  test('leaves the quota with its spec and a raised status, and the namespace locked', async () => {
    const state = left === undefined ? undefined : grantOf(left);
    expect(state?.kind).toBe('held');
    expect(left?.spec.hard).toEqual(fullFor(1));
    expect(left?.status?.hard).not.toEqual(fullFor(1));
    const { object } = await environment.admin.get(NAMESPACES, { name: tenant.name });
    expect(lockOf(object)).toMatchObject({ kind: 'held', labelled: true });
    expect(invariantViolations(tenant.history)).toEqual([]);
  });

  test('lets Kubernetes lower the quota when a pod ends', async () => {
    const { name: namespace, history } = tenant;
    await environment.admin.delete(PODS, { namespace, name: BALLAST }, { gracePeriodSeconds: 0 });
    await history.until('status.hard is spec.hard', () => {
      const { spec: wanted, status } = history.latest(RESOURCE_QUOTAS) ?? {};
      return wanted !== undefined && isDeepStrictEqual(status?.hard, wanted.hard);
    });
  });

  test('needs only the guard to clear the lock after a new installation', async () => {
    dropped.clear();
    await environment.cluster.installAgain();
    const began = performance.now();
    await environment.cluster.startGuard();
    await tenant.history.until('it is unlocked', (history) => !history.isLocked());
    const ms = performance.now() - began;
    measured.add('torn out, from when it is installed again', ms / 1_000);
    // I3, counted from the return of the guard when none ran.
    expect(ms).toBeLessThan(LOCK_SECONDS * 1_000 + REPAIR_MS);
    const { items } = await environment.admin.list(RESOURCE_QUOTAS, { namespace: tenant.name });
    expect(items.map(({ spec }) => spec.hard)).toEqual([fullFor(1)]);
    await expectQuiescent(environment.admin, tenant);
  });
});

/** The commands of docs/operations.md, with their equivalents here. */
const COMMANDS: Readonly<Record<string, () => Promise<unknown>>> = {
  'kubectl delete clusterrolebinding managed-tenant-quota-feasibility managed-tenant-quota-lock':
    async () => {
      for (const step of ['feasibility', 'lock'])
        await environment.admin.delete(CLUSTER_ROLE_BINDINGS, { name: `${CLUSTER_PREFIX}${step}` });
      // RBAC changes take effect a moment later. The next command waits for namespaces that are locked until then.
      const access = { verb: 'update', resource: 'namespaces', allowed: false };
      await untilAllowed(environment.admin, userOf(SERVICE_ACCOUNT.lock), access);
    },
  [[
    'until [ -z "$(kubectl get namespace -l mtq.kubevirt.io/locked=true -o name',
    '              kubectl get resourcequota -A -l mtq.kubevirt.io/raised=true -o name)" ]; do sleep 1; done',
  ].join('\n')]: () => askUntil('nothing is locked or raised', marked, (names) => names.length === 0),
  'kubectl delete -k config/default': () => forceUninstall(environment),
};

describe('the documented uninstall in the middle of cycles (F17)', () => {
  let raised: Tenant;
  let locked: Tenant;
  let blocked: Tenant;

  beforeAll(async () => {
    [raised, locked, blocked] = await Promise.all([
      newTenant(environment, { name: 'raised' }),
      newTenant(environment, { name: 'locked' }),
      newTenant(environment, { name: 'blocked' }),
    ]);
    const go = environment.hold(blocked.name, 'mtq-lock');
    dropped.set(locked.name, to('mtq-raise', 'mtq-lower', 'mtq-unlock'));
    await Promise.all([refuseTargets(environment, raised), locked.migrate(), blocked.migrate()]);
    await raised.history.until('it is raised', () => wasRaised(raised.history));
    await locked.history.until('it is locked', (history) => history.isLocked());
    await blocked.untilBlocked();
    expect(await marked()).not.toEqual([]);
    for (const command of Object.values(COMMANDS)) {
      await command();
      // The held event reaches `lock` when `lock` has lost its rights.
      go();
    }
  });

  test('has the commands of docs/operations.md', () => {
    const docs = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
    const section = docs.split('\n## ').find((part) => part.startsWith('Uninstall'));
    const [, block] = section?.split(/```(?:sh)?\n/) ?? [];
    const said = block
      ?.split('\n')
      .filter((line) => !line.startsWith('#'))
      .join('\n')
      .trim();
    expect(said).toBe(Object.keys(COMMANDS).join('\n'));
  });

  test('leaves nothing raised or locked', async () => {
    for (const tenant of [raised, locked]) {
      await untilOver(tenant);
      measured.add(`the documented way, ${tenant.name}`, expectInTime(tenant, LOCK_SECONDS));
      await expectQuiescent(environment.admin, tenant);
    }
    expect(await marked()).toEqual([]);
  });

  test('sets no lock after the first command', async () => {
    expect(blocked.history.locks()).toEqual([]);
    await expectQuiescent(environment.admin, blocked);
  });
});
