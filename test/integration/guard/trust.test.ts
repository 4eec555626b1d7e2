import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { SYSTEM_NAMESPACE, WEBHOOK } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ignoreNotFound, Unreachable } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { fingerprintsOf, trustedAt } from '../../../webhook/tls/ca-bundle.ts';
import { CERTIFICATES_SECRET } from '../../../webhook/tls/certificates.ts';
import {
  SECRETS,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type Secret,
  type ValidatingWebhookConfiguration,
} from '../../../webhook/tls/resources.ts';
import { Rotation } from '../../../webhook/tls/rotation.ts';
import type { KeyPair } from '../../../functions/server/serve.ts';
import { askUntil } from '../../support/eventually.ts';

/**
 * Users and tools change the guard's Secret and webhooks while it runs. Each replica here runs as in the guard's process.
 * The tests check what each replica serves, which authorities the webhooks trust, and whether the replica is ready.
 */
const SETTINGS = { CA_SECONDS: 3_600, CERTIFICATE_SECONDS: 3_600, CA_LEAD_MS: 300 };
const SECRET = { namespace: SYSTEM_NAMESPACE, name: CERTIFICATES_SECRET };
const CONFIGURATION = { name: WEBHOOK.configuration };

let controlPlane: ControlPlane;
let admin: Cluster;
let manifest: ValidatingWebhookConfiguration;
const stopping: AbortController[] = [];
const running: Promise<void>[] = [];

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig);
  await admin.create(NAMESPACES, { metadata: { name: SYSTEM_NAMESPACE } });
  const manifests = await render('config/webhook');
  const found = manifests.find(({ kind }) => kind === 'ValidatingWebhookConfiguration');
  manifest = found as ValidatingWebhookConfiguration;
});

afterAll(async () => {
  await controlPlane.stop();
});

/** Makes the Secret as the manifests have it. */
async function resetSecret(): Promise<void> {
  await ignoreNotFound(admin.delete(SECRETS, SECRET));
  await admin.create(SECRETS, { metadata: SECRET, type: 'Opaque' });
}

beforeEach(async () => {
  await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, manifest);
  await resetSecret();
});

afterEach(async () => {
  for (const replica of stopping.splice(0)) replica.abort();
  await Promise.all(running.splice(0));
  await ignoreNotFound(admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, CONFIGURATION));
  await ignoreNotFound(admin.delete(SECRETS, SECRET));
});

interface Replica {
  readonly rotation: Rotation;
  /** The certificates that it served, in order; it serves the last one now. */
  readonly served: (KeyPair & { ca?: string })[];
}

function start(cluster: Cluster = admin): Replica {
  const served: Replica['served'] = [];
  const log = (): void => undefined;
  const rotation = new Rotation(SETTINGS, { cluster, log, serve: (pair) => void served.push(pair) });
  const stop = new AbortController();
  stopping.push(stop);
  running.push(rotation.run(stop.signal));
  return { rotation, served };
}

/** Polls every few milliseconds, because the state is in this process. */
const until = (what: string, holds: () => boolean | Promise<boolean>): Promise<boolean> =>
  askUntil(
    what,
    async () => {
      await delay(5);
      return holds();
    },
    (answer) => answer,
  );

async function started(count: number): Promise<Replica[]> {
  const replicas = Array.from({ length: count }, () => start());
  await until('all are ready', () => replicas.every(({ rotation }) => rotation.problem() === undefined));
  return replicas;
}

const current = ({ served }: Replica): KeyPair & { ca?: string } => served.at(-1) ?? { cert: '', key: '' };
const isTrusted = async ({ ca = '' }: { ca?: string }): Promise<boolean> => {
  const trusted = trustedAt(await readConfiguration());
  return [...fingerprintsOf(ca)].every((print) => trusted.has(print));
};
const readConfiguration = async (): Promise<ValidatingWebhookConfiguration> =>
  (await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, CONFIGURATION)).object;
const readSecret = async (): Promise<Secret> => (await admin.get(SECRETS, SECRET)).object;

describe('the Secret', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['made again, as by a new installation', resetSecret],
    [
      'garbled',
      async () => {
        const secret = await readSecret();
        return admin.replace(SECRETS, { ...secret, data: { ...secret.data, 'tls.crt': 'Z2FyYmxlZA==' } });
      },
    ],
    [
      'emptied',
      async () => admin.replace(SECRETS, { ...(await readSecret()), data: { 'tls.crt': '', 'tls.key': '' } }),
    ],
  ])(
    '%s while two replicas run: another certificate, and never one that is not trusted',
    async (_what, act) => {
      const replicas = await started(2);
      const before = replicas.map(current);
      expect(before[0]?.cert).toBe(before[1]?.cert);
      const untrusted: string[] = [];
      await act();
      await until('both serve another', async () => {
        for (const replica of replicas) {
          if (!(await isTrusted(current(replica)))) untrusted.push(current(replica).cert);
          expect(replica.rotation.problem()).toBeUndefined();
        }
        return replicas.every((replica) => current(replica).cert !== before[0]?.cert);
      });
      expect(untrusted).toEqual([]);
      expect(current(replicas[0] as Replica).cert).toBe(current(replicas[1] as Replica).cert);
      expect(Buffer.from((await readSecret()).data?.['tls.crt'] ?? '', 'base64').toString()).toBe(
        current(replicas[0] as Replica).cert,
      );
    },
  );

  test('deleted: the replicas keep their certificate, make no other one, and go on when it is back', async () => {
    const [replica] = (await started(1)) as [Replica];
    const before = current(replica);
    await admin.delete(SECRETS, SECRET);
    await empty();
    await until('it is trusted again', () => isTrusted(before));
    expect(replica.served).toEqual([before]);
    await expect(readSecret()).rejects.toMatchObject({ code: 404 });
    await resetSecret();
    await until('it serves another', () => replica.served.length === 2);
  });

  test('a replica that cannot read it keeps its certificate, and the bundle keeps its authority', async () => {
    const [ahead] = (await started(1)) as [Replica];
    let cut = false;
    const behind = start({
      ...methodsOf(admin),
      get: (type, at) =>
        cut && type.kind === 'Secret' ? Promise.reject(new Unreachable('cut')) : admin.get(type, at),
    });
    await until('it is ready', () => behind.rotation.problem() === undefined);
    cut = true;
    await resetSecret();
    await until('the other serves a new one', () => ahead.served.length === 2);
    expect(behind.served).toHaveLength(1);
    expect(current(behind).ca).not.toBe(current(ahead).ca);
    expect(await isTrusted(current(behind))).toBe(true);
    // This must also hold when a user empties the bundle at that moment.
    await empty();
    await until(
      'both are trusted',
      async () => (await isTrusted(current(behind))) && isTrusted(current(ahead)),
    );
    await until('both are ready', () =>
      [ahead, behind].every(({ rotation }) => rotation.problem() === undefined),
    );
    cut = false;
    await until('it follows', () => current(behind).cert === current(ahead).cert);
  });
});

describe('the webhooks', () => {
  test('emptied by an apply: one of two replicas fills them again at once', async () => {
    const replicas = await started(2);
    const since = performance.now();
    await empty();
    await until('the bundle is filled', () => isTrusted(current(replicas[0] as Replica)));
    process.stdout.write(`bundle filled again after ${(performance.now() - since).toFixed(0)} ms\n`);
    await until('both are ready', () => replicas.every(({ rotation }) => rotation.problem() === undefined));
    expect(replicas.map(({ served }) => served.length)).toEqual([1, 1]);
  });

  test('a replica is not ready while it cannot fill the bundle', async () => {
    let refuses = false;
    const replica = start({
      ...methodsOf(admin),
      replace: (type, object, options) =>
        refuses ? Promise.reject(new Unreachable('refused')) : admin.replace(type, object, options),
    });
    await until('it is ready', () => replica.rotation.problem() === undefined);
    refuses = true;
    await empty();
    await until('it is not ready', () => replica.rotation.problem() !== undefined);
    refuses = false;
    await until('it is ready again', () => replica.rotation.problem() === undefined);
    expect(await isTrusted(current(replica))).toBe(true);
  });

  test('a starting replica is not ready before it has read them itself, although its watch shows its authority in the bundle', async () => {
    await started(1);
    const reading = Promise.withResolvers<undefined>();
    const replica = start({
      ...methodsOf(admin),
      get: async (type, at) => {
        if (type.kind === VALIDATING_WEBHOOK_CONFIGURATIONS.kind) await reading.promise;
        return admin.get(type, at);
      },
    });
    const seen = new Set<string | undefined>();
    try {
      await until('it knows that it is trusted', () => {
        seen.add(replica.rotation.problem());
        return seen.has(undefined) || seen.has('the webhooks have not been read yet');
      });
    } finally {
      reading.resolve(undefined);
    }
    expect(seen).not.toContain(undefined);
    await until('it is ready', () => replica.rotation.problem() === undefined);
  });

  test('deleted and applied again: not ready, with the reason; then ready', async () => {
    const [replica] = (await started(1)) as [Replica];
    await admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, CONFIGURATION);
    await until('it says so', () => /apply config\/webhook/.test(replica.rotation.problem() ?? ''));
    await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, manifest);
    await until('it is ready again', () => replica.rotation.problem() === undefined);
    expect(replica.served).toHaveLength(1);
  });

  test('a guard that starts before they exist waits for them', async () => {
    await admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, CONFIGURATION);
    const replica = start();
    await until('it says so', () => /apply config\/webhook/.test(replica.rotation.problem() ?? ''));
    await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, manifest);
    await until('it is ready', () => replica.rotation.problem() === undefined);
  });

  test('a third-party webhook in our configuration, and every other field, stay as they are', async () => {
    const [ours] = manifest.webhooks ?? [];
    const foreign = {
      ...ours,
      name: 'somebody.example.com',
      clientConfig: { url: 'https://somebody.example.com/' },
      failurePolicy: 'Ignore',
    };
    const annotated = await readConfiguration();
    annotated.metadata.annotations = { note: 'hello' };
    annotated.webhooks = [foreign, ...(annotated.webhooks ?? [])];
    const before = (await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, annotated)).object;
    const [replica] = (await started(1)) as [Replica];
    const after = await readConfiguration();
    expect(await isTrusted(current(replica))).toBe(true);
    expect(after.metadata.annotations).toEqual({ note: 'hello' });
    expect(after.webhooks?.[0]).toEqual(before.webhooks?.[0]);
    expect(withoutBundles(after)).toEqual(withoutBundles(before));
  });

  test("with cert-manager's injector only the injector fills the bundle; ready once it has our authority", async () => {
    const injected = await readConfiguration();
    injected.metadata.annotations = { 'cert-manager.io/inject-ca-from-secret': 'mtq-system/mtq-guard-certs' };
    await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, injected);
    const replica = start();
    await until('it serves', () => replica.served.length === 1);
    await until('it has looked', () => replica.rotation.problem()?.includes('do not trust') === true);
    const untouched = await readConfiguration();
    expect(trustedAt(untouched)).toEqual(new Set());

    const caBundle = Buffer.from(current(replica).ca ?? '').toString('base64');
    const webhooks = (untouched.webhooks ?? []).map((webhook) => ({
      ...webhook,
      clientConfig: { ...webhook.clientConfig, caBundle },
    }));
    await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...untouched, webhooks });
    await until('it is ready', () => replica.rotation.problem() === undefined);
  });
});

/** Writes as `kubectl replace` of the manifest does, or a GitOps tool that owns the whole object. */
async function empty(): Promise<void> {
  const { metadata } = await readConfiguration();
  const { name, resourceVersion } = metadata;
  const emptied = { ...manifest, metadata: { name, resourceVersion } as KubernetesObject['metadata'] };
  await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, emptied);
}

const withoutBundles = ({ webhooks = [] }: ValidatingWebhookConfiguration): unknown =>
  webhooks.map((webhook) => ({ ...webhook, clientConfig: { ...webhook.clientConfig, caBundle: '' } }));

const methodsOf = (cluster: Cluster): Cluster => ({
  get: cluster.get.bind(cluster),
  list: cluster.list.bind(cluster),
  create: cluster.create.bind(cluster),
  replace: cluster.replace.bind(cluster),
  patch: cluster.patch.bind(cluster),
  delete: cluster.delete.bind(cluster),
  watch: cluster.watch.bind(cluster),
  at: cluster.at.bind(cluster),
});
