import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { MTQS, NAMESPACES, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { FULL_VMIS, newVirtualMachineInstance } from '../../cluster/kubevirt/objects/objects.ts';
import { auditLog, whatOf } from '../../support/environment/audit.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { askUntil } from '../../support/eventually.ts';
import { installMtqs } from '../../support/incumbent/incumbent.ts';

const SIZE = { namespaces: 200, vms: 500 } as const;
const AT_ONCE = 16;
const MINUTE_MS = 60_000;
/** The time for what follows the set-up: the end of idle functions, and of watches that are silent from their start. */
const SETTLE_MS = 90_000;
let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ controlPlane: {} });
  const { admin, cluster } = environment;
  await cluster.stopKubeVirt();
  // As a Knative that was installed from a checkout: nothing shows its version.
  for (const name of ['knative-serving', 'knative-eventing'])
    await admin.create(NAMESPACES, { metadata: { name } });
  const indices = Array.from({ length: SIZE.namespaces }, (_, index) => index).values();
  const fill = async (): Promise<void> => {
    for (const index of indices) {
      const namespace = `tenant-${String(index)}`;
      await admin.create(NAMESPACES, { metadata: { name: namespace } });
      const spec = { additionalMigrationResources: { pods: '1' } };
      await admin.create(VMMRQS, { metadata: { namespace, name: 'more' }, spec });
      for (let vm = index; vm < SIZE.vms; vm += SIZE.namespaces) {
        const vmi = newVirtualMachineInstance({ namespace, name: `vm${String(vm)}` });
        await admin.create(FULL_VMIS, { ...vmi, metadata: { ...vmi.metadata, finalizers: [] } });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, fill));
  await cluster.eventing.broker.idle();
}, 600_000);

afterAll(async () => {
  await environment.stop();
});

const requestsSince = async (since: number): Promise<string[]> =>
  (await auditLog(environment.cluster.controlPlane, environment.admin))
    .filter(
      ({ user, stageTimestamp }) =>
        user.username === userOf(SERVICE_ACCOUNT.guard) && Date.parse(stageTimestamp) >= since,
    )
    .map(whatOf);

test('the idle guard makes at most 12 requests a minute, without the incumbent’s kind and Knative’s labels', async () => {
  await pause(SETTLE_MS);
  const since = Date.now();
  await pause(MINUTE_MS);
  const requests = await requestsSince(since);
  process.stdout.write(
    `\n  ${String(requests.length)} requests a minute: ${[...new Set(requests)].join(', ')}\n`,
  );
  expect(requests.length).toBeLessThanOrEqual(12);
}, 300_000);

test('it notices the incumbent’s kind when that is installed', async () => {
  const { admin, cluster } = environment;
  await installMtqs(admin);
  await admin.create(MTQS, { metadata: { name: 'mtq' } });
  const view = cluster.eventing.rewrite('http://mtq-guard.mtq-system.svc.cluster.local:8080/view');
  await askUntil(
    'the guard sees it',
    async () => (await fetch(`${view}?namespace=tenant-0`)).text(),
    (text) => text.includes('MTQ object mtq'),
  );
});
