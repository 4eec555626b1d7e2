import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { REASON } from '../../../functions/domain/names.ts';
import type { BucketEntry } from '../../../functions/domain/progress/progress-object.ts';
import { PROGRESSES, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { cordon } from '../../cluster/kubevirt/objects/node-objects.ts';
import {
  FULL_KUBEVIRTS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  newKubeVirt,
} from '../../cluster/kubevirt/objects/objects.ts';
import { evict } from '../../cluster/kubevirt/virt-api/evict.ts';
import { kubeconfigOfViewer, runWith, type RunPlugin } from '../../support/environment/plugin.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { askUntil } from '../../support/eventually.ts';
import { allowLaunchers, limitLaunchers } from '../../support/tenant/refuse-targets.ts';
import { newTenant, type Tenant, type TenantOptions } from '../../support/tenant/tenant.ts';

/** A drain of VMs with all the quota they need, whose targets a LimitRange refuses: KubeVirt sets no condition for that. */

let environment: TestEnvironment;
let plugin: RunPlugin;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { SWEEP_SECONDS: '1' }, kubevirt: { drains: true } });
  await environment.admin.create(FULL_KUBEVIRTS, newKubeVirt());
  plugin = runWith(await kubeconfigOfViewer(environment));
});

afterAll(async () => {
  await environment.stop();
});

const ROOM = { quota: { pods: '10', 'requests.cpu': '8', 'requests.memory': '16Gi' } };
const TEXT = /minimum cpu usage per Container is 5/;
const SHOWN = { reason: REASON.limitRange, message: expect.stringMatching(TEXT) };

async function json(...args: readonly string[]): Promise<{ code: number; said: unknown }> {
  const { code, stdout, stderr } = await plugin(...args, '-o', 'json');
  expect(stderr).toBe('');
  return { code, said: JSON.parse(stdout) as unknown };
}

async function drain({ name, history }: Tenant): Promise<string> {
  const { admin } = environment;
  const node = history.latest(FULL_VMIS, 'vm0')?.status?.nodeName ?? '';
  await cordon(admin, node);
  const { items } = await admin.list(LAUNCHER_PODS, { namespace: name });
  for (const launcher of items) await expect(evict(admin, launcher)).rejects.toThrow('evacuation of VMI');
  return node;
}

async function entryOf(node: string): Promise<(BucketEntry & { bucket: string; state: string }) | undefined> {
  const { items } = await environment.admin.list(PROGRESSES, {});
  const status = items.findLast(({ spec }) => spec.node?.name === node)?.status;
  const found = status?.buckets.find(({ name }) => name === 'blocked')?.vms[0];
  return found === undefined ? undefined : { ...found, bucket: 'blocked', state: status?.state ?? '' };
}

test.each<[string, TenantOptions]>([
  ['with a VMMRQ', { name: 'otherwise-served' }],
  ['without one', { name: 'otherwise-unserved', gives: null }],
])('explain, status, conditions, mprog and preflight say the same, %s', async (_, options) => {
  const { admin } = environment;
  const tenant = await newTenant(environment, { ...options, quotas: ROOM });
  const { name, history } = tenant;
  await limitLaunchers(admin, name, { min: { cpu: '5' } });
  const node = await drain(tenant);
  const entry = await askUntil(
    `${name} is blocked`,
    () => entryOf(node),
    (found) => found?.state === 'Blocked',
  );
  expect(entry).toMatchObject(SHOWN);

  const migration = history.latest(FULL_MIGRATIONS)?.metadata.name ?? '';
  const explained = await json('explain', migration, '-n', name);
  expect(explained).toMatchObject({ code: 1, said: { verdict: 'Unsupported', ...SHOWN } });
  expect((await json('status', '-n', name)).said).toMatchObject({ namespaces: [{ waiting: [SHOWN] }] });
  const preflight = await json('preflight', 'node', node);
  expect(preflight.code).toBe(1);
  expect(JSON.stringify(preflight.said)).toMatch(TEXT);
  if (options.gives !== null)
    await history.until(
      'the VMMRQ reports it',
      () =>
        history
          .latest(VMMRQS)
          ?.status?.conditions?.some(
            ({ type, reason }) => type === 'Blocking' && reason === REASON.limitRange,
          ) === true,
    );
  expect(history.locks()).toEqual([]);

  // The guard's resync lets feasibility nudge virt-controller, which would sleep for minutes.
  await allowLaunchers(admin, name);
  await history.until('it is through', () => history.latest(FULL_MIGRATIONS)?.status?.phase === 'Succeeded');
  await askUntil(
    'the drain is over',
    async () => (await admin.list(PROGRESSES, {})).items.findLast(({ spec }) => spec.node?.name === node),
    (found) => found?.status?.state === 'Completed',
  );
  await cordon(admin, node, false);
});
