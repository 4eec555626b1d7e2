import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { inNamespace, metadata } from '../../test/support/builders/object.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { ApiError, Unreachable } from '../../functions/kubernetes/errors.ts';
import { DEFINITIONS, KUBEVIRTS, NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { SERVICE_ACCOUNTS } from '../tls/resources.ts';
import { CompatibilityCheck } from './compatibility-check.ts';

const EXPECTED = {
  KUBEVIRT_NAMESPACE: 'kubevirt',
  KUBEVIRT_CONTROLLER: 'kubevirt-controller',
  OLDEST_KUBERNETES: '1.30',
};
const forbidden = new ApiError('GET', { code: 403, reason: 'Forbidden' }, new Date(0));
const missing = new ApiError('GET', { code: 404, reason: 'NotFound' }, new Date(0));

let cluster: WatchedCluster;
let stop: AbortController;
let check: CompatibilityCheck;
let running: Promise<void>;
let lines: string[];

beforeEach(() => {
  jest.useFakeTimers();
  cluster = new WatchedCluster();
  stop = new AbortController();
  lines = [];
  running = Promise.resolve();
});

afterEach(async () => {
  stop.abort();
  await running;
  jest.useRealTimers();
});

const clusterScoped = (name: string, labels?: Record<string, string>): KubernetesObject => {
  const { namespace: _, ...own } = metadata(name);
  return { metadata: { ...own, ...(labels === undefined ? {} : { labels }) } };
};
const knative = (part: string, version?: string): void =>
  cluster.put(
    NAMESPACES,
    clusterScoped(`knative-${part}`, version === undefined ? {} : { 'app.kubernetes.io/version': version }),
  );
const kubevirt = (version?: string, namespace = 'kubevirt'): KubernetesObject =>
  inNamespace(namespace)({
    metadata: metadata('kubevirt'),
    ...(version === undefined ? {} : { status: { observedKubeVirtVersion: version } }),
  });
const controller = (): void =>
  cluster.put(SERVICE_ACCOUNTS, inNamespace('kubevirt')({ metadata: metadata('kubevirt-controller') }));

function installAll(): void {
  for (const part of ['serving', 'eventing']) knative(part, '1.19.0');
  cluster.put(KUBEVIRTS, kubevirt('v1.6.0'));
  controller();
}

async function start(different: Partial<ApiServer> = {}): Promise<void> {
  const api = { ...cluster.asCluster(), version: () => Promise.resolve('v1.34.1'), ...different };
  check = new CompatibilityCheck(EXPECTED, {
    cluster: api,
    log: (level, message) => void lines.push(`${level} ${message}`),
  });
  running = check.run(stop.signal);
  await requests(0);
}

/** The number of requests within so many milliseconds, while the API server sends bookmarks. */
async function requests(ms: number): Promise<number> {
  const before = cluster.asked.length;
  for (let left = ms; left >= 0; left -= 60_000) {
    cluster.put({ ...NAMESPACES, plural: 'others' }, clusterScoped('other'));
    for (const type of [NAMESPACES, KUBEVIRTS, DEFINITIONS]) cluster.bookmark(type);
    await jest.advanceTimersByTimeAsync(Math.min(left, 60_000));
  }
  return cluster.asked.length - before;
}

test('is not ready before its first check, and ends when every fact is known and compatible', async () => {
  installAll();
  expect(
    new CompatibilityCheck(EXPECTED, { cluster: {} as ApiServer, log: () => undefined }).problem(),
  ).toContain('being read');
  await start();
  await running;
  expect(check.problem()).toBeUndefined();
});

describe('is ready, and checks again every minute, while', () => {
  test.each<[string, () => Promise<void>]>([
    [
      'the API server does not answer',
      () => start({ version: () => Promise.reject(new Unreachable('nobody there')) }),
    ],
    ['the roles are older than the guard', () => start({ get: () => Promise.reject(forbidden) })],
  ])('%s', async (_, begin) => {
    installAll();
    await begin();
    expect(check.problem()).toBeUndefined();
    expect(await requests(59_000)).toBe(0);
    expect(await requests(1_000)).toBeGreaterThan(0);
  });
});

describe('is ready, and costs no request until something else is shown, where', () => {
  test.each<[string, () => void, () => void]>([
    [
      'neither Knative nor KubeVirt is installed',
      (): void => cluster.failLists(KUBEVIRTS, missing),
      (): void => knative('serving', '1.16.0'),
    ],
    [
      'Knative has no labels',
      (): void => {
        installAll();
        for (const part of ['serving', 'eventing']) knative(part);
      },
      (): void => knative('eventing', '1.16.0'),
    ],
    [
      'KubeVirt is not deployed yet',
      (): void => {
        installAll();
        cluster.put(KUBEVIRTS, kubevirt());
      },
      (): void => cluster.put(KUBEVIRTS, kubevirt('v0.58.0')),
    ],
  ])('%s', async (_, install, change) => {
    install();
    await start();
    expect(check.problem()).toBeUndefined();
    expect(await requests(3_600_000)).toBe(0);
    change();
    await requests(0);
    expect(check.problem()).toContain('is the oldest that is supported');
  });
});

test('KubeVirt in another namespace: is not ready until that changes; an error only once it has lasted', async () => {
  installAll();
  cluster.remove(KUBEVIRTS, kubevirt());
  cluster.put(KUBEVIRTS, kubevirt('v1.6.0', 'openshift-cnv'));
  await start();
  expect(check.problem()).toContain('openshift-cnv');
  const errors = (): string[] => lines.filter((line) => line.startsWith('error'));
  await requests(59_000);
  expect(errors()).toEqual([]);
  await requests(600_000);
  expect(errors()).toHaveLength(1);
  cluster.put(KUBEVIRTS, kubevirt('v1.6.0'));
  await requests(60_000);
  expect(check.problem()).toBeUndefined();
});

test('reads the service account by name, in KUBEVIRT_NAMESPACE', async () => {
  installAll();
  cluster.remove(SERVICE_ACCOUNTS, inNamespace('kubevirt')({ metadata: metadata('kubevirt-controller') }));
  await start();
  expect(check.problem()).toContain('no such service account');
  controller();
  await requests(60_000);
  expect(check.problem()).toBeUndefined();
});
