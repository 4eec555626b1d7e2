import { describe, expect, test } from '@jest/globals';
import { EVENT, LOCK_OUTCOME, REASON } from '../../../functions/domain/names.ts';
import type {
  KubernetesObject,
  Namespace,
  ResourceList,
  ResourceQuota,
} from '../../../functions/domain/objects.ts';
import type { View } from '../../../functions/domain/view.ts';
import { feasibility } from '../../../functions/feasibility/handle.ts';
import type { Outcome } from '../../../functions/host/step.ts';
import { lock } from '../../../functions/lock/handle.ts';
import { afterAttempt, anAttempt, anExpiredLock, lockedBy } from '../../support/builders/namespace.ts';
import { aGrant, fencedBy, holding } from '../../support/builders/quota.ts';
import { aView } from '../../support/builders/snapshot.ts';
import { quota, TENANT, tenantNamespace, vmmrq } from '../world/objects.ts';
import { aBlockedTenant, BLOCKED, FULL, give, GIVES, runStep } from '../world/one-step.ts';

test('feasibility does not trust a "no" from an old watch cache', async () => {
  const model = aBlockedTenant({ behind: () => 1 });
  give(model);
  const { reply } = await runStep(feasibility, model);
  expect(reply?.type).toBe(EVENT.migrationFeasible);
});

test('feasibility works with a watch cache that lacks the migration of the event', async () => {
  const model = aBlockedTenant({ behind: () => 100 });
  give(model);
  const { reply } = await runStep(feasibility, model);
  expect(reply?.type).toBe(EVENT.migrationFeasible);
});

/** By an earlier cycle, so that no dry run comes first. */
const wasRaised = fencedBy('token-before');

const aQuota = (hard: ResourceList, status: ResourceQuota['status']): ResourceQuota => ({
  ...wasRaised(quota('quota', 'uid-of-quota', hard)),
  ...(status === undefined ? {} : { status }),
});
const FULL_QUOTA = aQuota(FULL, { hard: FULL, used: FULL });
const WITH_HEADROOM = { 'requests.cpu': '4', 'requests.memory': '8Gi' };
const TOO_LITTLE = { additionalMigrationResources: { 'requests.cpu': '1m' } };

interface Seen {
  readonly outcome: Outcome;
  /** Number of lists by lock. */
  readonly lists: number;
}

/** The answer of lock when the last of these objects is stored, and its lists still show the one before. */
async function lockAfter(
  objects: readonly KubernetesObject[],
  view: View | undefined = aView(),
): Promise<Seen> {
  let lists = 0;
  const model = aBlockedTenant({
    behind: () => 1,
    pace: ({ verb, phase }) => {
      if (verb === 'list' && phase === 'arrive') lists += 1;
      return Promise.resolve();
    },
  });
  give(model);
  for (const object of objects) model.store.put(object);
  const reached = { ...model, context: { view: () => Promise.resolve(view) } };
  const about = { id: 'event-1', namespace: TENANT };
  const outcome = await runStep(lock, reached, { type: EVENT.migrationFeasible, ...about });
  return { outcome, lists };
}

describe('lock locks by the live lists when in the watch cache', () => {
  test.each<[string, KubernetesObject, KubernetesObject]>([
    ['the quota still holds a grant', holding(aGrant())(FULL_QUOTA), FULL_QUOTA],
    ['the quota has headroom', aQuota(WITH_HEADROOM, { hard: WITH_HEADROOM, used: FULL }), FULL_QUOTA],
    ['the quota has no status', aQuota(FULL, undefined), FULL_QUOTA],
    [
      'the VMMRQ gives too little',
      vmmrq('more', 'uid-of-more', TOO_LITTLE),
      vmmrq('more', 'uid-of-more', GIVES),
    ],
  ])('%s', async (_, cachedRevision, live) => {
    const { outcome } = await lockAfter([cachedRevision, live]);
    expect(outcome.reply).toMatchObject({ type: EVENT.namespaceLocked, token: 'token' });
  });

  test('the guard’s view lacks the migration', async () => {
    const { outcome } = await lockAfter([FULL_QUOTA, FULL_QUOTA], aView({ migrations: [] }));
    expect(outcome.reply).toMatchObject({ type: EVENT.namespaceLocked, migrations: [{ name: 'mig0' }] });
  });

  test('both lists say no, it does not lock', async () => {
    const poor = vmmrq('more', 'uid-of-more', TOO_LITTLE);
    const { outcome } = await lockAfter([poor, poor]);
    expect(outcome).toMatchObject({
      reason: REASON.notEnough,
      reply: { type: EVENT.migrationInfeasible, reason: REASON.notEnough },
    });
  });
});

describe('lock lists everything once', () => {
  test('when it locks', async () => {
    const { outcome, lists } = await lockAfter([FULL_QUOTA, FULL_QUOTA]);
    expect(outcome.reply?.type).toBe(EVENT.namespaceLocked);
    // Migrations, quotas, VMMRQs, pods, and Events.
    expect(lists).toBe(5);
  });

  test('but the migrations, where the guard’s view has them', async () => {
    const { outcome, lists } = await lockAfter([FULL_QUOTA, FULL_QUOTA], aView({ migrations: [BLOCKED] }));
    expect(outcome.reply).toMatchObject({ type: EVENT.namespaceLocked, migrations: [{ name: 'mig0' }] });
    expect(lists).toBe(4);
  });

  test('with the migrations after a lock that admitted nothing', async () => {
    const gone = { ...BLOCKED, metadata: { ...BLOCKED.metadata, name: 'gone', uid: 'uid-of-gone' } };
    const view = aView({ migrations: [gone, BLOCKED] });
    const attempt = anAttempt({ outcome: LOCK_OUTCOME.gaveWay, reason: REASON.ended });
    const tried = afterAttempt(attempt)(tenantNamespace('uid-of-tenant'));
    const named = async (namespace: Namespace): Promise<unknown> =>
      (await lockAfter([namespace, FULL_QUOTA], view)).outcome.reply?.migrations?.map(({ name }) => name);
    expect(await named(tenantNamespace('uid-of-tenant'))).toContain('gone');
    expect(await named(tried)).toEqual(['mig0']);
  });

  test('also when it declines after a lock that admitted nothing: what is live already needs no second look', async () => {
    const attempt = anAttempt({ outcome: LOCK_OUTCOME.gaveWay, reason: REASON.ended });
    const tried = afterAttempt(attempt)(tenantNamespace('uid-of-tenant'));
    const poor = vmmrq('more', 'uid-of-more', TOO_LITTLE);
    const { outcome, lists } = await lockAfter([tried, poor]);
    expect(outcome.reason).toBe(REASON.notEnough);
    expect(lists).toBe(5);
  });

  test('when only the live namespace says no, by an expired lock', async () => {
    const expired = lockedBy(anExpiredLock())(tenantNamespace('uid-of-tenant'));
    const { outcome, lists } = await lockAfter([expired, FULL_QUOTA]);
    expect(outcome.reply).toMatchObject({ type: EVENT.lockExpired, token: 'token-1' });
    // No Events: a locked namespace needs no sizes.
    expect(lists).toBe(4);
  });
});
