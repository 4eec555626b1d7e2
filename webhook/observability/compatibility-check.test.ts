import { describe, expect, test } from '@jest/globals';
import type { Clock } from '../../functions/runtime/clock.ts';
import type { ApiServer, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { ApiError, Unreachable } from '../../functions/kubernetes/errors.ts';
import { CompatibilityCheck } from './compatibility-check.ts';

const EXPECTED = {
  KUBEVIRT_NAMESPACE: 'kubevirt',
  KUBEVIRT_CONTROLLER: 'kubevirt-controller',
  OLDEST_KUBERNETES: '1.30',
};
const STATUS = { kind: 'Status', apiVersion: 'v1', status: 'Failure' } as const;
const gone = (): Promise<never> =>
  Promise.reject(new ApiError('GET', { ...STATUS, code: 404, reason: 'NotFound' }, new Date(0)));
const forbidden = (): Promise<never> =>
  Promise.reject(new ApiError('GET', { ...STATUS, code: 403, reason: 'Forbidden' }, new Date(0)));

interface Answers {
  version: () => Promise<string>;
  /** The answer to a GET of a namespace or a service account. */
  get: (type: ResourceType, at: { name: string }) => Promise<unknown>;
  list: () => Promise<unknown>;
}

const knative = (version: string): Promise<unknown> =>
  Promise.resolve({ object: { metadata: { labels: { 'app.kubernetes.io/version': version } } } });
const kubevirt = (namespace: string, version?: string): Promise<unknown> =>
  Promise.resolve({
    items: [
      {
        metadata: { name: 'kubevirt', namespace },
        ...(version === undefined ? {} : { status: { observedKubeVirtVersion: version } }),
      },
    ],
  });
const GOOD: Answers = {
  version: () => Promise.resolve('v1.34.1'),
  get: () => knative('1.19.0'),
  list: () => kubevirt('kubevirt', 'v1.6.0'),
};

/** Each wait ends at once; after `looks` waits the check stops. */
async function check(answers: Answers, looks = 1) {
  const stop = new AbortController();
  const lines: string[] = [];
  let looked = 0;
  const said: (string | undefined)[] = [];
  const clock: Clock = {
    elapsed: () => 0,
    now: () => new Date(0),
    after: (_ms, work) => {
      looked += 1;
      said.push(run.problem());
      if (looked >= looks) queueMicrotask(() => stop.abort());
      else queueMicrotask(work);
      return () => undefined;
    },
  };
  const log = (level: string, message: string): void => void lines.push(`${level} ${message}`);
  const run = new CompatibilityCheck(EXPECTED, { cluster: answers as unknown as ApiServer, log, clock });
  const before = run.problem();
  await run.run(stop.signal);
  return { before, after: run.problem(), said, looked, lines };
}

describe('CompatibilityCheck', () => {
  test('is not ready before its first check, and stops when every fact is known and compatible', async () => {
    const { before, after, looked } = await check(GOOD);
    expect(before).toContain('being read');
    expect([after, looked]).toEqual([undefined, 0]);
  });

  test.each<[string, Partial<Answers>]>([
    ['the API server does not answer', { version: () => Promise.reject(new Unreachable('nobody there')) }],
    ['the roles are older than the guard', { get: forbidden, list: forbidden }],
    ['neither Knative nor KubeVirt is installed', { get: gone, list: gone }],
    ['no object has a version', { get: () => Promise.resolve({ object: { metadata: {} } }) }],
  ])('%s: is ready, and checks again', async (_what, answers) => {
    const { after, looked } = await check({ ...GOOD, ...answers }, 3);
    expect([after, looked]).toEqual([undefined, 3]);
  });

  test('KubeVirt in another namespace: is not ready, and logs it once, until that changes', async () => {
    let lists = 0;
    const list = (): Promise<unknown> => {
      lists += 1;
      return lists < 3 ? kubevirt('openshift-cnv', 'v1.6.0') : kubevirt('kubevirt', 'v1.6.0');
    };
    const { said, after, lines } = await check({ ...GOOD, list }, 9);
    expect(said).toEqual([
      expect.stringContaining('openshift-cnv'),
      expect.stringContaining('openshift-cnv'),
    ]);
    expect(after).toBeUndefined();
    expect(lines.filter((line) => line.startsWith('error'))).toHaveLength(1);
  });

  test('reads the service account by name, in KUBEVIRT_NAMESPACE', async () => {
    const get: Answers['get'] = ({ kind }, at) => {
      if (kind !== 'ServiceAccount') return knative('1.19.0');
      expect(at).toEqual({ namespace: 'kubevirt', name: 'kubevirt-controller' });
      return gone();
    };
    const { after } = await check({ ...GOOD, get });
    expect(after).toContain('no such service account');
  });
});
