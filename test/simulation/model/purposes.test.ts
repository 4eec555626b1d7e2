import { expect, test } from '@jest/globals';
import { KUBEVIRT, POLICY } from '../../../functions/domain/names.ts';
import { MIGRATIONS, VMIS } from '../../../functions/kubernetes/resources.ts';
import { evacuating, migration, TENANT, vmi } from '../world/objects.ts';
import { aModel, withTenant, type Model } from './model.ts';

/** Only the user "tenant" may not patch nodes. */
const started = (): Promise<Model> =>
  withTenant(aModel({ mayPatchNodes: (user) => user !== TENANT }), { quota: { pods: '5' } });

const REFUSED = { code: 403, status: { message: expect.stringContaining(POLICY.purposes) } };

test('a tenant creates no migration with a mark of KubeVirt, and gives none to one that is there', async () => {
  const { server, store } = await started();
  const tenant = server.as(TENANT);
  await expect(tenant.create(MIGRATIONS, evacuating(migration('mig', 'vm')))).rejects.toMatchObject(REFUSED);
  await tenant.create(MIGRATIONS, migration('mig', 'vm'));
  const merge = { metadata: { annotations: { [KUBEVIRT.workloadUpdate]: '' } } };
  const at = { namespace: TENANT, name: 'mig' };
  await expect(tenant.patch(MIGRATIONS, at, { merge })).rejects.toMatchObject(REFUSED);
  await server.as('kubevirt').patch(MIGRATIONS, at, { merge });
  expect(store.get({ kind: MIGRATIONS.kind, ...at })?.metadata.annotations).toMatchObject(
    merge.metadata.annotations,
  );
});

test('a tenant calls no VMI outdated', async () => {
  const { server, store } = await started();
  store.put(vmi('vm', 'uid-of-vm'));
  const merge = { metadata: { labels: { [KUBEVIRT.outdatedLauncher]: '' } } };
  const patched = server.as(TENANT).patch(VMIS, { namespace: TENANT, name: 'vm' }, { merge });
  await expect(patched).rejects.toMatchObject(REFUSED);
});
