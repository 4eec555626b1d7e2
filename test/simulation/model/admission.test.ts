import { expect, test } from '@jest/globals';
import { LABEL, SERVICE_ACCOUNT, userOf, WEBHOOK } from '../../../functions/domain/names.ts';
import type { Webhook } from './request.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { aModel, aPod, usedOf, withTenant, type Model } from './model.ts';

const QUOTA = { namespace: 'tenant', name: 'quota' };
const ANNOTATE = { merge: { metadata: { annotations: { a: 'b' } } } };

/** The namespace is locked, and every cache knows. */
async function locked(admission: Webhook): Promise<Model> {
  const model = await withTenant(aModel({ admission }), { quota: { pods: '5' } });
  const merge = { metadata: { labels: { [LABEL.locked]: 'true' } } };
  await model.server.as(userOf(SERVICE_ACCOUNT.lock)).patch(NAMESPACES, { name: 'tenant' }, { merge });
  await model.settle();
  return model;
}

test('whom the conditions let pass is not asked about: an unreachable guard is nothing to him', async () => {
  const { server } = await locked(() => Promise.reject(new Error('connection refused')));
  await server.as(userOf(SERVICE_ACCOUNT.lower)).patch(RESOURCE_QUOTAS, QUOTA, ANNOTATE);
  await expect(server.as('tenant').patch(RESOURCE_QUOTAS, QUOTA, ANNOTATE)).rejects.toMatchObject({
    code: 500,
    reason: 'InternalError',
  });
});

test('a refusal is the guard’s own: code, reason and causes; nothing is charged', async () => {
  const causes = [{ reason: WEBHOOK.locked, message: 'token-1' }];
  const status = { code: 403, reason: 'Forbidden', message: 'no', details: { causes } };
  const model = await locked(({ uid }) => Promise.resolve({ uid, allowed: false, status }));
  await expect(model.admin.create(PODS, aPod('pod'))).rejects.toMatchObject({
    code: 403,
    status: { message: `admission webhook "${WEBHOOK.locked}" denied the request: no`, details: { causes } },
  });
  expect(usedOf(model)).toEqual({ pods: '0' });
});

test('who may break the glass is not asked about our keys', async () => {
  const refuse: Webhook = ({ uid }) => Promise.resolve({ uid, allowed: false });
  const model = await withTenant(aModel({ admission: refuse, mayOverride: (user) => user === 'repairer' }));
  const merge = { metadata: { labels: { [LABEL.locked]: null } } };
  const put = { metadata: { labels: { [LABEL.locked]: 'true' } } };
  const at = { name: 'tenant' };
  await expect(model.admin.patch(NAMESPACES, at, { merge: put })).rejects.toMatchObject({ code: 400 });
  await model.server.as('repairer').patch(NAMESPACES, at, { merge: put });
  await model.server.as('repairer').patch(NAMESPACES, at, { merge });
});
