import { describe, expect, test } from '@jest/globals';
import { EVENT, REASON } from '../../functions/domain/names.ts';
import type { KubernetesObject, ResourceList, ResourceQuota } from '../../functions/domain/objects.ts';
import { feasibility } from '../../functions/feasibility/handle.ts';
import type { Outcome } from '../../functions/host/step.ts';
import { lock } from '../../functions/lock/handle.ts';
import { anExpiredLock, lockedBy } from '../support/builders/namespace.ts';
import { aGrant, holding } from '../support/builders/quota.ts';
import { quota, TENANT, tenantNamespace, vmmrq } from './objects.ts';
import { aBlockedTenant, FULL, give, GIVES, runStep } from './one-step.ts';

test('a no that an API server only remembers is not believed', async () => {
  const model = aBlockedTenant({ behind: () => 1 });
  give(model);
  const { reply } = await runStep(feasibility, model);
  expect(reply?.type).toBe(EVENT.migrationFeasible);
});

test('what an API server remembers may lack the migration that the event is about', async () => {
  const model = aBlockedTenant({ behind: () => 100 });
  give(model);
  const { reply } = await runStep(feasibility, model);
  expect(reply?.type).toBe(EVENT.migrationFeasible);
});

const aQuota = (hard: ResourceList, status: ResourceQuota['status']): ResourceQuota => ({
  ...quota('quota', 'uid-of-quota', hard),
  ...(status === undefined ? {} : { status }),
});
const FULL_QUOTA = aQuota(FULL, { hard: FULL, used: FULL });
const WITH_HEADROOM = { 'requests.cpu': '4', 'requests.memory': '8Gi' };
const TOO_LITTLE = { additionalMigrationResources: { 'requests.cpu': '1m' } };

interface Seen {
  readonly outcome: Outcome;
  /** Lists that lock asked for. */
  readonly lists: number;
}

/** What lock answers where the last of these objects is stored, and its lists still show the ones before. */
async function lockAfter(objects: readonly KubernetesObject[]): Promise<Seen> {
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
  const outcome = await runStep(lock, model, {
    type: EVENT.migrationFeasible,
    id: 'wake',
    namespace: TENANT,
  });
  return { outcome, lists };
}

describe('lock reads the live lists where the remembered ones say no', () => {
  test.each<[string, KubernetesObject, KubernetesObject]>([
    ['the quota still holds a grant there', holding(aGrant())(FULL_QUOTA), FULL_QUOTA],
    ['the quota has room there', aQuota(WITH_HEADROOM, { hard: WITH_HEADROOM, used: FULL }), FULL_QUOTA],
    ['the quota has no status there', aQuota(FULL, undefined), FULL_QUOTA],
    [
      'the VMMRQ gives too little there',
      vmmrq('more', 'uid-of-more', TOO_LITTLE),
      vmmrq('more', 'uid-of-more', GIVES),
    ],
  ])('%s: it locks', async (_, cachedRevision, live) => {
    const { outcome } = await lockAfter([cachedRevision, live]);
    expect(outcome.reply).toMatchObject({ type: EVENT.namespaceLocked, token: 'token' });
  });

  test('a no of the live lists is the answer', async () => {
    const poor = vmmrq('more', 'uid-of-more', TOO_LITTLE);
    const { outcome } = await lockAfter([poor, poor]);
    expect(outcome).toMatchObject({
      reason: REASON.notEnough,
      reply: { type: EVENT.migrationInfeasible, reason: REASON.notEnough },
    });
  });
});

describe('lock lists everything once', () => {
  test('where it locks', async () => {
    const { outcome, lists } = await lockAfter([FULL_QUOTA, FULL_QUOTA]);
    expect(outcome.reply?.type).toBe(EVENT.namespaceLocked);
    // Migrations, quotas, VMMRQs, pods, and Events.
    expect(lists).toBe(5);
  });

  test('where the live namespace alone says no: an expired lock', async () => {
    const expired = lockedBy(anExpiredLock())(tenantNamespace('uid-of-tenant'));
    const { outcome, lists } = await lockAfter([expired, FULL_QUOTA]);
    expect(outcome.reply).toMatchObject({ type: EVENT.lockExpired, token: 'token-1' });
    // No Events: a locked namespace needs no sizes.
    expect(lists).toBe(4);
  });
});
