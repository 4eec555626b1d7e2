import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KUBEVIRT } from '../../../functions/domain/names.ts';
import type { MaintenanceProgress } from '../../../functions/domain/progress/progress-object.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';
import { announce, deploy } from '../../cluster/kubevirt/operator.ts';
import { releaseOf } from '../../cluster/kubevirt/objects/release.ts';
import {
  hasState,
  startMaintenanceScene,
  type MaintenanceScene,
} from '../../support/maintenance/maintenance-scene.ts';

/** Upgrades that do not end as they began. */

let scene: MaintenanceScene;

beforeAll(async () => {
  scene = await startMaintenanceScene();
});

afterAll(async () => {
  await scene.stop();
});

const AT = { namespace: 'kubevirt', name: 'kubevirt' };
const ONE = releaseOf('v1.9.0', { deploymentId: 'one' });
const TWO = releaseOf('v1.9.1', { deploymentId: 'two' });
const THREE = releaseOf('v1.9.2', { deploymentId: 'three' });

const label = (value: string | null): object => ({
  metadata: { labels: { [KUBEVIRT.outdatedLauncher]: value } },
});

/** Resolves when the subscriber has the object's last event. */
async function eventsOf({ metadata: { name } }: MaintenanceProgress, last: string): Promise<string[]> {
  await scene.received.until(`${name}: ${last}`, () => scene.eventsOf(name).at(-1)?.type === last);
  return scene.eventsOf(name).map(({ type }) => type);
}

test('without a KubeVirt CR a drain is reported, and no upgrade', async () => {
  await scene.node('plain', { unschedulable: true });
  await scene.vm('plain', 'vm0', { evacuationNodeName: 'plain' });
  await scene.untilDrain('plain', hasState('Running'));
  await scene.patchVm('plain', 'vm0', { status: { phase: 'Succeeded' } });
  await scene.untilDrain('plain', hasState('Completed'));
  expect(await scene.upgrades()).toEqual([]);
});

test('an upgrade that is rolled back is superseded; VMs that are outdated for the old release are reported again', async () => {
  await deploy(scene.admin, { workloadUpdateMethods: ['LiveMigrate'] }, ONE);
  await announce(scene.admin, TWO);
  const upgrade = await scene.untilUpgrade(TWO.deploymentId, 'Running', '0/0');
  // KubeVirt's new virt-controller has come so far.
  await scene.vm('tenant', 'vm0');
  await scene.patchVm('tenant', 'vm0', label(''));
  await scene.untilUpgrade(TWO.deploymentId, 'Running', '0/1');
  await announce(scene.admin, ONE);
  const superseded = await scene.untilUpgrade(TWO.deploymentId, 'Superseded', '0/1');
  expect(superseded.metadata.uid).toBe(upgrade.metadata.uid);
  const back = await scene.untilUpgrade(ONE.deploymentId, 'Running', '0/1');
  expect(back.spec.deployment).toEqual({ to: ONE.deploymentId });
  await scene.patchVm('tenant', 'vm0', label(null));
  await scene.untilUpgrade(ONE.deploymentId, 'Running', '1/1');
  expect(await eventsOf(superseded, 'superseded')).toEqual(['started', 'superseded']);
  expect(await eventsOf(back, 'progressed')).toEqual(['started', 'progressed']);
});

test('an upgrade whose KubeVirt is deleted fails; a new one is another upgrade', async () => {
  await announce(scene.admin, THREE);
  const upgrade = await scene.untilUpgrade(THREE.deploymentId, 'Running', '0/0');
  await scene.admin.delete(FULL_KUBEVIRTS, AT);
  const failed = await scene.untilUpgrade(THREE.deploymentId, 'Failed', '0/0');
  expect(failed.status?.reason).toBe('KubeVirtGone');
  expect(await eventsOf(upgrade, 'failed')).toEqual(['started', 'failed']);

  await scene.admin.create(FULL_KUBEVIRTS, newKubeVirt());
  const status = { observedDeploymentID: ONE.deploymentId, targetDeploymentID: THREE.deploymentId };
  await scene.admin.patch(FULL_KUBEVIRTS, AT, { merge: { status }, subresource: 'status' });
  const next = await scene.untilUpgrade(THREE.deploymentId, 'Running', '0/0');
  expect([upgrade, next].map(({ metadata }) => metadata.name)).toEqual([
    ...['upgrade-three-1', 'upgrade-three-2'],
  ]);
});
