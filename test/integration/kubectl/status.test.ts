import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { lockOf } from '../../../functions/domain/lock.ts';
import { CLUSTER_VMMRQS, NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import {
  expectRightsMissing,
  kubeconfigOfViewer,
  runWith,
  startPlugin,
  type RunPlugin,
} from '../../support/environment/plugin.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;
let kubeconfig: string;
let plugin: RunPlugin;
const resumes: (() => void)[] = [];

beforeAll(async () => {
  // A lock lasts as long as it may, because the tests look at it.
  environment = await startTestEnvironment({ env: { LOCK_SECONDS: '60' } });
  kubeconfig = await kubeconfigOfViewer(environment);
  plugin = runWith(kubeconfig);
});

afterEach(() => {
  for (const resume of resumes.splice(0)) resume();
});

afterAll(async () => {
  await environment.stop();
});

interface Shown {
  readonly clusterWide: readonly object[];
  readonly namespaces: readonly { readonly namespace: string; readonly lock?: object }[];
}

const shown = async (...args: string[]): Promise<Shown> => {
  const { code, stdout, stderr } = await plugin('status', ...args, '-o', 'json');
  expect([code, stderr]).toEqual([0, '']);
  const report = JSON.parse(stdout) as Shown;
  expect(report).toMatchObject({ apiVersion: 'plugin.mtq.kubevirt.io/v1alpha1', kind: 'Status' });
  return report;
};

/** Locked, and not raised before the test ends. */
async function lockedTenant(name: string): Promise<Tenant> {
  resumes.push(environment.hold(name, 'mtq-raise'));
  const tenant = await newTenant(environment, { name });
  await tenant.migrate();
  await tenant.history.until(`${name} is locked`, () => tenant.history.isLocked());
  return tenant;
}

test('shows a lock, and the migration that waits for it', async () => {
  const name = 'status-locked';
  const tenant = await lockedTenant(name);
  const { namespaces } = await shown('-n', name);
  const state = lockOf((await environment.admin.get(NAMESPACES, { name })).object);
  expect(state).toMatchObject({ kind: 'held' });
  const { token, acquiredAt, expiresAt } = (state as Extract<typeof state, { kind: 'held' }>).lock;
  expect(namespaces).toMatchObject([
    {
      namespace: name,
      vmmrqs: ['more'],
      lock: { token, acquiredAt, expiresAt, migrations: ['mig0'], quotas: ['quota'] },
      waiting: [{ migration: 'mig0', verdict: 'Waiting', reason: 'AlreadyLocked' }],
    },
  ]);
  resumes.splice(0).forEach((resume) => resume());
  await tenant.untilThrough();
  expect((await shown('-n', name)).namespaces).toMatchObject([{ raised: [], waiting: [] }]);
});

test('of all namespaces shows what each waits for, and counts those of a cluster-wide VMMRQ', async () => {
  const [one, other] = ['status-one', 'status-other'];
  const tenants = await Promise.all(
    [one, other].map((name) => newTenant(environment, { name, gives: null })),
  );
  await environment.admin.create(CLUSTER_VMMRQS, {
    metadata: { name: 'drains' },
    spec: {
      namespaceSelector: {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: [one, other] }],
      },
      additionalMigrationPercentage: '100%',
    },
  });
  await Promise.all(tenants.map((tenant) => tenant.migrate()));
  await Promise.all(tenants.map((tenant) => tenant.untilBlocked()));
  const { clusterWide, namespaces } = await shown('-A');
  expect(clusterWide).toEqual([
    { name: 'drains', purposes: ['Evacuation', 'WorkloadUpdate'], namespaces: 2 },
  ]);
  const waiting = [{ migration: 'mig0', verdict: 'NoFit', reason: 'PurposeNotServed' }];
  expect(namespaces).toMatchObject(
    expect.arrayContaining(
      [one, other].map((namespace) => expect.objectContaining({ namespace, vmmrqs: ['cvmmrq/drains'] })),
    ),
  );
  expect(namespaces.filter(({ namespace }) => [one, other].includes(namespace))).toMatchObject([
    { waiting },
    { waiting },
  ]);
  const { stdout } = await plugin('status', '-n', one);
  expect(stdout.split('\n').map((line) => line.split(/ {3,}/).slice(0, 3))).toContainEqual([
    one,
    'mig0',
    'PurposeNotServed',
  ]);
  await environment.admin.delete(CLUSTER_VMMRQS, { name: 'drains' });
});

test('says when a namespace has nothing to show', async () => {
  expect(await plugin('status')).toEqual({
    code: 0,
    stdout: '',
    stderr:
      'No VMMRQs, locks, raised quotas or waiting migrations found in namespace default: -A shows all namespaces.\n',
  });
});

test('says that there is no namespace of that name', async () => {
  expect(await plugin('status', '-n', 'nowhere')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: there is no namespace nowhere\n',
  });
});

test.each<[what: string, flags: string[], error: string | RegExp]>([
  ['a context that is not there', ['--context', 'nope'], /kubeconfig: it has no context nope/],
  ['a cluster that is not there', ['--cluster', 'nope'], /kubeconfig: it has no cluster nope/],
  ['a user that is not there', ['--user', 'nope'], /kubeconfig: it has no user nope/],
  ['a user to impersonate without the right', ['--as', 'theo'], /cannot impersonate/],
  [
    'a server that does not answer',
    ['--server', 'https://127.0.0.1:1'],
    /error: the API server does not answer \(.+\): check --server/,
  ],
  [
    'a time that is none',
    ['--request-timeout', 'soon'],
    /--request-timeout soon: must be a time with ms, s, m or h/,
  ],
])('kubectl’s flags: %s is an error that says so', async (_what, flags, error) => {
  const { code, stdout, stderr } = await plugin('status', ...flags);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(error);
});

test('kubectl’s flags: an admin acts as another user, in groups, with a time limit and another name of the server', async () => {
  const { adminKubeconfig } = environment.cluster.controlPlane;
  const { stdout: whole } = await runWith(adminKubeconfig)('status', '-A', '-o', 'json');
  const viewer = ['--as', 'tina', '--as-group', 'viewers', '--as-group', 'others'];
  const same = await runWith(adminKubeconfig)(
    'status',
    '-A',
    '-o',
    'json',
    ...viewer,
    '--request-timeout',
    '30s',
  );
  expect(same).toEqual({ code: 0, stdout: whole, stderr: '' });
  const rightless = await runWith(adminKubeconfig)('status', '-A', '--as', 'theo', '--as-group', 'others');
  expect([rightless.code, rightless.stdout]).toEqual([2, '']);
  expect(rightless.stderr).toMatch(
    /^error: you lack these rights:\n {2}list namespaces[^]*ClusterRole managed-tenant-quota-plugin-view:/,
  );
});

test('without the rights lists them, and exits with 2', async () => {
  await expectRightsMissing(
    environment,
    ['status', '-A', '--watch'],
    ['list namespaces', 'list resourcequotas', 'watch virtualmachineinstancemigrations.kubevirt.io'],
  );
});

test('--watch shows a lock that comes, and its end', async () => {
  const name = 'status-watch';
  const running = startPlugin(kubeconfig, 'status', '-n', name, '--watch');
  try {
    await running.lines.until('it has looked', () => running.lines.items.length > 0);
    const tenant = await lockedTenant(name);
    const rows = (): string[] => running.lines.items.filter((line) => line.startsWith(`${name} `));
    await running.lines.until('the lock is shown', () => rows().some((row) => / left {3}/.test(row)));
    resumes.splice(0).forEach((resume) => resume());
    await tenant.untilThrough();
    await running.lines.until('its end is shown', () =>
      /more {3,}<none> +<none> +0$/.test(rows().at(-1) ?? ''),
    );
  } finally {
    await running.stop();
  }
});
