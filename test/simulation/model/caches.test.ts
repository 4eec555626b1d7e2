import { describe, expect, test } from '@jest/globals';
import { LABEL, WEBHOOK } from '../../../functions/domain/names.ts';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { aModel, aPod, usedOf, withTenant, type Model } from './model.ts';

/** Effects of lagging caches, and of servers whose caches differ. */

const quotaOf = async ({ admin }: Model): Promise<ResourceQuota> =>
  (await admin.get(RESOURCE_QUOTAS, { namespace: 'tenant', name: 'quota' })).object;

async function setHard(model: Model, pods: string): Promise<void> {
  await model.admin.replace(RESOURCE_QUOTAS, { ...(await quotaOf(model)), spec: { hard: { pods } } });
}

async function lock({ admin }: Model, name = 'tenant'): Promise<void> {
  await admin.patch(NAMESPACES, { name }, { merge: { metadata: { labels: { [LABEL.locked]: 'true' } } } });
}

describe('the cache of namespaces', () => {
  test('a server enforces a lock only when its cache has seen the label', async () => {
    const asked: string[] = [];
    const model = await withTenant(
      aModel({
        admission: ({ uid, name = '' }, webhook) => {
          asked.push(`${webhook} ${name}`);
          return Promise.resolve({ uid, allowed: true });
        },
      }),
    );
    const other = model.another();
    await lock(model);
    asked.length = 0;
    await model.admin.create(PODS, aPod('before'));
    model.server.caches.namespaces.catchUp();
    await model.admin.create(PODS, aPod('after'));
    await other.as('tenant').create(PODS, aPod('elsewhere'));

    expect(asked).toEqual([`${WEBHOOK.locked} after`]);
    expect(other.caches.namespaces.behind).toBe(1);
  });

  test('a server looks up a namespace that its cache lacks, so a new namespace can be used at once', async () => {
    const model = aModel();
    await model.admin.create(NAMESPACES, { metadata: { name: 'tenant' } });
    expect(model.server.caches.namespaces.behind).toBe(1);
    await model.admin.create(PODS, aPod('pod'));
    expect(model.store.list('Pod')).toHaveLength(1);
  });

  test('the server that deletes a namespace knows it at once, another server does not', async () => {
    const model = await withTenant(aModel());
    const other = model.another().as('tenant');
    await model.admin.delete(NAMESPACES, { name: 'tenant' });

    await expect(model.admin.create(PODS, aPod('here'))).rejects.toMatchObject({
      code: 403,
      status: { details: { causes: [{ reason: 'NamespaceTerminating' }] } },
    });
    await other.create(PODS, aPod('there'));
  });
});

describe('the cache of quotas', () => {
  test('a server admits no pod by a raised status.hard before its cache has seen it', async () => {
    const model = await withTenant(aModel(), { quota: { pods: '1' } });
    await model.admin.create(PODS, aPod('first'));
    await model.untilStable();
    await setHard(model, '2');
    await model.controller.sync({ namespace: 'tenant', name: 'quota' });

    await expect(model.admin.create(PODS, aPod('second'))).rejects.toMatchObject({ code: 403 });
    model.server.caches.resourceQuotas.catchUpAll();
    await model.admin.create(PODS, aPod('second'));
    expect(usedOf(model)).toEqual({ pods: '2' });
  });

  test('a server admits no pod by an old status.hard above a lowered one: each try of the charge is a Conflict', async () => {
    const model = await withTenant(aModel(), { quota: { pods: '2' } });
    await model.admin.create(PODS, aPod('first'));
    await model.untilStable();
    await setHard(model, '1');
    await model.controller.sync({ namespace: 'tenant', name: 'quota' });

    await expect(model.admin.create(PODS, aPod('second'))).rejects.toMatchObject({
      code: 409,
      reason: 'Conflict',
      status: { details: { kind: 'resourcequotas' } },
    });
    expect(usedOf(model)).toEqual({ pods: '1' });
  });

  test('a server whose cache catches up between the tries charges the new quota', async () => {
    let charges = 0;
    const model = await withTenant(
      aModel({
        pace: ({ phase }) => {
          if (phase === 'charge' && (charges += 1) === 2) model.server.caches.resourceQuotas.catchUpAll();
          return Promise.resolve();
        },
      }),
      { quota: { pods: '5' } },
    );
    await setHard(model, '4');
    await model.admin.create(PODS, aPod('pod'));

    expect(charges).toBe(3);
    expect(usedOf(model)).toEqual({ pods: '1' });
  });

  test('when two servers charge the same quota, the second one gets a Conflict, and no charge is lost', async () => {
    const model = await withTenant(aModel(), { quota: { pods: '2' } });
    const other = model.another();
    await model.admin.create(PODS, aPod('first'));
    await expect(other.as('tenant').create(PODS, aPod('second'))).rejects.toMatchObject({ code: 409 });
    other.caches.resourceQuotas.catchUpAll();
    await other.as('tenant').create(PODS, aPod('second'));
    await expect(model.admin.create(PODS, aPod('third'))).rejects.toMatchObject({ code: 409 });

    expect(usedOf(model)).toEqual({ pods: '2' });
    expect(model.store.list('Pod')).toHaveLength(2);
  });

  test('a server remembers its own charges, so pods in a row do not wait for its cache', async () => {
    const model = await withTenant(aModel(), { quota: { pods: '3' } });
    for (const name of ['first', 'second', 'third']) await model.admin.create(PODS, aPod(name));
    await expect(model.admin.create(PODS, aPod('fourth'))).rejects.toMatchObject({ code: 403 });
    expect(model.server.caches.resourceQuotas.behind).toBe(3);
  });

  test('a quota that the cache has not seen yet refuses no pod', async () => {
    const model = await withTenant(aModel());
    const metadata = { name: 'quota', namespace: 'tenant' };
    await model.admin.create(RESOURCE_QUOTAS, { metadata, spec: { hard: { pods: '0' } } });
    await model.admin.create(PODS, aPod('pod'));
    expect(model.store.list('Pod')).toHaveLength(1);
  });

  test('a deleted quota still refuses pods until the cache has seen the deletion', async () => {
    const model = await withTenant(aModel(), { quota: { pods: '1' } });
    await model.admin.delete(RESOURCE_QUOTAS, { namespace: 'tenant', name: 'quota' });
    await expect(model.admin.create(PODS, aPod('pod'))).rejects.toMatchObject({ code: 404 });
    model.server.caches.resourceQuotas.catchUpAll();
    await model.admin.create(PODS, aPod('pod'));
  });
});
