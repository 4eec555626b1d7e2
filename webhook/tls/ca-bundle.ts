import { X509Certificate } from 'node:crypto';
import { WEBHOOK } from '../../functions/domain/names.ts';
import { retryOnConflict } from '../../functions/kubernetes/attempts.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { isNotFound } from '../../functions/kubernetes/errors.ts';
import {
  MUTATING_WEBHOOK_CONFIGURATIONS,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type ValidatingWebhook,
  type ValidatingWebhookConfiguration,
} from './resources.ts';

export interface Trust {
  readonly cluster: Cluster;
  /** PEM of every authority that the API server must trust, newest last. */
  readonly ca: string;
  readonly now: Date;
}

/** SHA-256 fingerprints of certificates. */
export type Fingerprints = ReadonlySet<string>;

/** The authorities that the API server trusts at both webhooks, before and after an update. */
export interface Bundle {
  readonly before: Fingerprints;
  /** The same set as `before` without an update. */
  readonly after: Fingerprints;
  readonly configuration: ValidatingWebhookConfiguration;
}

/** The API server cannot call the guard; the message names the manifest to apply. */
export class MissingWebhooks extends Error {
  override readonly name = 'MissingWebhooks';
}

/** Webhooks of one configuration. */
interface Webhooks {
  readonly type: ResourceType<ValidatingWebhookConfiguration>;
  readonly configuration: string;
  readonly names: readonly string[];
  /** The path of their manifest. */
  readonly manifest: string;
}

const OURS: Webhooks = {
  type: VALIDATING_WEBHOOK_CONFIGURATIONS,
  configuration: WEBHOOK.configuration,
  names: [WEBHOOK.locked, WEBHOOK.keys],
  manifest: 'config/webhook (part of config/default)',
};

/** The webhook of live migrations between clusters. */
export const LIVE_WEBHOOKS: Webhooks = {
  type: MUTATING_WEBHOOK_CONFIGURATIONS,
  configuration: WEBHOOK.liveConfiguration,
  names: [WEBHOOK.live],
  manifest: 'config/components/live-migration',
};

/** cert-manager's cainjector fills the bundle of objects with one of these annotations, and would undo our changes. */
const INJECTED = [
  'cert-manager.io/inject-ca-from',
  'cert-manager.io/inject-ca-from-secret',
  'cert-manager.io/inject-apiserver-ca',
];
const ATTEMPTS = 5;
/**
 * A certificate never outlives its authority, so the guard drops expired authorities. A Secret that is deleted again and again
 * produces more authorities than this; the guard then drops the oldest, because the object must not grow without limit.
 */
const MAX_AUTHORITIES = 16;

/**
 * Makes the API server trust `ca` at the webhooks, by default at both of the ValidatingWebhookConfiguration mtq-guard. It appends, because another
 * replica may still serve a certificate of the previous authority, and drops expired ones. It changes nothing else, and nothing
 * at all where cert-manager injects. Rejects with MissingWebhooks, ApiError or Unreachable.
 */
export const ensureCaBundle = (trust: Trust, at: Webhooks = OURS): Promise<Bundle> =>
  retryOnConflict(ATTEMPTS, async () => {
    const found = await readConfiguration(trust.cluster, at);
    const before = trustedAt(found, at);
    const next = withAuthorities(found, trust, at);
    if (next === found) return { before, after: before, configuration: found };
    const { object } = await trust.cluster.replace(at.type, next);
    return { before, after: trustedAt(object, at), configuration: object };
  });

async function readConfiguration(cluster: Cluster, at: Webhooks): Promise<ValidatingWebhookConfiguration> {
  try {
    return (await cluster.get(at.type, { name: at.configuration })).object;
  } catch (error) {
    if (isNotFound(error)) throw missing('is not there', at);
    throw error;
  }
}

/** The authorities that the API server trusts at all of these webhooks; none where one webhook is missing. */
export function trustedAt(
  { webhooks = [] }: ValidatingWebhookConfiguration,
  { names }: Webhooks = OURS,
): Fingerprints {
  const [first = new Set<string>(), ...others] = names.map((ours) => {
    const webhook = webhooks.find(({ name }) => name === ours);
    return fingerprintsOf(pemOf(webhook?.clientConfig.caBundle ?? ''));
  });
  return new Set([...first].filter((print) => others.every((other) => other.has(print))));
}

/** Adds the authorities; returns the same object without a change. */
function withAuthorities(
  configuration: ValidatingWebhookConfiguration,
  trust: Trust,
  at: Webhooks,
): ValidatingWebhookConfiguration {
  const { metadata, webhooks = [] } = configuration;
  const absent = at.names.filter((name) => !webhooks.some((webhook) => webhook.name === name));
  if (absent.length > 0) throw missing(`has no webhook ${absent.join(', ')}`, at);
  if (INJECTED.some((annotation) => metadata.annotations?.[annotation] !== undefined)) return configuration;
  const next = webhooks.map((webhook) =>
    at.names.includes(webhook.name) ? trusting(webhook, trust) : webhook,
  );
  const changed = next.some((webhook, index) => webhook !== webhooks[index]);
  return changed ? { ...configuration, webhooks: next } : configuration;
}

function trusting(webhook: ValidatingWebhook, { ca, now }: Trust): ValidatingWebhook {
  const current = webhook.clientConfig.caBundle ?? '';
  const caBundle = mergeBundle({ bundle: current, ca }, now);
  return caBundle === current ? webhook : { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } };
}

/**
 * Merges every certificate of `ca` (PEM) into the bundle (base64 of PEM, as in the API), with ours last. Drops expired
 * certificates and other text. Returns the same text when the bundle needs no change.
 */
export function mergeBundle(
  { bundle, ca }: { readonly bundle: string; readonly ca: string },
  now: Date,
): string {
  const pem = pemOf(bundle);
  const ours = fingerprintsOf(ca);
  const kept = new Map<string, X509Certificate>();
  for (const certificate of [...certificatesIn(pem), ...certificatesIn(ca)]) {
    if (certificate.validToDate > now) kept.set(certificate.fingerprint256, certificate);
  }
  const others = [...kept.values()].filter(({ fingerprint256 }) => !ours.has(fingerprint256));
  const oldestFirst = others.toSorted((one, two) => Number(one.validFromDate) - Number(two.validFromDate));
  for (const { fingerprint256 } of oldestFirst.slice(0, Math.max(0, kept.size - MAX_AUTHORITIES))) {
    kept.delete(fingerprint256);
  }
  const merged = [...kept.values()].map(String).join('');
  return merged === pem ? bundle : Buffer.from(merged, 'utf8').toString('base64');
}

/** The fingerprint of every certificate in a PEM text. */
export const fingerprintsOf = (pem: string): Fingerprints =>
  new Set(certificatesIn(pem).map(({ fingerprint256 }) => fingerprint256));

const pemOf = (bundle: string): string => Buffer.from(bundle, 'base64').toString('utf8');

function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

const missing = (what: string, { type, configuration, manifest }: Webhooks): MissingWebhooks =>
  new MissingWebhooks(
    `${type.kind} ${configuration} ${what}, so the API server would never ask the guard: apply ${manifest}`,
  );
