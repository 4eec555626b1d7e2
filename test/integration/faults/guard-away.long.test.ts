import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isLockExpired, lockOf } from '../../../functions/domain/lock.ts';
import { ANNOTATION, LABEL, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { freePort } from '../../cluster/controlplane/ports.ts';
import type { Child } from '../../cluster/controlplane/children.ts';
import { startGuard } from '../../cluster/guard.ts';
import { apiRequests, type ApiAnswer, type ApiRequest } from '../../support/environment/api-request.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { askUntil } from '../../support/eventually.ts';
import { invariantViolations, wasRaised } from '../../support/invariants/invariants.ts';
import { breakGlassPatch } from '../../support/tenant/by-hand.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { bindRole, untilAllowed } from '../../support/environment/roles.ts';
import { countedPods, newTenant, type Tenant } from '../../support/tenant/tenant.ts';

/**
 * A guard that is down, returns, or has two replicas; and break-glass in the meantime. Held events stop each tenant's cycle
 * at a chosen point.
 */
const LOCK_SECONDS = 15;
const OVERDUE_SECONDS = 1;
/** I3: the quota is restored within the lock's lifetime plus this. */
const REPAIR_SECONDS = 15;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  STALL_SECONDS: '30',
  OVERDUE_SECONDS: String(OVERDUE_SECONDS),
  SWEEP_SECONDS: '1',
};
const HAND = { name: 'cluster-admin', groups: ['cluster-admins'] };
const OTHERS = ['tenant-admin', 'tenant'].map((name) => ({ name, groups: [`${name}s`] }));
const MERGE = 'application/merge-patch+json';
const WITHOUT_LOCK = {
  metadata: { labels: { [LABEL.locked]: null }, annotations: { [ANNOTATION.lock]: null } },
};

let environment: TestEnvironment;
let second: Child;
const as: Record<string, (request: ApiRequest) => Promise<ApiAnswer>> = {};

beforeAll(async () => {
  // These tests are about the webhooks, and the policy of the reserved namespaces.
  environment = await startTestEnvironment({ admissionMode: 'both', env: ENV });
  await bindRole(environment.admin, { role: 'writers', user: HAND.name, rules: EVERYTHING_THERE });
  await untilAllowed(environment.admin, HAND.name, { verb: 'create', resource: 'pods', allowed: true });
  for (const [index, { name }] of OTHERS.entries()) {
    await bindRole(environment.admin, { role: `writers-${index}`, user: name, rules: EVERYTHING_THERE });
    await untilAllowed(environment.admin, name, { verb: 'create', resource: 'pods', allowed: true });
  }
  for (const user of [HAND, ...OTHERS]) {
    as[user.name] = apiRequests(await environment.cluster.controlPlane.kubeconfigForUser(user));
  }
  second = await anotherGuard();
  environment.atEnd(() => second.stop());
});

afterAll(async () => {
  await environment.stop();
});

const EVERYTHING_THERE = [
  { apiGroups: [''], resources: ['pods'], verbs: ['create'] },
  {
    apiGroups: [''],
    resources: ['namespaces', 'namespaces/status', 'namespaces/finalize'],
    verbs: ['get', 'update', 'patch'],
  },
];

/** A second replica: the API server sends it no reviews here, but its watchdog works like the first one's. */
async function anotherGuard(): Promise<Child> {
  const { controlPlane, objects, eventing } = environment.cluster;
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  if (deployment === undefined) throw new Error('the manifests have no Deployment');
  return startGuard({
    name: 'guard-2',
    deployment,
    bundle: fileURLToPath(new URL('../../../dist/guard.mjs', import.meta.url)),
    folder: controlPlane.folder,
    kubeconfig: await controlPlane.kubeconfigFor({
      namespace: SYSTEM_NAMESPACE,
      name: SERVICE_ACCOUNT.guard,
    }),
    port: await freePort(),
    tlsPort: await freePort(),
    rewrite: eventing.rewrite,
    env: ENV,
  });
}

const send = (user: string, request: ApiRequest): Promise<ApiAnswer> => {
  const sender = as[user];
  if (sender === undefined) throw new Error(`${user} is none of this test's users`);
  return sender(request);
};

const createPod = (namespace: string): ApiRequest => ({
  method: 'POST',
  path: `/api/v1/namespaces/${namespace}/pods?dryRun=All`,
  body: {
    metadata: { generateName: 'pod-' },
    spec: {
      containers: [{ name: 'main', image: 'main', resources: { requests: { cpu: '1m', memory: '1Mi' } } }],
    },
  },
});
const patch = (namespace: string, body: object, subresource = ''): ApiRequest => ({
  method: 'PATCH',
  path: `/api/v1/namespaces/${namespace}${subresource}`,
  body,
  contentType: MERGE,
});

/** Points at which a test stops a cycle: the held Trigger, and how the test sees that the cycle is there. */
const POINTS = {
  locked: { holds: 'mtq-raise', isThere: ({ history }: Tenant): boolean => history.isLocked() },
  raised: {
    holds: 'mtq-lower',
    isThere: ({ history }: Tenant): boolean => history.isLocked() && wasRaised(history),
  },
  lowered: {
    holds: 'mtq-unlock',
    isThere: ({ history }: Tenant): boolean => wasRaised(history) && !isRaised(history) && history.isLocked(),
  },
} as const;
type Point = keyof typeof POINTS;

const isRaised = (history: Tenant['history']): boolean =>
  history.latest(RESOURCE_QUOTAS)?.metadata.labels?.[LABEL.raised] !== undefined;

async function stoppedAt(point: Point, name: string): Promise<{ tenant: Tenant; resume: () => void }> {
  const tenant = await newTenant(environment, { name });
  const resume = environment.hold(name, POINTS[point].holds);
  await tenant.migrate();
  await tenant.history.until(`it is ${point}`, () => POINTS[point].isThere(tenant));
  return { tenant, resume };
}

/** The target pod is admitted and `lower` has its event. Later the webhook would refuse the pod, because no guard answers. */
const untilIn = (tenant: Tenant): Promise<void> =>
  tenant.history.until('the target pod is charged', () => countedPods(tenant) === '2');

/** Waits by the API server's clock until the lock has expired; the lock remains. */
async function untilExpired(name: string): Promise<void> {
  await askUntil(
    `the lock of ${name} has expired`,
    () => environment.admin.get(NAMESPACES, { name }),
    ({ object, date }) => {
      const state = lockOf(object);
      if (state.kind !== 'held') throw new Error(`${name} is not locked: ${JSON.stringify(object.metadata)}`);
      return isLockExpired(state.lock, date.getTime());
    },
  );
}

describe('break-glass, with two watchdogs', () => {
  test.each<Point>(['locked', 'raised', 'lowered'])(
    '%s: only a holder of the role may use it, and the guard then restores everything',
    async (point) => {
      const name = `glass-${point}`;
      const { tenant, resume } = await stoppedAt(point, name);
      for (const { name: other } of OTHERS) {
        for (const subresource of ['', '/status']) {
          const answer = await send(other, patch(name, WITHOUT_LOCK, subresource));
          expect([other, subresource, answer.code]).toEqual([other, subresource, 403]);
        }
      }
      if (point === 'locked') {
        await bindRole(environment.admin, { role: 'managed-tenant-quota-break-glass', user: HAND.name });
        const override = { verb: 'override', group: 'mtq.kubevirt.io', resource: 'locks', allowed: true };
        await untilAllowed(environment.admin, HAND.name, override);
      }
      // The break-glass right alone does not allow the write.
      expect(await send(HAND.name, patch(name, WITHOUT_LOCK))).toMatchObject({ code: 403 });
      const { object } = await environment.admin.get(NAMESPACES, { name });
      expect(await send(HAND.name, patch(name, breakGlassPatch(object)))).toMatchObject({ code: 200 });
      resume();
      const { history, before } = tenant;
      await history.until('the migration is through', () => tenant.isThrough());
      await history.until('nothing is locked or raised', () => !history.isLocked() && !isRaised(history));
      await history.until('the original is enforced', () => {
        const { spec, status } = history.latest(RESOURCE_QUOTAS) ?? {};
        const wanted = JSON.stringify(before.quotas[0]?.spec.hard);
        return JSON.stringify(spec?.hard) === wanted && JSON.stringify(status?.hard) === wanted;
      });
      // Unavoidable: between the manual unlock and the repair no lock protects the namespace.
      expect(
        invariantViolations(history).filter((violation) => !violation.includes('is not locked for it')),
      ).toEqual([]);
    },
  );
});

describe('an expired lock', () => {
  test('two watchdogs repair it at once: one lock, one restore', async () => {
    const { tenant } = await stoppedAt('raised', 'two-watchdogs');
    const resume = environment.hold(tenant.name, 'mtq-unlock');
    await tenant.untilUnlocked();
    const [{ from, until = Infinity } = { from: 0 }] = tenant.history.lockedPeriods();
    const seconds = (until - from) / 1_000;
    process.stdout.write(
      `two watchdogs: locked for ${seconds.toFixed(1)} s (the lock lives ${LOCK_SECONDS} s)\n`,
    );
    expect(seconds).toBeLessThan(LOCK_SECONDS + REPAIR_SECONDS);
    await expectAsBefore(environment.admin, tenant);
    expect(tenant.history.locks()).toHaveLength(1);
    resume();
  });
});

describe('no guard at all', () => {
  test('blocks only locked namespaces, and never our own repair', async () => {
    const free = await newTenant(environment, { name: 'free' });
    const { tenant, resume } = await stoppedAt('raised', 'guard-away');
    await untilIn(tenant);
    await second.stop(0);
    await environment.cluster.killGuard();

    // The policies answer before the API server calls a webhook.
    const refused = { code: 403, body: { reason: 'Forbidden' } };
    expect(await send('tenant', createPod(tenant.name))).toMatchObject(refused);
    expect(await send('tenant', createPod(free.name))).toMatchObject({ code: 201 });
    const note = { metadata: { annotations: { note: 'hello' } } };
    for (const { name } of [tenant, free]) {
      expect(await send('tenant', patch(name, note))).toMatchObject({ code: 200 });
      expect(await send('tenant', patch(name, { metadata: { annotations: { note: null } } }))).toMatchObject({
        code: 200,
      });
      expect(
        await send('tenant', patch(name, { metadata: { labels: { [LABEL.locked]: 'false' } } })),
      ).toMatchObject(refused);
    }
    resume();
    await tenant.untilUnlocked();
    await expectAsBefore(environment.admin, tenant);

    await environment.cluster.startGuard();
  });

  test('lets a lock expire, which a returning guard repairs', async () => {
    const { tenant } = await stoppedAt('raised', 'expired-meanwhile');
    await untilIn(tenant);
    environment.hold(tenant.name, 'mtq-unlock');
    await second.stop(0);
    await environment.cluster.killGuard();
    await untilExpired(tenant.name);
    expect([tenant.history.isLocked(), isRaised(tenant.history)]).toEqual([true, true]);
    const since = performance.now();
    await environment.cluster.startGuard();
    await tenant.untilUnlocked();
    const seconds = (performance.now() - since) / 1_000;
    process.stdout.write(`the guard is back: repaired after ${seconds.toFixed(1)} s\n`);
    // The guard uses the lock's own expiry, not the time since it first saw the lock.
    expect(seconds).toBeLessThan(LOCK_SECONDS + OVERDUE_SECONDS);
    await expectAsBefore(environment.admin, tenant);
  });
});

describe("the cluster's own namespaces (F19)", () => {
  /** Namespaces to create, because this cluster has neither OpenShift nor Knative. */
  const MADE = ['openshift-monitoring', 'knative-serving', 'knative-eventing'];
  const VMMRQ = { metadata: { name: 'more' }, spec: { additionalMigrationResources: { cpu: '1' } } };

  beforeAll(async () => {
    for (const name of MADE) await environment.admin.create(NAMESPACES, { metadata: { name } });
  });

  test.each(['default', 'kube-system', SYSTEM_NAMESPACE, 'kubevirt', ...MADE])(
    '%s refuses a VMMRQ, and the refusal says what to do',
    async (namespace) => {
      const object = { ...VMMRQ, metadata: { ...VMMRQ.metadata, namespace } };
      const refused = await environment.admin
        .create(VMMRQS, object, { dryRun: true })
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ApiError);
      expect(refused).toMatchObject({ code: 403, reason: 'Forbidden' });
      expect((refused as ApiError).status.message).toContain('move the VMs');
    },
  );

  test('a tenant’s namespace accepts a VMMRQ', async () => {
    for (const name of ['outside', 'my-openshift-apps']) {
      await environment.admin.create(NAMESPACES, { metadata: { name } });
      const object = { ...VMMRQ, metadata: { name: 'another', namespace: name } };
      await environment.admin.create(VMMRQS, object, { dryRun: true });
    }
  });
});
