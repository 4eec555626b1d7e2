import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { KUBEVIRT } from '../../../functions/domain/names.ts';
import { LEASES } from '../../../functions/kubernetes/resources.ts';
import { announce, deploy, reportObserved } from '../../cluster/kubevirt/operator.ts';
import { releaseOf, type Release } from '../../cluster/kubevirt/objects/release.ts';
import { startMaintenanceScene, type MaintenanceScene } from '../../support/maintenance/maintenance-scene.ts';

const LEASE = { namespace: 'kubevirt', name: KUBEVIRT.controllerLease };

/** As the leader of the virt-controllers, which the scene has stopped, does every few seconds until the work is done. */
async function withLeader<T>({ admin }: MaintenanceScene, work: () => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const renewed = (async () => {
    while (!ended.signal.aborted) {
      const merge = { spec: { renewTime: new Date().toISOString().replace('Z', '000Z') } };
      await admin.patch(LEASES, LEASE, { merge });
      await delay(1_000, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  })();
  try {
    return await work();
  } finally {
    ended.abort();
    await renewed;
  }
}

test('an upgrade is completed a minute after the last VM, while a virt-controller leads', async () => {
  const scene = await startMaintenanceScene();
  const label = (value: string | null): object => ({
    metadata: { labels: { [KUBEVIRT.outdatedLauncher]: value } },
  });
  try {
    const [before, after] = ['v1.9.0', 'v1.9.1'].map((version) =>
      releaseOf(version, { deploymentId: version }),
    ) as [Release, Release];
    await deploy(scene.admin, { workloadUpdateMethods: ['LiveMigrate'] }, before);
    await announce(scene.admin, after);
    await scene.vm('tenant', 'vm0');
    await scene.patchVm('tenant', 'vm0', label(''));
    await scene.untilUpgrade(after.deploymentId, 'Running', '0/1');
    await reportObserved(scene.admin, after);
    await scene.patchVm('tenant', 'vm0', label(null));
    const completed = await withLeader(scene, async () => {
      await scene.untilUpgrade(after.deploymentId, 'Running', '1/1');
      const lastVm = performance.now();
      const found = await scene.untilUpgrade(after.deploymentId, 'Completed', '1/1');
      expect(performance.now() - lastVm).toBeGreaterThan(50_000);
      return found;
    });
    expect(completed.status?.reason).toBe('Updated');
    const { name } = completed.metadata;
    expect(await scene.typesUntil(name, 'completed')).toEqual(['started', 'progressed', 'completed']);
  } finally {
    await scene.stop();
  }
});
