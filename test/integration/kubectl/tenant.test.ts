import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VIEW_ROLE } from '../../cluster/kubevirt/objects/view-role.ts';
import { runWith, type RunPlugin } from '../../support/environment/plugin.ts';
import { bindRole, CLUSTER_ROLES, untilAllowed } from '../../support/environment/roles.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;
let plugin: RunPlugin;

const NAMESPACE = 'seen-by-its-tenant';
const TENANT = 'tenant';

beforeAll(async () => {
  environment = await startTestEnvironment();
  const { admin, cluster } = environment;
  await admin.create(CLUSTER_ROLES, VIEW_ROLE);
  const tenant = await newTenant(environment, { name: NAMESPACE, gives: { 'requests.cpu': '100m' } });
  await bindRole(admin, { role: 'view', user: TENANT, namespace: NAMESPACE });
  for (const [group, resource] of [
    ['kubevirt.io', 'virtualmachineinstancemigrations'],
    ['mtq.kubevirt.io', 'virtualmachinemigrationresourcequotas'],
  ] as const)
    await untilAllowed(admin, TENANT, { verb: 'list', group, resource, namespace: NAMESPACE, allowed: true });
  plugin = runWith(await cluster.controlPlane.kubeconfigForUser({ name: TENANT, groups: ['tenants'] }));
  await tenant.migrate();
  await tenant.untilBlocked();
  await environment.lines.until('feasibility has decided', () =>
    environment.lines.items.some((line) => line.namespace === NAMESPACE && line.verdict === 'NoFit'),
  );
});

afterAll(async () => {
  await environment.stop();
});

const UNSEEN =
  /\n\nNot seen, for lack of rights:\n {2}cluster-wide VMMRQs[^]*KubeVirt's configuration[^]*nodes/;

test.each<[string, string[], number, RegExp]>([
  ['status', ['status'], 0, /^seen-by-its-tenant +mig0 +NotEnough +quota: requests\.cpu=605m,/m],
  ['explain', ['explain', 'mig0'], 1, /^Verdict: +NotEnough$/m],
  [
    'preflight',
    ['preflight', 'namespace'],
    1,
    /^seen-by-its-tenant +vm0 .*stuck +quota lacks requests\.cpu=605m/m,
  ],
])('with ClusterRole view in its namespace a tenant gets an answer: %s', async (_, args, code, shows) => {
  const ran = await plugin(...args, '-n', NAMESPACE);
  expect(ran).toMatchObject({ code, stderr: '' });
  expect(ran.stdout).toMatch(shows);
  expect(ran.stdout).toMatch(UNSEEN);
});

test('says in -o json what was not seen', async () => {
  const { stdout } = await plugin('status', '-n', NAMESPACE, '-o', 'json');
  expect(JSON.parse(stdout)).toMatchObject({
    namespaces: [{ namespace: NAMESPACE, vmmrqs: ['more'] }],
    unseen: expect.arrayContaining([expect.stringContaining('KubeVirt')]),
  });
});

test('explain -o yaml has what the functions, which see everything, said last', async () => {
  const { stdout } = await plugin('explain', 'mig0', '-n', NAMESPACE, '-o', 'yaml');
  expect(stdout).toMatch(/^said: .*VMMRQ more gives requests\.cpu=100m/m);
});

test.each<[string, string[], string]>([
  ['all namespaces', ['status', '-A'], 'clusterrolebinding managed-tenant-quota-plugin-view'],
  [
    'another namespace',
    ['status', '-n', 'default'],
    'rolebinding managed-tenant-quota-plugin-view --namespace=default',
  ],
  ['changes', ['status', '-n', NAMESPACE, '--watch'], 'clusterrolebinding managed-tenant-quota-plugin-view'],
])('without more rights it sees no %s, and learns who gives them', async (_, args, binding) => {
  const { code, stdout, stderr } = await plugin(...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^error: you lack these rights:\n(?: {2}.*\n)+a cluster-admin gives them/);
  expect(stderr).toContain(`  kubectl create ${binding} --clusterrole=`);
});
