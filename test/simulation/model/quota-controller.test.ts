import { expect, test } from '@jest/globals';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { aModel, aPod, usedOf, withTenant, type Model } from './model.ts';
import { QuotaController } from './quota-controller.ts';

const QUOTA = { namespace: 'tenant', name: 'quota' };

const quotaIn = ({ store }: Model): ResourceQuota | undefined =>
  store.get<ResourceQuota>({ kind: 'ResourceQuota', ...QUOTA });

test('the controller syncs only new and changed quotas, and quotas of a namespace where a pod went', async () => {
  const model = await withTenant(aModel(), { quota: { pods: '5' }, services: { services: '1' } });
  const { admin, controller } = model;
  expect(controller.pending()).toEqual([]);

  await admin.create(PODS, aPod('pod'));
  await admin.patch(RESOURCE_QUOTAS, QUOTA, { merge: { metadata: { labels: { a: 'b' } } } });
  expect(controller.pending()).toEqual([]);

  await admin.patch(RESOURCE_QUOTAS, QUOTA, { merge: { spec: { hard: { pods: '6' } } } });
  expect(controller.pending()).toEqual([QUOTA]);
  expect(await controller.sync(QUOTA)).toBe(true);
  expect(quotaIn(model)?.status).toEqual({ hard: { pods: '6' }, used: { pods: '1' } });

  await admin.delete(PODS, { namespace: 'tenant', name: 'pod' });
  expect(controller.pending()).toEqual([QUOTA]);
});

test('the controller retries after a lost race', async () => {
  let isRaced = false;
  const model: Model = aModel({
    pace: async ({ user, phase }) => {
      if (!user.endsWith('resourcequota-controller') || phase !== 'commit' || isRaced) return;
      isRaced = true;
      await model.admin.patch(RESOURCE_QUOTAS, QUOTA, { merge: { spec: { hard: { pods: '7' } } } });
    },
  });
  isRaced = true;
  await withTenant(model, { quota: { pods: '5' } });
  await model.admin.patch(RESOURCE_QUOTAS, QUOTA, { merge: { spec: { hard: { pods: '6' } } } });

  isRaced = false;
  expect(await model.controller.sync(QUOTA)).toBe(false);
  expect(model.controller.pending()).toEqual([QUOTA]);
  expect(await model.controller.sync(QUOTA)).toBe(true);
  expect(quotaIn(model)?.status?.hard).toEqual({ pods: '7' });
});

/**
 * Seen on the real controller (SIGSTOP, two pods, SIGCONT): quotas and pods come by two watches. When the quota's event comes
 * first, no event triggers a new count. Until a pod goes, or for five minutes, `used` is too low.
 */
test('a lagging controller that sees a changed spec before a charged pod removes the pod from the count', async () => {
  const model = await withTenant(aModel(), { quota: { pods: '1' } });
  const controller = new QuotaController({ store: model.store, server: model.server, lags: true });
  await controller.sync(QUOTA);
  await model.admin.create(PODS, aPod('target'));
  expect(usedOf(model)).toEqual({ pods: '1' });

  await model.admin.patch(RESOURCE_QUOTAS, QUOTA, { merge: { spec: { hard: { pods: '2' } } } });
  expect(controller.pending()).toEqual([]);
  controller.caches.resourceQuotas.catchUpAll();
  expect(controller.pending()).toEqual([QUOTA]);
  expect(await controller.sync(QUOTA)).toBe(true);
  expect(usedOf(model)).toEqual({ pods: '0' });

  controller.caches.pods.catchUpAll();
  expect(controller.pending()).toEqual([]);
});

test('a lagging controller with an old quota loses the race', async () => {
  const model = await withTenant(aModel(), { quota: { pods: '1' } });
  const controller = new QuotaController({ store: model.store, server: model.server, lags: true });
  await model.admin.patch(RESOURCE_QUOTAS, QUOTA, { merge: { spec: { hard: { pods: '2' } } } });
  controller.caches.resourceQuotas.catchUp();
  await model.admin.patch(RESOURCE_QUOTAS, QUOTA, { merge: { spec: { hard: { pods: '3' } } } });
  expect(await controller.sync(QUOTA)).toBe(false);
  expect(controller.pending()).toEqual([QUOTA]);
});
