import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { OurEvent } from '../../../functions/domain/events.ts';
import type { Reference } from '../../../functions/domain/lock.ts';
import { grantOf } from '../../../functions/domain/quota/grant.ts';
import { fenceOf } from '../../../functions/domain/quota/lower.ts';
import { ANNOTATION, EVENT, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { CloudEvent } from '../../cluster/eventing/cloudevent.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { breakGlassOf, writeByHand } from '../../support/tenant/by-hand.ts';
import { expectQuiescent } from '../../support/invariants/quiescent.ts';
import { holdNextUpdate } from '../../support/faults/gate.ts';
import type { History } from '../../support/tenant/history.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import {
  namespaceOf,
  startTestEnvironment,
  type TestEnvironment,
} from '../../support/environment/test-environment.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { countedPods, newTenant, type Tenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

/** Long times, so that only the protocol ends a lock, not a stall or its expiry. */
beforeAll(async () => {
  environment = await startTestEnvironment({ env: { LOCK_SECONDS: '45', STALL_SECONDS: '30' } });
});

afterAll(async () => {
  await environment.stop();
});

async function untilThrough(tenant: Tenant): Promise<void> {
  // KubeVirt removes its finalizer after its last write.
  await tenant.history.until(
    "it is unlocked, the source pod counted out, KubeVirt's last write made",
    (history) => {
      const isDone = tenant.isThrough() && (tenant.migration()?.metadata.finalizers ?? []).length === 0;
      return isDone && !history.isLocked() && countedPods(tenant) === '1';
    },
  );
}

/** Resource versions of all objects that we may write: every write changes one. */
async function versionsOf({ name }: Tenant): Promise<string[]> {
  const types: ResourceType[] = [RESOURCE_QUOTAS, MIGRATIONS];
  const lists = await Promise.all(types.map((type) => environment.admin.list(type, { namespace: name })));
  const { object } = await environment.admin.get(NAMESPACES, { name });
  const describeVersion = ({ kind, metadata }: KubernetesObject): string =>
    `${kind ?? ''} ${metadata.name} ${metadata.resourceVersion}`;
  return [object, ...lists.flatMap(({ items }) => items)].map(describeVersion);
}

/** How often quotas got and lost a grant. A recount in between undoes a raise, which `raise` then repeats. */
function raisesAndRestores(history: History): { raises: number; restores: number } {
  const tokens = history.of(RESOURCE_QUOTAS).map((quota) => {
    const state = grantOf(quota);
    return state.kind === 'held' ? state.grant.token : undefined;
  });
  const changes = tokens.filter((token, index) => index > 0 && token !== tokens[index - 1]);
  const restores = changes.filter((token) => token === undefined).length;
  return { raises: changes.length - restores, restores };
}

describe('one cycle', () => {
  test('has one lock, one raise and one restore although every event arrives twice at the same time (F14)', async () => {
    const { broker } = environment.cluster.eventing;
    broker.deliverTwice(() => true);
    const tenant = await newTenant(environment, { name: 'twice' });
    await tenant.migrate();
    await untilThrough(tenant);
    await broker.idle();
    broker.deliverTwice(undefined);

    expect(tenant.history.locks()).toHaveLength(1);
    expect(raisesAndRestores(tenant.history)).toEqual({ raises: 1, restores: 1 });
    await expectAsBefore(environment.admin, tenant);
  });

  test('tolerates that all triggers of lower arrive together after the migration', async () => {
    const tenant = await newTenant(environment, { name: 'all-at-once' });
    const resume = environment.hold(tenant.name, 'mtq-lower');
    await tenant.migrate();
    await tenant.history.until('the migration is through', () => tenant.isThrough());
    resume();
    await untilThrough(tenant);

    expect(raisesAndRestores(tenant.history)).toEqual({ raises: 1, restores: 1 });
    await expectAsBefore(environment.admin, tenant);
  });

  test('writes nothing when all its events arrive again in reverse order', async () => {
    const { broker } = environment.cluster.eventing;
    const tenant = await newTenant(environment, { name: 'replayed' });
    const seen: CloudEvent[] = [];
    const stopLooking = broker.hold(({ event }) => {
      if (namespaceOf(event) === tenant.name && !seen.includes(event)) seen.push(event);
      return false;
    });
    await tenant.migrate();
    await untilThrough(tenant);
    await broker.idle();
    stopLooking();

    const ours = new Set(seen.map(({ attributes }) => attributes['type']));
    for (const type of [
      EVENT.migrationFeasible,
      EVENT.namespaceLocked,
      EVENT.quotaRaised,
      EVENT.quotaLowered,
    ]) {
      expect(ours).toContain(type);
    }
    const before = await versionsOf(tenant);
    for (const event of seen.toReversed()) await environment.repeat(event);
    expect(await versionsOf(tenant)).toEqual(before);
    await expectAsBefore(environment.admin, tenant);
  });
});

describe('forged events', () => {
  const forgeries = (namespace: string, token: string, migrations: readonly Reference[]): OurEvent[] => [
    { type: EVENT.migrationFeasible, from: 'forger', namespace, migrations, cause: randomUUID() },
    { type: EVENT.migrationInfeasible, from: 'forger', namespace, migrations, cause: randomUUID() },
    { type: EVENT.namespaceLocked, from: 'forger', namespace, token, migrations },
    { type: EVENT.quotaRaised, from: 'forger', namespace, token },
    { type: EVENT.quotaUndone, from: 'forger', namespace, token, cause: randomUUID() },
    { type: EVENT.migrationEnded, from: 'forger', namespace, token, cause: randomUUID() },
    { type: EVENT.quotaLowered, from: 'forger', namespace, token },
    { type: EVENT.lockStalled, from: 'forger', namespace, token },
    { type: EVENT.lockExpired, from: 'forger', namespace, token },
    { type: EVENT.lockExpired, from: 'forger', namespace, cause: randomUUID() },
    { type: EVENT.resyncRequested, from: 'forger', namespace, cause: randomUUID() },
  ];

  test('write nothing after a cycle, with its token', async () => {
    const tenant = await newTenant(environment, { name: 'forged-after' });
    await tenant.migrate();
    await untilThrough(tenant);
    await environment.cluster.eventing.broker.idle();
    const [lock] = tenant.history.locks();

    const before = await versionsOf(tenant);
    for (const event of forgeries(tenant.name, lock?.token ?? '', lock?.migrations ?? []))
      await environment.forge(event);
    expect(await versionsOf(tenant)).toEqual(before);
  });

  test('write nothing while a lock is held, with its token or another', async () => {
    const tenant = await newTenant(environment, { name: 'forged-during' });
    const { history } = tenant;
    await refuseTargets(environment, tenant);
    await history.until('it is raised', () => wasRaised(history));
    await environment.cluster.eventing.broker.idle();
    const [lock] = history.locks();

    const before = await versionsOf(tenant);
    for (const token of [randomUUID(), lock?.token ?? '']) {
      for (const event of forgeries(tenant.name, token, lock?.migrations ?? []))
        await environment.forge(event);
    }
    expect(await versionsOf(tenant)).toEqual(before);

    await environment.admin.delete(MIGRATIONS, { namespace: tenant.name, name: 'mig0' });
    await tenant.untilUnlocked();
    await expectAsBefore(environment.admin, tenant, { failed: true });
  });

  test.each(['kube-system', 'mtq-system', 'no-such-namespace'])(
    'write nothing about namespace %s',
    async (name) => {
      const history = await environment.watch(name);
      for (const event of forgeries(name, randomUUID(), [{ name: 'mig0', uid: randomUUID() }]))
        await environment.forge(event);
      expect(history.of(NAMESPACES).length).toBeLessThan(2);
      expect(history.locks()).toEqual([]);
    },
  );
});

describe('a late write', () => {
  test('of raise changes nothing after the unlock', async () => {
    const { broker } = environment.cluster.eventing;
    const tenant = await newTenant(environment, { name: 'late-raise' });
    const gate = await holdNextUpdate(environment, SERVICE_ACCOUNT.raise, quotaOf(tenant));
    // The duplicate event completes the cycle while the first one is held.
    broker.deliverTwice(({ trigger }) => trigger === 'mtq-raise');
    await tenant.migrate();
    await gate.arrived;
    await untilThrough(tenant);
    broker.deliverTwice(undefined);

    const before = await versionsOf(tenant);
    gate.open();
    await broker.idle();
    expect(await versionsOf(tenant)).toEqual(before);
    await gate.remove();
    await expectAsBefore(environment.admin, tenant);
  });

  test.each([
    ['removed by hand', ({ name }: Tenant) => breakGlassOf(environment.admin, name)],
    [
      'made unreadable',
      ({ name }: Tenant) => writeByHand(environment.admin, name, { annotations: { [ANNOTATION.lock]: '{' } }),
    ],
  ])('of raise changes nothing after its lock was %s', async (what, change) => {
    const tenant = await newTenant(environment, { name: `lock-${what.replaceAll(' ', '-')}` });
    const { history } = tenant;
    const gate = await holdNextUpdate(environment, SERVICE_ACCOUNT.raise, quotaOf(tenant));
    await tenant.migrate();
    await gate.arrived;
    const heldAt = Date.now();
    // The next lock would fence the write as well.
    const resume = environment.hold(tenant.name, 'mtq-lock');
    await change(tenant);
    await history.until(
      'it is unlocked and fenced',
      () => !history.isLocked() && fenceOf(quotaOf(tenant)) !== undefined,
    );
    const [lock] = history.locks();
    expect(fenceOf(quotaOf(tenant))?.token).not.toBe(lock?.token);

    gate.open();
    await environment.hops.until('the held raise has answered', () =>
      environment.hops.items.some(
        ({ namespace, trigger, at }) => namespace === tenant.name && trigger === 'mtq-raise' && at <= heldAt,
      ),
    );
    expect(raisesAndRestores(history)).toEqual({ raises: 0, restores: 0 });
    await gate.remove();
    resume();
    await untilThrough(tenant);
    await expectAsBefore(environment.admin, tenant);
  });

  test('of lower does not lower a quota that the next lock has raised', async () => {
    const { broker } = environment.cluster.eventing;
    const tenant = await newTenant(environment, { name: 'late-lower', vms: 2 });
    const { history } = tenant;
    const gate = await holdNextUpdate(environment, SERVICE_ACCOUNT.lower, quotaOf(tenant));
    await tenant.migrate();
    await gate.arrived;
    await tenant.untilUnlocked();
    await history.until('the source pod is counted out', () => countedPods(tenant) === '2');

    await refuseTargets(environment, tenant, 1);
    await history.until(
      'it is raised for the second',
      () => history.locks().length === 2 && isRaised(tenant),
    );
    gate.open();
    await broker.idle();
    expect(history.isLocked()).toBe(true);
    expect(isRaised(tenant)).toBe(true);
    await gate.remove();

    await environment.admin.delete(MIGRATIONS, { namespace: tenant.name, name: 'mig1' });
    await tenant.untilUnlocked();
    await expectQuiescent(environment.admin, tenant);
  });
});

function quotaOf({ history, before }: Tenant): (typeof before.quotas)[number] {
  const quota = history.latest(RESOURCE_QUOTAS) ?? before.quotas[0];
  if (quota === undefined) throw new Error('the tenant has no quota');
  return quota;
}

const isRaised = (tenant: Tenant): boolean =>
  quotaOf(tenant).status?.hard?.['requests.cpu'] !== tenant.before.quotas[0]?.spec.hard?.['requests.cpu'];
