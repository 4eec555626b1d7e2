import { expect, test } from '@jest/globals';
import {
  ANNOTATION,
  LABEL,
  SERVICE_ACCOUNT,
  UNREADABLE_TOKEN,
  userOf,
  WEBHOOK,
} from '../../../functions/domain/names.ts';
import type { Webhook } from './request.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { aModel, aPod, usedOf, withTenant, type Model } from './model.ts';

const QUOTA = { namespace: 'tenant', name: 'quota' };
const RELABEL = { merge: { metadata: { labels: { [LABEL.raised]: 'true' } } } };

/** The namespace is locked, and every cache knows. */
async function locked(admission: Webhook): Promise<Model> {
  const model = await withTenant(aModel({ admission }), { quota: { pods: '5' } });
  const merge = { metadata: { labels: { [LABEL.locked]: 'true' } } };
  await model.server.as(userOf(SERVICE_ACCOUNT.lock)).patch(NAMESPACES, { name: 'tenant' }, { merge });
  await model.untilStable();
  return model;
}

test('the server does not call the guard for a user whom the match conditions exempt, so an unreachable guard does not block him', async () => {
  const { server } = await locked(() => Promise.reject(new Error('connection refused')));
  await expect(server.as('tenant').patch(RESOURCE_QUOTAS, QUOTA, RELABEL)).rejects.toMatchObject({
    code: 500,
    reason: 'InternalError',
  });
  await server.as(userOf(SERVICE_ACCOUNT.lower)).patch(RESOURCE_QUOTAS, QUOTA, RELABEL);
  const edit = { merge: { spec: { hard: { pods: '9' } } } };
  await server.as('tenant').patch(RESOURCE_QUOTAS, QUOTA, edit);
});

test('the client gets the guard’s code, reason and causes of a refusal, and no quota is charged', async () => {
  const causes = [{ reason: WEBHOOK.locked, message: 'token-1' }];
  const status = { code: 403, reason: 'Forbidden', message: 'no', details: { causes } };
  const model = await locked(({ uid }) => Promise.resolve({ uid, allowed: false, status }));
  await expect(model.admin.create(PODS, aPod('pod'))).rejects.toMatchObject({
    code: 403,
    status: { message: `admission webhook "${WEBHOOK.locked}" denied the request: no`, details: { causes } },
  });
  expect(usedOf(model)).toEqual({ pods: '0' });
});

test('the server skips the guard for a break-glass write, and calls it when a user only has the right', async () => {
  const refuse: Webhook = ({ uid }) => Promise.resolve({ uid, allowed: false });
  const model = await withTenant(aModel({ admission: refuse, mayOverride: (user) => user === 'repairer' }));
  const labels = { [LABEL.locked]: 'true' };
  const glass = { annotations: { [ANNOTATION.breakGlass]: UNREADABLE_TOKEN } };
  const at = { name: 'tenant' };
  const byGlass = { merge: { metadata: { labels, ...glass } } };
  await expect(model.admin.patch(NAMESPACES, at, byGlass)).rejects.toMatchObject({ code: 400 });
  const repairer = model.server.as('repairer');
  const without = { merge: { metadata: { labels } } };
  await expect(repairer.patch(NAMESPACES, at, without)).rejects.toMatchObject({ code: 400 });
  await repairer.patch(NAMESPACES, at, byGlass);
});
