import { expect, test } from '@jest/globals';
import { KIND } from '../../../functions/domain/names.ts';
import type { KubernetesEvent } from '../../../functions/domain/objects.ts';
import { EVENTS, NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { readPodRejections } from '../../../functions/cluster/snapshot.ts';
import { aModel, withTenant } from './model.ts';

const VM = { ...KIND.vmi, name: 'vm', uid: 'uid-of-vm' };
const MIGRATION = { ...KIND.migration, name: 'migration', uid: 'uid-of-migration' };

const event = (
  name: string,
  involvedObject: KubernetesEvent['involvedObject'],
  reason: string,
): Pick<KubernetesEvent, 'involvedObject' | 'reason'> & {
  metadata: { name: string; namespace: string };
} => ({
  metadata: { name, namespace: 'tenant' },
  involvedObject,
  reason,
});

test('field selectors find the refusals of VMs’ pods among the Events of a namespace', async () => {
  const { admin } = await withTenant(aModel());
  await admin.create(EVENTS, event('refused', VM, 'FailedCreate'));
  await admin.create(EVENTS, event('made', VM, 'SuccessfulCreate'));
  await admin.create(EVENTS, event('locked', MIGRATION, 'FailedCreate'));
  const found = await readPodRejections(admin, 'tenant');
  expect(found.map(({ metadata }) => metadata.name)).toEqual(['refused']);
});

test('a field selector that the API server does not support for Events is an error', async () => {
  const { admin } = await withTenant(aModel());
  const listed = admin.list(EVENTS, { namespace: 'tenant', fieldSelector: 'message=once' });
  await expect(listed).rejects.toThrow("the field selector 'message=once' of Event");
});

test('the API server refuses an Event in a namespace that is being deleted', async () => {
  const { admin, untilStable } = await withTenant(aModel());
  await admin.delete(NAMESPACES, { name: 'tenant' });
  await untilStable();
  const late = admin.create(EVENTS, event('late', VM, 'FailedCreate'));
  await expect(late).rejects.toMatchObject({
    code: 403,
    status: { details: { causes: [{ reason: 'NamespaceTerminating' }] } },
  });
});
