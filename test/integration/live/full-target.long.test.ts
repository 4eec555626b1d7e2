import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PROVIDERS } from '../../../functions/kubernetes/live-resources.ts';
import { RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { conditionsOf, untilRunning } from '../../support/live/crossing.ts';
import { startInstalled, type Installed } from '../../support/live/installed.ts';

let installed: Installed;

beforeAll(async () => {
  installed = await startInstalled({ hub: 'target' });
});

afterAll(async () => {
  await installed.stop();
});

test('a VM is let into a full namespace by a VMMRQ with allowReceive, and the quota is as before', async () => {
  const { clusters, environment } = installed;
  await clusters.within('full', async (pair) => {
    const { admin, namespace } = pair.target;
    const history = await environment.watch(namespace);
    const at = { namespace, name: 'quota' };
    const hard = { 'requests.memory': '1Mi' };
    await admin.create(RESOURCE_QUOTAS, { metadata: at, spec: { hard } });
    const spec = { additionalMigrationResources: { 'requests.memory': '4Gi' }, allowReceive: true };
    await admin.create(VMMRQS, { metadata: { namespace, name: 'more' }, spec });
    const move = await installed.readyMove('plans-full', pair);
    await move.createMigration();
    await move.until('it says that the VM would be over its quota for good', ({ status }) =>
      JSON.stringify(status ?? {}).includes('allowOverQuota'),
    );
    await environment.admin.patch(
      PROVIDERS,
      { namespace: 'plans-full', name: 'target' },
      { merge: { spec: { settings: { allowOverQuota: 'true' } } } },
    );
    const migration = await move.untilEnded();
    expect(conditionsOf(migration)).toContain('Succeeded');
    expect((await untilRunning(admin, { namespace, name: 'web' })).spec.runStrategy).toBe('Always');

    await history.until('it was locked, and is not', () => history.locks().length > 0 && !history.isLocked());
    const { object: quota } = await admin.get(RESOURCE_QUOTAS, at);
    expect(quota).toMatchObject({ spec: { hard }, status: { hard } });
    // No further pod fits, and the status says so.
    expect(JSON.stringify(migration.status?.vms)).toContain('RestartWouldBeRefused');
  });
});
