import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aVmi } from '../../test/support/builders/kubevirt.ts';
import { inNamespace, metadata } from '../../test/support/builders/object.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { SYSTEM_NAMESPACE, WEBHOOK } from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { ResourceType } from '../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../functions/kubernetes/errors.ts';
import {
  CLUSTER_VMMRQS,
  DEFINITIONS,
  KUBEVIRTS,
  MIGRATIONS,
  MTQS,
  NAMESPACES,
  PROGRESSES,
  VMIS,
  VMMRQS,
} from '../../functions/kubernetes/resources.ts';
import { systemClock } from '../../functions/runtime/clock.ts';
import { ApiServerAddresses } from '../admission/api-server-addresses.ts';
import { MaintenanceTracker } from '../maintenance/maintenance-tracker.ts';
import { CompatibilityCheck } from '../observability/compatibility-check.ts';
import { CERTIFICATES_SECRET } from '../tls/certificates.ts';
import { SECRETS, SERVICE_ACCOUNTS, VALIDATING_WEBHOOK_CONFIGURATIONS } from '../tls/resources.ts';
import { Rotation } from '../tls/rotation.ts';
import { ClusterWatch } from './cluster-watch.ts';

/** The lists of locked namespaces and of raised quotas, every ten seconds (docs/scale.md#idle). */
const MAX_A_MINUTE = 12;
const MINUTES = 10;
const SETTINGS = {
  ...{ STALL_SECONDS: 3, OVERDUE_SECONDS: 5, SWEEP_SECONDS: 30 },
  ...{ KUBEVIRT_NAMESPACE: 'kubevirt', KUBEVIRT_CONTROLLER: 'kubevirt-controller' },
  ...{ OLDEST_KUBERNETES: '1.30', CA_LEAD_MS: 60_000 },
  ...{ CA_SECONDS: 365 * 86_400, CERTIFICATE_SECONDS: 90 * 86_400 },
};

let cluster: WatchedCluster;
let watch: ClusterWatch;
let stop: AbortController;
let running: Promise<unknown>;

const clusterScoped = (name: string, labels: Record<string, string> = {}): KubernetesObject => {
  const { namespace: _, ...own } = metadata(name);
  return { metadata: { ...own, labels } };
};

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  cluster = new WatchedCluster();
  stop = new AbortController();
  const webhooks = [WEBHOOK.locked, WEBHOOK.keys].map((name) => ({ name, clientConfig: {} }));
  cluster.put(VALIDATING_WEBHOOK_CONFIGURATIONS, {
    ...clusterScoped(WEBHOOK.configuration),
    ...{ webhooks },
  });
  const secret = { metadata: { ...metadata(CERTIFICATES_SECRET), namespace: SYSTEM_NAMESPACE } };
  cluster.put(SECRETS, { ...secret, ...{ type: 'Opaque' } });
  cluster.put(SERVICE_ACCOUNTS, inNamespace('kubevirt')({ metadata: metadata('kubevirt-controller') }));
});

afterEach(async () => {
  stop.abort();
  await running;
  jest.useRealTimers();
});

/** All parts of the guard that read without a request from others. */
async function start(): Promise<void> {
  const reads = cluster.asCluster();
  const api = {
    ...reads,
    version: () => Promise.resolve('v1.34.1'),
    replace: async <T extends KubernetesObject>(type: ResourceType<T>, object: T) => {
      cluster.put(type, object);
      return reads.get(type, object.metadata);
    },
  };
  const parts = { cluster: api, clock: systemClock, log: () => undefined };
  const post = (): Promise<void> => Promise.resolve();
  const repair = (): Promise<void> => Promise.resolve();
  const silentFunctions = (): Promise<string[]> => Promise.reject(new Error('must not be asked'));
  watch = new ClusterWatch({
    ...{ ...parts, post, repair, silentFunctions },
    ...{ random: () => 0.5, settings: SETTINGS },
  });
  const kubevirtNamespace = SETTINGS.KUBEVIRT_NAMESPACE;
  const tracker = new MaintenanceTracker({ ...parts, post, kubevirtNamespace, view: () => watch.cluster() });
  const rotation = new Rotation(SETTINGS, { ...parts, serve: () => undefined });
  const { signal } = stop;
  running = Promise.all([
    ...[watch, tracker, rotation, new CompatibilityCheck(SETTINGS, parts)].map((part) => part.run(signal)),
    new ApiServerAddresses(api, parts.log).run(signal),
  ]);
  // The first certificate is issued by a module that is loaded then.
  for (let turn = 0; rotation.problem() !== undefined && turn < 1_000; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await jest.advanceTimersByTimeAsync(1_000);
  }
  expect([rotation.problem(), watch.cluster()]).toEqual([undefined, expect.anything()]);
}

/** The requests of each of the next minutes, while the API server sends bookmarks. */
async function minutes(): Promise<string[][]> {
  const all: string[][] = [];
  for (let minute = 0; minute < MINUTES; minute += 1) {
    const before = cluster.asked.length;
    cluster.put({ ...NAMESPACES, plural: 'others' }, clusterScoped('other'));
    const watched = cluster.asked.flatMap((asked) => /^watch (\S+)/.exec(asked)?.[1] ?? []);
    for (const plural of new Set(watched)) cluster.bookmark({ ...NAMESPACES, plural });
    await jest.advanceTimersByTimeAsync(60_000);
    all.push(cluster.asked.slice(before));
  }
  return all;
}

const OPTIONAL = [MTQS, CLUSTER_VMMRQS, KUBEVIRTS, MIGRATIONS, VMIS, PROGRESSES];
const missing = new ApiError('list', { code: 404, reason: 'NotFound' }, new Date());

function deployKubeVirt(): void {
  const status = { observedKubeVirtVersion: 'v1.6.0' };
  cluster.put(KUBEVIRTS, { ...inNamespace('kubevirt')({ metadata: metadata('kubevirt') }), ...{ status } });
}

const labelled = { 'app.kubernetes.io/version': '1.19.0' };
const knative = (labels: Record<string, string>): void => {
  for (const name of ['knative-serving', 'knative-eventing'])
    cluster.put(NAMESPACES, clusterScoped(name, labels));
};

describe(`the idle guard makes at most ${String(MAX_A_MINUTE)} requests a minute`, () => {
  test.each<[string, () => void]>([
    [
      'with everything that it supports',
      (): void => {
        knative(labelled);
        deployKubeVirt();
      },
    ],
    [
      'without the incumbent’s kind, and with Knative without labels',
      (): void => {
        knative({});
        deployKubeVirt();
        cluster.failLists(MTQS, missing);
      },
    ],
    [
      'without any kind that may be missing',
      (): void => OPTIONAL.forEach((type) => cluster.failLists(type, missing)),
    ],
    [
      'with 200 namespaces and 500 VMs',
      (): void => {
        knative({});
        deployKubeVirt();
        cluster.failLists(MTQS, missing);
        for (let index = 0; index < 200; index += 1)
          cluster.put(VMMRQS, aVmmrq(inNamespace(`tenant${String(index)}`)));
        for (let index = 0; index < 500; index += 1)
          cluster.put(VMIS, inNamespace(`tenant${String(index % 200)}`)(aVmi(`vm${String(index)}`)));
      },
    ],
  ])('%s', async (_, install) => {
    install();
    await start();
    for (const asked of await minutes()) {
      const counted = asked.length <= MAX_A_MINUTE ? [] : asked;
      expect(counted).toEqual([]);
    }
  });
});

test('the idle guard notices a kind at once that is installed later', async () => {
  OPTIONAL.forEach((type) => cluster.failLists(type, missing));
  await start();
  await minutes();
  expect(watch.incumbentFor('tenant')).toEqual({ kind: 'absent' });
  cluster.restoreWatch(MTQS);
  cluster.put(MTQS, clusterScoped('mtq'));
  cluster.put(DEFINITIONS, clusterScoped('mtqs.mtq.kubevirt.io'));
  await jest.advanceTimersByTimeAsync(0);
  expect(watch.incumbentFor('tenant')).toMatchObject({ kind: 'present' });
});
