import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import { MAINTENANCE_CHANGED } from '../../../functions/domain/progress/names.ts';
import { postEvent } from '../../../functions/eventing/post.ts';
import { MTQS, PROGRESSES } from '../../../functions/kubernetes/resources.ts';
import { auditLog } from '../../support/environment/audit.ts';
import { askUntil } from '../../support/eventually.ts';
import { installMtqs, writesOf } from '../../support/incumbent/incumbent.ts';
import {
  hasState,
  isDelivered,
  startMaintenanceScene,
  type MaintenanceScene,
} from '../../support/maintenance/maintenance-scene.ts';

let scene: MaintenanceScene;

beforeAll(async () => {
  scene = await startMaintenanceScene();
  await installMtqs(scene.admin);
});

afterAll(async () => {
  await scene.stop();
});

/** The guard's answer to `progress` about a node. */
async function untilGuardSays(node: string, incumbent: boolean): Promise<void> {
  const url = scene.environment.cluster.eventing.rewrite(
    'http://mtq-guard.mtq-system.svc.cluster.local:8080/maintenance',
  );
  await askUntil(
    `the guard sees ${incumbent ? 'the' : 'no'} incumbent`,
    async () => (await fetch(`${url}?kind=Drain&node=${node}`)).text(),
    (text) => text.startsWith('{') && text.includes('MTQ object mtq') === incumbent,
  );
}

test('beside the incumbent neither a new drain nor the next step of an open one is written, and then both', async () => {
  const { admin, environment } = scene;
  const { controlPlane, eventing } = environment.cluster;
  await scene.node('open', { unschedulable: true });
  await scene.vm('open', 'vm0');
  await scene.evacuate('open', 'vm0');
  const open = await scene.untilDrain('open', (found) => hasState('Running')(found) && isDelivered(found));
  await admin.create(MTQS, { metadata: { name: 'mtq' } });
  await untilGuardSays('open', true);
  await eventing.broker.idle();
  const before = (await auditLog(controlPlane, admin)).length;
  const posts = scene.posts().length;

  await scene.setMigration('open', 'evacuates-vm0', { phase: 'Succeeded' });
  await scene.patchVm('open', 'vm0', { status: { phase: 'Succeeded' } });
  await scene.node('new', { unschedulable: true });
  await scene.vm('new', 'vm0');
  await scene.evacuate('new', 'vm0');
  await untilGuardSays('new', true);
  const sink = { url: eventing.brokerUrl(SYSTEM_NAMESPACE, 'mtq') };
  for (const node of ['open', 'new'])
    await postEvent(sink, {
      ...{ type: MAINTENANCE_CHANGED, from: 'guard', cause: 'asked' },
      maintenance: { kind: 'Drain', node },
    });
  await eventing.broker.idle();
  expect(scene.posts()).toHaveLength(posts + 2);
  expect(writesOf((await auditLog(controlPlane, admin)).slice(before))).toEqual([]);
  const { items } = await admin.list(PROGRESSES, {});
  expect(items.map(({ metadata }) => metadata.resourceVersion)).toEqual([open.metadata.resourceVersion]);

  await admin.delete(MTQS, { name: 'mtq' });
  await scene.untilDrain('new', hasState('Running'));
  await scene.untilDrain('open', hasState('Completed'));
});
