import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import type { ClusterVmmrq } from '../../../functions/domain/objects.ts';
import { CLUSTER_VMMRQS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';
import { kubeconfigOfViewer, runWith, type RunPlugin } from '../../support/environment/plugin.ts';
import { newTenant } from '../../support/tenant/tenant.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';

/* What it says is right by preflight-property; here is the subcommand, with the role to read, on a real API server. */
const FULL = 'preflight-full';

let environment: TestEnvironment;
let plugin: RunPlugin;

beforeAll(async () => {
  environment = await startTestEnvironment();
  plugin = runWith(await kubeconfigOfViewer(environment));
  await environment.admin.create(FULL_KUBEVIRTS, newKubeVirt());
  await newTenant(environment, { name: FULL, vms: 2, gives: null });
});

afterAll(async () => {
  await environment.stop();
});

interface Said {
  readonly vms: readonly { readonly name: string; readonly outcome: string }[];
}

const outcomesOf = (stdout: string): string[] =>
  (JSON.parse(stdout) as Said).vms.map(({ name, outcome }) => `${name} ${outcome}`);

describe('preflight namespace', () => {
  test('says which VMs are stuck, and exits with 1', async () => {
    const { code, stdout, stderr } = await plugin('preflight', 'namespace', FULL, '-o', 'json');
    expect([code, stderr]).toEqual([1, '']);
    expect(outcomesOf(stdout)).toEqual(['vm0 Stuck', 'vm1 Stuck']);
    const shown = await plugin('preflight', 'namespace', FULL);
    expect([shown.code, shown.stderr]).toEqual([1, '']);
    expect(shown.stdout).toMatch(/vm0 .*stuck.*requests\.cpu/);
  });

  test('with what it suggests, every VM passes, and it exits with 0', async () => {
    const { stdout } = await plugin('preflight', 'namespace', FULL, '--suggest');
    for (const document of parseAllDocuments(stdout)) {
      const manifest = document.toJS() as ClusterVmmrq;
      expect(manifest.kind).toBe(CLUSTER_VMMRQS.kind);
      await environment.admin.create(CLUSTER_VMMRQS, manifest);
    }
    const after = await plugin('preflight', 'namespace', FULL, '-o', 'json');
    expect([after.code, after.stderr]).toEqual([0, '']);
    expect(outcomesOf(after.stdout)).toEqual(['vm0 Passes', 'vm1 PassesInTurn']);
  });
});

test('a quota that counts migrations as objects keeps a VM where it is: its name, and exit 1', async () => {
  const name = 'preflight-counted';
  await newTenant(environment, { name, quotas: { quota: { pods: '20' } }, gives: null });
  await environment.admin.create(RESOURCE_QUOTAS, {
    metadata: { namespace: name, name: 'objects' },
    spec: { hard: { 'count/virtualmachineinstancemigrations.kubevirt.io': '0' } },
  });
  const { code, stdout, stderr } = await plugin('preflight', 'namespace', name);
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout).toMatch(
    /vm0 .*stuck.*objects lacks count\/virtualmachineinstancemigrations\.kubevirt\.io=1/,
  );
});

test.each<[string, readonly string[], RegExp]>([
  ['a flag of another task', ['namespace', FULL, '--all'], /--all and --overhead are for an upgrade only/],
  ['an amount that is none', ['upgrade', '--overhead', 'lots'], /'lots' is no amount of memory/],
  ['names for an upgrade', ['upgrade', 'node1'], /an upgrade takes no names: node1/],
  ['no node', ['node'], /which node\?/],
  ['a node that is not there', ['node', 'nowhere'], /there is no Node nowhere/],
  ['two namespaces', ['namespace', FULL, 'default'], /one namespace only/],
  ['a namespace that is not there', ['namespace', 'nowhere'], /there is no Namespace nowhere/],
  ['a task that is none', ['cluster'], /Allowed choices are node, upgrade, namespace, plan/],
])('preflight exits with 2 for %s', async (_, args, message) => {
  const { code, stdout, stderr } = await plugin('preflight', ...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(message);
});
