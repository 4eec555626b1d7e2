import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { NODES } from '../../../functions/kubernetes/resources.ts';
import { kubeconfigOfViewer } from '../../support/environment/plugin.ts';
import { newTenant } from '../../support/tenant/tenant.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';

const FOLDER = fileURLToPath(new URL('../../../dist/kubectl', import.meta.url));
const NAMESPACE = 'completed';

let environment: TestEnvironment;
let kubeconfig: string;

beforeAll(async () => {
  environment = await startTestEnvironment();
  kubeconfig = await kubeconfigOfViewer(environment);
  const tenant = await newTenant(environment, { name: NAMESPACE, gives: null });
  await tenant.migrate();
  await tenant.untilBlocked();
  await environment.admin.create(NODES, { metadata: { name: 'worker-1' } });
});

afterAll(async () => {
  await environment.stop();
});

/** What the shell gets: kubectl runs this file, which it finds on the PATH. */
function completed(...words: string[]): string[] {
  const env = {
    ...process.env,
    KUBECONFIG: kubeconfig,
    PATH: [FOLDER, dirname(process.execPath), process.env['PATH']].join(':'),
  };
  const stdout = execFileSync(join(FOLDER, 'kubectl_complete-vmmrq'), words, { env, encoding: 'utf8' });
  return stdout.trim().split('\n');
}

test.each<[string, string[], string[]]>([
  ['subcommands', ['pr'], ['preflight', 'progress']],
  ['namespaces', ['status', '-n', 'compl'], [NAMESPACE]],
  ['migrations of the namespace', ['explain', '-n', NAMESPACE, ''], ['mig0']],
  ['no migrations of another namespace', ['explain', '-n', 'default', ''], []],
  ['nodes', ['preflight', 'node', 'worker'], ['worker-1']],
  ['locked namespaces only', ['unlock', ''], []],
])('kubectl_complete-vmmrq completes %s', (_, words, want) => {
  const lines = completed(...words);
  expect(lines.at(-1)).toBe(':4');
  expect(lines.slice(0, -1).map((line) => line.split('\t')[0])).toEqual(want);
});
