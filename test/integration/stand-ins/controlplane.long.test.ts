import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as dial, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { KubernetesObject, Pod, ResourceQuota } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import type { ApiError } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import { startControlPlane, type ControlPlane } from '../../cluster/controlplane/start.ts';

const SERVICE_ACCOUNTS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};
const TIMEOUT_MS = 20_000;

let controlPlane: ControlPlane;
let admin: Cluster;

beforeAll(async () => {
  controlPlane = await startControlPlane({ users: [{ name: 'alice', groups: ['team a', 'team "b"'] }] });
  admin = connect(controlPlane.adminKubeconfig);
});

afterAll(async () => {
  await controlPlane.stop();
});

describe('quotas', () => {
  test('refuse a pod when full, in the words that KubeVirt and the incumbent look for', async () => {
    await makeNamespace('full');
    await makeQuota('full', { 'requests.cpu': '1', 'limits.memory': '64Gi', pods: '10' });
    await admin.create(PODS, pod('full', 'first'));

    await expect(admin.create(PODS, pod('full', 'second'))).rejects.toMatchObject({
      code: 403,
      reason: 'Forbidden',
      status: {
        message:
          'pods "second" is forbidden: exceeded quota: compute, requested: requests.cpu=700m, ' +
          'used: requests.cpu=700m, limited: requests.cpu=1',
      },
    });
  });

  test('status.hard waits while the controller manager is paused', async () => {
    await makeNamespace('paused');
    await controlPlane.pauseControllerManager();
    await admin.create(RESOURCE_QUOTAS, quota('paused', { pods: '1' }));
    // The usual time for a hundred quotas.
    await expect(statusOf('paused', AbortSignal.timeout(1_000))).rejects.toMatchObject({
      name: 'TimeoutError',
    });

    controlPlane.resumeControllerManager();
    expect(await statusOf('paused')).toEqual({ hard: { pods: '1' }, used: { pods: '0' } });
  });
});

describe('access', () => {
  test('is refused to a service account without a role, and the audit log shows it', async () => {
    await makeNamespace('roleless');
    await admin.create(SERVICE_ACCOUNTS, { metadata: { name: 'robot', namespace: 'roleless' } });
    const serviceAccount = connect(
      await controlPlane.kubeconfigFor({ namespace: 'roleless', name: 'robot' }),
    );

    const error = await serviceAccount
      .list(PODS, { namespace: 'roleless' })
      .catch((thrown: unknown) => thrown);
    const username = 'system:serviceaccount:roleless:robot';
    expect((error as ApiError).status).toMatchObject({
      code: 403,
      message:
        `pods is forbidden: User "${username}" cannot list resource "pods" ` +
        'in API group "" in the namespace "roleless"',
    });
    await eventually(() =>
      expect(auditLines()).toContainEqual(
        expect.objectContaining({
          level: 'Metadata',
          stage: 'ResponseComplete',
          verb: 'list',
          user: expect.objectContaining({ username }) as unknown,
          objectRef: expect.objectContaining({ resource: 'pods', namespace: 'roleless' }) as unknown,
          responseStatus: expect.objectContaining({ code: 403 }) as unknown,
        }),
      ),
    );
  });

  test('has no token for a service account that does not exist', async () => {
    await expect(controlPlane.kubeconfigFor({ namespace: 'default', name: 'nobody' })).rejects.toMatchObject({
      code: 404,
    });
  });

  test('authenticates an outside user under its own name, without administrator rights', async () => {
    const alice = { name: 'alice', groups: ['team a', 'team "b"'] };
    const cluster = connect(await controlPlane.kubeconfigForUser(alice));
    const { object } = await cluster.create(SELF_REVIEWS, { metadata: { name: '' } });
    expect(object.status?.userInfo).toMatchObject({
      username: 'alice',
      groups: ['team a', 'team "b"', 'system:authenticated'],
    });
    await expect(cluster.list(NAMESPACES, {})).rejects.toMatchObject({ code: 403 });
    await expect(controlPlane.kubeconfigForUser({ name: 'alice', groups: [] })).rejects.toThrow(
      'StartOptions.users',
    );
  });

  test('is refused without credentials', async () => {
    const file = join(controlPlane.folder, 'anonymous.kubeconfig');
    const text = readFileSync(controlPlane.adminKubeconfig, 'utf8');
    writeFileSync(file, text.replace(/"token": "[^"]*"/, '"token": "guessed"'));
    await expect(connect(file).list(NAMESPACES, {})).rejects.toMatchObject({ code: 401 });
  });
});

describe('the processes', () => {
  test('keep address and data of the API server over a restart', async () => {
    const { url } = controlPlane;
    await makeNamespace('kept');
    await controlPlane.stopApiServer();
    await expect(connect(controlPlane.adminKubeconfig).list(NAMESPACES, {})).rejects.toMatchObject({
      name: 'Unreachable',
    });
    await controlPlane.startApiServer();
    expect(controlPlane.url).toBe(url);
    const { object } = await connect(controlPlane.adminKubeconfig).get(NAMESPACES, { name: 'kept' });
    expect(object.metadata.name).toBe('kept');
  });

  test('name a port that another process has taken meanwhile', async () => {
    await controlPlane.stopApiServer();
    const occupied = createServer((socket) => socket.destroy()).listen(
      Number(new URL(controlPlane.url).port),
      '127.0.0.1',
    );
    await once(occupied, 'listening');
    await expect(controlPlane.startApiServer()).rejects.toThrow(
      /kube-apiserver ended unexpectedly \(exit code 1\).*address already in use/s,
    );
    occupied.close();
    await once(occupied, 'close');
    await controlPlane.startApiServer();
  });

  test('share nothing with a control plane started at the same moment, and leave nothing after stop', async () => {
    const both = await Promise.all([startControlPlane(), startControlPlane()]);
    const [one, other] = both;
    expect(one.url).not.toBe(other.url);
    await connect(one.adminKubeconfig).create(NAMESPACES, { metadata: { name: 'only-here' } });
    await expect(connect(other.adminKubeconfig).get(NAMESPACES, { name: 'only-here' })).rejects.toMatchObject(
      { code: 404 },
    );
    expect(processesOf(one.folder)).toHaveLength(3);

    await Promise.all(both.map((each) => each.stop()));
    for (const each of both) await expectNothingLeft(each);
    await one.stop();
  });

  test('end at Ctrl-C, which also removes the folder', async () => {
    const { owner, started } = await startInAnotherProcess();
    owner.kill('SIGINT');
    const [code] = (await once(owner, 'exit')) as [number | null];
    expect(code).toBe(130);
    await expectNothingLeft(started);
  });

  const withSetpriv = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;
  (withSetpriv ? test : test.skip)('SIGKILL to us ends them too, where the kernel helps', async () => {
    const { owner, started } = await startInAnotherProcess();
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    await eventually(() => expect(processesOf(started.folder)).toEqual([]));
    rmSync(started.folder, { recursive: true });
  });
});

describe('kustomize', () => {
  test('renders a folder to objects, and reports an invalid one', async () => {
    const { folder } = controlPlane;
    const resource = 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: rendered\n';
    writeFileSync(join(folder, 'namespace.yaml'), resource);
    await expect(render(folder)).rejects.toThrow('unable to find one of');
    writeFileSync(join(folder, 'kustomization.yaml'), 'resources: [namespace.yaml]\n');
    expect(await render(folder)).toEqual([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'rendered' } },
    ]);
  });
});

interface SelfReview extends KubernetesObject {
  status?: { userInfo: { username: string; groups: string[] } };
}
const SELF_REVIEWS: ResourceType<SelfReview> = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
};

/** Pods are admitted only once the namespace has its default service account. */
async function makeNamespace(name: string): Promise<void> {
  const { object } = await admin.create(NAMESPACES, { metadata: { name } });
  const from = { namespace: name, resourceVersion: object.metadata.resourceVersion };
  for await (const { object: account } of admin.watch(SERVICE_ACCOUNTS, from, timeoutSignal())) {
    if (account.metadata.name === 'default') return;
  }
}

const quota = (namespace: string, hard: Record<string, string>): New<ResourceQuota> => ({
  metadata: { name: 'compute', namespace },
  spec: { hard },
});

async function makeQuota(namespace: string, hard: Record<string, string>): Promise<void> {
  await admin.create(RESOURCE_QUOTAS, quota(namespace, hard));
  await statusOf(namespace);
}

/** Resolves to the quota's status once it exists; rejects with the reason of `signal`. */
async function statusOf(namespace: string, signal = timeoutSignal()): Promise<ResourceQuota['status']> {
  const { items, resourceVersion } = await admin.list(RESOURCE_QUOTAS, { namespace });
  const [first] = items;
  if (first?.status?.hard !== undefined) return first.status;
  try {
    for await (const { object } of admin.watch(RESOURCE_QUOTAS, { namespace, resourceVersion }, signal)) {
      if (object.status?.hard !== undefined) return object.status;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  throw new Error(`the watch of ${namespace} ended`);
}

const pod = (namespace: string, name: string): New<Pod> => ({
  metadata: { name, namespace },
  spec: {
    containers: [
      {
        name: 'compute',
        image: 'none',
        resources: { requests: { cpu: '700m' }, limits: { cpu: '700m', memory: '1Gi' } },
      } as Pod['spec']['containers'][number],
    ],
  },
});

const timeoutSignal = (): AbortSignal => AbortSignal.timeout(TIMEOUT_MS);

const auditLines = (): unknown[] =>
  readFileSync(controlPlane.auditLog, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as unknown);

/** Command lines that contain this folder: every process of a control plane has one. */
const processesOf = (folder: string): string[] =>
  execFileSync('ps', ['-A', '-ww', '-o', 'args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(folder));

async function expectNothingLeft({ folder, url }: Pick<ControlPlane, 'folder' | 'url'>): Promise<void> {
  expect(processesOf(folder)).toEqual([]);
  expect(existsSync(folder)).toBe(false);
  const socket = dial(Number(new URL(url).port), '127.0.0.1');
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
}

interface Started {
  readonly folder: string;
  readonly url: string;
}

async function startInAnotherProcess(): Promise<{ owner: ChildProcess; started: Started }> {
  const start = fileURLToPath(new URL('../../cluster/controlplane/start.ts', import.meta.url));
  const code = `
    import { startControlPlane } from ${JSON.stringify(start)};
    const { folder, url } = await startControlPlane();
    console.log(JSON.stringify({ folder, url }));`;
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(owner.stdout), 'line')) as [string];
  return { owner, started: JSON.parse(line) as Started };
}

/** Retries an expectation until it holds, or fails with its last error. */
async function eventually(expectation: () => void): Promise<void> {
  const signal = timeoutSignal();
  for (;;) {
    try {
      expectation();
      return;
    } catch (error) {
      if (signal.aborted) throw error;
      await sleep(20);
    }
  }
}
