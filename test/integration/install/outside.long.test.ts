import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import { startChild, type Child } from '../../cluster/controlplane/children.ts';
import { temporaryFolder, type TemporaryFolder } from '../../cluster/controlplane/exit.ts';
import { freePort } from '../../cluster/controlplane/ports.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import { startKubeVirt, type KubeVirtStandIn } from '../../cluster/kubevirt/start.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { History } from '../../support/tenant/history.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { newTenant } from '../../support/tenant/tenant.ts';
import { ADMISSION_MODE } from '../../support/environment/admission-mode.ts';

const LOG = 'outside.log';

let controlPlane: ControlPlane;
let kubevirt: KubeVirtStandIn;
let folder: TemporaryFolder;
let outside: Child;
let admin: Cluster;
const histories: History[] = [];

/** A cluster with KubeVirt's kinds only, reached by a kubeconfig, as any cluster offers. */
beforeAll(async () => {
  folder = temporaryFolder('mtq-outside-test-');
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig, 'admin');
  await installKubeVirt(admin);
  const account = { namespace: 'kubevirt', name: 'kubevirt-controller' };
  kubevirt = await startKubeVirt({
    cluster: connect(await controlPlane.kubeconfigFor(account)),
    timings: { migrationMs: 200 },
  });
  const ports = ['--port', String(await freePort()), '--tls-port', String(await freePort())];
  outside = await startChild({
    name: 'outside',
    command: process.execPath,
    args: ['hack/outside/main.ts', '--install', '--admission-mode', ADMISSION_MODE, ...ports],
    env: { ...process.env, KUBECONFIG: controlPlane.adminKubeconfig },
    logFile: join(folder.path, LOG),
  });
  await untilReady();
});

afterAll(async () => {
  await Promise.all(histories.map((history) => history.stop()));
  await outside.stop();
  await kubevirt.stop();
  await controlPlane.stop();
  folder.remove();
});

async function untilReady(): Promise<void> {
  let ended: string | undefined;
  void outside.ended.then((how) => (ended = how));
  while (!/^ready: /m.test(readFileSync(join(folder.path, LOG), 'utf8'))) {
    if (ended !== undefined) throw new Error(`it ended (${ended}):\n${outside.logTail()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('with only a kubeconfig and ports, a migration succeeds and leaves everything as before', async () => {
  const watch = async (namespace: string): Promise<History> => {
    const history = await History.start(admin, namespace);
    histories.push(history);
    return history;
  };
  const tenant = await newTenant({ admin, watch }, { name: 'elsewhere' });
  await tenant.migrate();
  await tenant.untilThrough();
  expect(wasRaised(tenant.history)).toBe(true);
  await expectAsBefore(admin, tenant);
});
