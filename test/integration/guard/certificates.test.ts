import { setTimeout as sleep } from 'node:timers/promises';
import { FairTurns } from '../../../functions/server/fair-turns.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { LABEL, PROOF_QUOTA, SYSTEM_NAMESPACE, WEBHOOK } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { ApiError, ignoreNotFound } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import type { AdmissionRequest, Decision } from '../../../webhook/admission/admission.ts';
import { ensureCaBundle, fingerprintsOf, mergeBundle } from '../../../webhook/tls/ca-bundle.ts';
import { CERTIFICATES_SECRET, ensureCertificate } from '../../../webhook/tls/certificates.ts';
import { newDeadLetters } from '../../../webhook/observability/dead-letter.ts';
import { healthApp } from '../../../webhook/observability/health-app.ts';
import { needsRenewal, SERVING_NAMES } from '../../../webhook/tls/renewal.ts';
import {
  SECRETS,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type Secret,
  type ValidatingWebhookConfiguration,
} from '../../../webhook/tls/resources.ts';
import { reviewApp } from '../../../webhook/admission/review-app.ts';
import { listen, type GuardServer } from '../../../webhook/admission/server.ts';
import { issueAuthority, issueServing } from '../../../webhook/tls/x509.ts';

const SERVICES: ResourceType<KubernetesObject & { spec: unknown }> = {
  apiVersion: 'v1',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
};
const TENANT = 'tenant';
const SECRET_AT = { namespace: SYSTEM_NAMESPACE, name: CERTIFICATES_SECRET };
const DAY_MS = 86_400_000;
const TIMEOUT_MS = 20_000;
const log = (): void => undefined;
const lifetimes = { CA_SECONDS: 365 * 86_400, CERTIFICATE_SECONDS: 90 * 86_400 };

let controlPlane: ControlPlane;
let admin: Cluster;

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig);
  await admin.create(NAMESPACES, { metadata: { name: SYSTEM_NAMESPACE } });
  await admin.create(NAMESPACES, { metadata: { name: TENANT, labels: { [LABEL.locked]: 'true' } } });
});

afterAll(async () => {
  await controlPlane.stop();
});

/** Replaces the Secret; without arguments as the manifests have it. */
async function resetSecret({
  type = 'Opaque',
  ...more
}: Pick<Secret, 'type' | 'data'> = {}): Promise<Secret> {
  await ignoreNotFound(admin.delete(SECRETS, SECRET_AT));
  return (await admin.create(SECRETS, { ...more, metadata: SECRET_AT, type })).object;
}

beforeEach(async () => {
  await resetSecret();
  await ignoreNotFound(admin.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK.configuration }));
});

describe('a refusal by the guard, as a client of the API server receives it', () => {
  let server: GuardServer;
  let decide: (request: AdmissionRequest) => Promise<Decision>;

  beforeEach(async () => {
    const certificate = await ensureCertificate({ cluster: admin, now: new Date(), log, lifetimes });
    server = await listen({
      reviewApp: reviewApp({ turns: new FairTurns(), review: (request) => decide(request), log }),
      healthApp: healthApp({
        turns: new FairTurns(),
        ready: () => undefined,
        deadLetters: newDeadLetters(log),
      }),
      tlsPort: 0,
      port: 0,
      certificate,
    });
    await ignoreNotFound(admin.delete(SERVICES, { namespace: SYSTEM_NAMESPACE, name: 'mtq-guard' }));
    await admin.create(SERVICES, {
      metadata: { namespace: SYSTEM_NAMESPACE, name: 'mtq-guard' },
      spec: { type: 'ExternalName', externalName: 'localhost' },
    });
    await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, configuration({ port: server.tlsPort }));
    await ensureCaBundle({ cluster: admin, ca: certificate.ca ?? '', now: new Date() });
  });

  test('is 403 with the token in details.causes for the proof, and 503 for a review that fails', async () => {
    const causes = [{ reason: WEBHOOK.locked, message: 'token-1' }];
    const seen: AdmissionRequest[] = [];
    decide = (request) => {
      seen.push(request);
      const refusal = { allowed: false, code: 403, reason: 'Forbidden', message: 'wait', causes } as const;
      return Promise.resolve(refusal);
    };
    try {
      // The API server needs a moment to see the configuration and its CA bundle.
      await eventually(async () => {
        await expect(proof()).rejects.toMatchObject({ code: 403 });
      });
      const refused = await proof().catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ApiError);
      expect(refused).toMatchObject({
        code: 403,
        reason: 'Forbidden',
        status: {
          message: `admission webhook "${WEBHOOK.locked}" denied the request: wait`,
          details: { causes },
        },
      });
      expect(seen.at(-1)).toMatchObject({
        namespace: TENANT,
        name: PROOF_QUOTA,
        operation: 'CREATE',
        dryRun: true,
        resource: { group: '', version: 'v1', resource: 'resourcequotas' },
        userInfo: { username: 'admin', groups: ['system:masters', 'system:authenticated'] },
        object: { metadata: { name: PROOF_QUOTA }, spec: { hard: { pods: '0' } } },
        oldObject: null,
      });

      decide = () => Promise.reject(new Error('no answer from the API server'));
      const failed = await proof().catch((error: unknown) => error);
      expect(failed).toMatchObject({ code: 503, reason: 'ServiceUnavailable' });
      expect((failed as ApiError).status.message).toMatch(/could not read namespace tenant.*try again/);

      decide = () => Promise.resolve({ allowed: true });
      expect((await proof()).object.metadata.name).toBe(PROOF_QUOTA);
    } finally {
      await server.close();
    }

    // With failurePolicy Fail, an unreachable webhook means a refusal.
    await expect(proof()).rejects.toMatchObject({ code: 500, reason: 'InternalError' });
  });
});

describe('ensureCertificate (F16)', () => {
  test('gives two replicas that start together one Secret and the same certificate', async () => {
    const together = meetingBeforeWrite(admin, 2);
    const [one, other] = await Promise.all(
      [1, 2].map(() => ensureCertificate({ cluster: together, now: new Date(), log, lifetimes })),
    );
    expect(one).toEqual(other);
    expect(one).toMatchObject({ managedBy: 'mtq-guard' });

    const secret = await readSecret();
    expect(secret.type).toBe('Opaque');
    expect(Object.keys(secret.data ?? {}).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
    expect(decoded(secret, 'tls.crt')).toBe(one?.cert);
    expect(await ensureCertificate({ cluster: admin, now: new Date(), log, lifetimes })).toEqual(one);
    expect((await readSecret()).metadata.resourceVersion).toBe(secret.metadata.resourceVersion);
  });

  test('renews once for two replicas, by the same authority, and keeps the rest of the Secret', async () => {
    const first = await ensureCertificate({ cluster: admin, now: new Date(), log, lifetimes });
    const labelled = await readSecret();
    labelled.metadata.labels = { owner: 'somebody' };
    labelled.data = { ...labelled.data, other: 'eA==' };
    await admin.replace(SECRETS, labelled);

    const now = new Date(Date.now() + 80 * DAY_MS);
    const together = meetingBeforeWrite(admin, 2);
    const [one, other] = await Promise.all(
      [1, 2].map(() => ensureCertificate({ cluster: together, now, log, lifetimes })),
    );
    expect(one).toEqual(other);
    expect(one?.ca).toBe(first.ca);
    expect(one?.cert).not.toBe(first.cert);
    expect(await readSecret()).toMatchObject({
      metadata: { labels: { owner: 'somebody' } },
      data: { other: 'eA==' },
    });
  });

  test.each<[string, Record<string, string>]>([
    ['empty', { 'tls.crt': '', 'tls.key': '' }],
    ['no PEM', { 'tls.crt': 'eA==', 'tls.key': 'eA==', 'ca.crt': 'eA==' }],
  ])('a Secret that is %s is filled', async (_, data) => {
    await resetSecret({ data });
    const { cert } = await ensureCertificate({ cluster: admin, now: new Date(), log, lifetimes });
    const secret = await readSecret();
    expect(decoded(secret, 'tls.crt')).toBe(cert);
    const pair = (name: string): { cert: string; key: string } => ({
      cert: decoded(secret, `${name}.crt`),
      key: decoded(secret, `${name}.key`),
    });
    expect(needsRenewal({ authority: pair('ca'), serving: pair('tls') }, new Date())).toBeUndefined();
  });

  test("uses cert-manager's certificate and never writes it, even close to expiry; an unusable one is an error", async () => {
    const validFor = (days: number): { notBefore: Date; notAfter: Date } => ({
      notBefore: new Date(Date.now() - 89 * DAY_MS),
      notAfter: new Date(Date.now() + days * DAY_MS),
    });
    const authority = issueAuthority(validFor(365));
    const serving = issueServing([SERVING_NAMES[0]], validFor(1), authority);
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    await admin.delete(SECRETS, SECRET_AT);
    const created = await admin.create(SECRETS, {
      metadata: { ...SECRET_AT, annotations: { 'cert-manager.io/certificate-name': 'guard' } },
      type: 'kubernetes.io/tls',
      data: {
        'ca.crt': base64(authority.cert),
        'tls.crt': base64(serving.cert),
        'tls.key': base64(serving.key),
      },
    });

    expect(await ensureCertificate({ cluster: admin, now: new Date(), log, lifetimes })).toEqual({
      ...serving,
      ca: authority.cert,
      managedBy: 'cert-manager',
    });
    const later = new Date(Date.now() + 2 * DAY_MS);
    await expect(ensureCertificate({ cluster: admin, now: later, log, lifetimes })).rejects.toThrow(
      /cert-manager's \(Certificate guard\) and cannot be used: Expired/,
    );
    expect((await readSecret()).metadata.resourceVersion).toBe(created.object.metadata.resourceVersion);
  });
});

describe('a Secret that the guard may not use', () => {
  const ensured = (): Promise<unknown> =>
    ensureCertificate({ cluster: admin, now: new Date(), log, lifetimes });

  test('missing: it makes none, and says what to do', async () => {
    await admin.delete(SECRETS, SECRET_AT);
    await expect(ensured()).rejects.toThrow(
      /^Secret mtq-system\/mtq-guard-certs is missing: apply the manifests again/,
    );
    await expect(readSecret()).rejects.toMatchObject({ code: 404 });
  });

  test('of another type, such as one that gets a service account’s token: it writes nothing to it', async () => {
    const { metadata } = await resetSecret({ type: 'example.com/other' });
    await expect(ensured()).rejects.toThrow(
      /has type example\.com\/other: delete it, and apply the manifests again/,
    );
    expect((await readSecret()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  });
});

describe('ensureCaBundle (F16)', () => {
  const validFor = (days: number): string => {
    const [notBefore, notAfter] = [Date.now() - 9 * DAY_MS, Date.now() + days * DAY_MS];
    return issueAuthority({ notBefore: new Date(notBefore), notAfter: new Date(notAfter) }).cert;
  };
  const bundle = (...pems: string[]): string => Buffer.from(pems.join('')).toString('base64');
  const bundles = async (): Promise<(string | undefined)[]> =>
    (await readConfiguration()).webhooks?.map(({ clientConfig }) => clientConfig.caBundle) ?? [];

  test('appends to the valid authorities at both webhooks, and keeps everything else', async () => {
    const [older, ended, ca] = [validFor(1), validFor(-1), validFor(365)];
    await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, configuration({ caBundle: bundle(ended, older) }));
    const before = await readConfiguration();

    const written = await ensureCaBundle({ cluster: admin, ca, now: new Date() });
    expect(written.before).toEqual(fingerprintsOf(older + ended));
    expect(written.after).toEqual(fingerprintsOf(older + ca));
    expect(await bundles()).toEqual([bundle(older, ca), bundle(older, ca)]);
    const after = await readConfiguration();
    expect(withoutBundles(after)).toEqual(withoutBundles(before));

    const again = await ensureCaBundle({ cluster: admin, ca, now: new Date() });
    expect(again.after).toBe(again.before);
    expect((await readConfiguration()).metadata.resourceVersion).toBe(after.metadata.resourceVersion);
  });

  test('keeps the authorities of two replicas that write at the same time', async () => {
    await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, configuration({}));
    const authorities = [validFor(365), validFor(365)];
    const together = meetingBeforeWrite(admin, 2);
    await Promise.all(authorities.map((ca) => ensureCaBundle({ cluster: together, ca, now: new Date() })));
    for (const current of await bundles()) {
      expect(current).toHaveLength(bundle(...authorities).length);
      for (const ca of authorities)
        expect(mergeBundle({ bundle: current ?? '', ca }, new Date())).toBe(current);
    }
  });

  test("leaves a bundle alone that cert-manager's injector fills", async () => {
    const annotations = { 'cert-manager.io/inject-ca-from': 'mtq-system/guard' };
    await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, configuration({ annotations }));
    const bundle = await ensureCaBundle({ cluster: admin, ca: validFor(365), now: new Date() });
    expect(bundle.after).toEqual(new Set());
    expect(await bundles()).toEqual([undefined, undefined]);
  });

  test('reports what to apply when the configuration is missing or incomplete', async () => {
    const trust = { cluster: admin, ca: validFor(365), now: new Date() };
    await expect(ensureCaBundle(trust)).rejects.toThrow(
      /ValidatingWebhookConfiguration mtq-guard is not there.*apply config\/webhook/,
    );
    const half = configuration({});
    await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...half, webhooks: half.webhooks.slice(1) });
    await expect(ensureCaBundle(trust)).rejects.toThrow('has no webhook locked.mtq.kubevirt.io');
  });
});

/** The dry run by which `raise` proves that the guard is in force. */
const proof = (): ReturnType<typeof admin.create> =>
  admin.create(
    RESOURCE_QUOTAS,
    { metadata: { name: PROOF_QUOTA, namespace: TENANT }, spec: { hard: { pods: '0' } } },
    { dryRun: true },
  );

interface Configured {
  readonly port?: number;
  readonly caBundle?: string;
  readonly annotations?: Record<string, string>;
}

type NewConfiguration = New<ValidatingWebhookConfiguration> & { webhooks: { name: string }[] };

/** Both webhooks with the rules that these tests need; the real ones are in config/webhook. */
function configuration({ port = 443, caBundle, annotations }: Configured): NewConfiguration {
  const service = { namespace: SYSTEM_NAMESPACE, name: 'mtq-guard', path: '/review', port };
  const webhook = (name: string, resource: string, matchLabels: Record<string, string>): object => ({
    name,
    clientConfig: { service, ...(caBundle === undefined ? {} : { caBundle }) },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource] }],
    namespaceSelector: { matchLabels },
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 3,
  });
  return {
    metadata: { name: WEBHOOK.configuration, ...(annotations === undefined ? {} : { annotations }) },
    webhooks: [
      webhook(WEBHOOK.locked, 'resourcequotas', { [LABEL.locked]: 'true' }),
      webhook(WEBHOOK.keys, 'namespaces', { 'nobody-has': 'this' }),
    ] as ValidatingWebhookConfiguration['webhooks'] & object,
  };
}

const readConfiguration = async (): Promise<ValidatingWebhookConfiguration> =>
  (await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK.configuration })).object;

const withoutBundles = ({ webhooks = [] }: ValidatingWebhookConfiguration): unknown =>
  webhooks.map((webhook) => ({ ...webhook, clientConfig: { ...webhook.clientConfig, caBundle: '' } }));

const readSecret = async (): Promise<Secret> => (await admin.get(SECRETS, SECRET_AT)).object;

const decoded = (secret: Secret, key: string): string =>
  Buffer.from(secret.data?.[key] ?? '', 'base64').toString();

/** Holds the first writes until all have read, so that all but one conflict. Later writes pass. */
function meetingBeforeWrite(cluster: Cluster, count: number): Cluster {
  const met = Promise.withResolvers<undefined>();
  let arrived = 0;
  const handshake = async (): Promise<void> => {
    arrived += 1;
    if (arrived === count) met.resolve(undefined);
    await met.promise;
  };
  return {
    get: cluster.get.bind(cluster),
    list: cluster.list.bind(cluster),
    at: cluster.at.bind(cluster),
    create: async (...args) => {
      await handshake();
      return cluster.create(...args);
    },
    replace: async (...args) => {
      await handshake();
      return cluster.replace(...args);
    },
    patch: cluster.patch.bind(cluster),
    delete: cluster.delete.bind(cluster),
    watch: cluster.watch.bind(cluster),
  };
}

/** Retries until the expectation holds; fails with its last error. */
async function eventually(check: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
}
