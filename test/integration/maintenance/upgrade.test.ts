import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KUBEVIRT } from '../../../functions/domain/names.ts';
import { KUBEVIRTS } from '../../../functions/kubernetes/resources.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';
import { startMaintenanceScene, type MaintenanceScene } from '../../support/maintenance/maintenance-scene.ts';

const AT = { namespace: 'kubevirt', name: 'kubevirt' };

let scene: MaintenanceScene;

beforeAll(async () => {
  scene = await startMaintenanceScene();
  await scene.admin.create(FULL_KUBEVIRTS, newKubeVirt());
  await patchKubeVirt({ spec: { workloadUpdateStrategy: { workloadUpdateMethods: ['LiveMigrate'] } } });
  await deployed('one', 'one');
});

afterAll(async () => {
  await scene.stop();
});

const patchKubeVirt = async (merge: Record<string, unknown>): Promise<void> => {
  await scene.admin.patch(KUBEVIRTS, AT, { merge });
};

/** As the operator writes it. */
const deployed = async (observed: string, target: string): Promise<void> => {
  const status = { phase: 'Deployed', observedDeploymentID: observed, targetDeploymentID: target };
  await scene.admin.patch(KUBEVIRTS, AT, { merge: { status }, subresource: 'status' });
};

const label = (key: string, value: string | null): object => ({ metadata: { labels: { [key]: value } } });

test('an upgrade: started, superseded by the next one, and that blocked, unblocked and progressed', async () => {
  expect(await scene.upgrades()).toEqual([]);
  await deployed('one', 'two');
  const first = await scene.untilUpgrade('two', 'Running', '0/0');
  expect(first.spec.deployment).toEqual({ from: 'one', to: 'two' });

  await scene.vm('tenant', 'vm0');
  await scene.patchVm('tenant', 'vm0', label(KUBEVIRT.outdatedLauncher, ''));
  await scene.untilUpgrade('two', 'Running', '0/1');

  await deployed('one', 'three');
  const superseded = await scene.untilUpgrade('two', 'Superseded', '0/1');
  const second = await scene.untilUpgrade('three', 'Running', '0/1');

  await patchKubeVirt({ spec: { workloadUpdateStrategy: { workloadUpdateMethods: [] } } });
  expect((await scene.untilUpgrade('three', 'Blocked', '0/1')).status?.reason).toBe('NotAutomated');
  await patchKubeVirt({ spec: { workloadUpdateStrategy: { workloadUpdateMethods: ['LiveMigrate'] } } });
  await scene.untilUpgrade('three', 'Running', '0/1');

  await deployed('three', 'three');
  await scene.patchVm('tenant', 'vm0', label(KUBEVIRT.outdatedLauncher, null));
  await scene.untilUpgrade('three', 'Running', '1/1');

  for (const [{ metadata }, want] of [
    [superseded, ['started', 'superseded']],
    [second, ['started', 'blocked', 'unblocked', 'progressed']],
  ] as const) {
    const { name } = metadata;
    await scene.received.until(`${name}: all are posted`, () => scene.eventsOf(name).length >= want.length);
    expect(scene.eventsOf(name).map(({ type }) => type)).toEqual(want);
  }
});
