import { X509Certificate } from 'node:crypto';
import { WEBHOOK } from '../functions/domain/names.ts';
import type { Cluster } from '../functions/kubernetes/cluster.ts';
import { isConflict, isNotFound } from '../functions/kubernetes/errors.ts';
import {
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type ValidatingWebhook,
  type ValidatingWebhookConfiguration,
} from './resources.ts';

export interface Trust {
  readonly cluster: Cluster;
  /** PEM of the authority (or several) that signed what the guard serves with. */
  readonly ca: string;
  readonly now: Date;
}

/** The guard cannot be called: says what has to be applied. */
export class MissingWebhooks extends Error {
  override readonly name = 'MissingWebhooks';
}

const OURS: readonly string[] = [WEBHOOK.locked, WEBHOOK.keys];
/** cert-manager's cainjector fills the bundle of what carries one of these, and would undo our changes. */
const INJECTED = [
  'cert-manager.io/inject-ca-from',
  'cert-manager.io/inject-ca-from-secret',
  'cert-manager.io/inject-apiserver-ca',
];
const MOST_CONFLICTS = 5;

/**
 * Sees to it that the API server trusts `ca` at both webhooks of the ValidatingWebhookConfiguration mtq-guard. Appends,
 * because another replica may still serve with a certificate of the authority before; drops what has expired. Answers
 * whether it wrote: the API server needs a moment to see it. Rejects with MissingWebhooks, ApiError or Unreachable.
 */
export async function ensureCaBundle(trust: Trust): Promise<'unchanged' | 'changed'> {
  for (let attempt = 1; ; attempt += 1) {
    const found = await readConfiguration(trust.cluster);
    const next = withAuthority(found, trust);
    if (next === found) return 'unchanged';
    try {
      await trust.cluster.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, next);
      return 'changed';
    } catch (error) {
      if (!isConflict(error) || attempt === MOST_CONFLICTS) throw error;
    }
  }
}

async function readConfiguration(cluster: Cluster): Promise<ValidatingWebhookConfiguration> {
  try {
    return (await cluster.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK.configuration })).object;
  } catch (error) {
    if (isNotFound(error)) throw missing('is not there');
    throw error;
  }
}

/** The same object where nothing has to change. */
function withAuthority(
  configuration: ValidatingWebhookConfiguration,
  trust: Trust,
): ValidatingWebhookConfiguration {
  const { metadata, webhooks = [] } = configuration;
  const absent = OURS.filter((name) => !webhooks.some((webhook) => webhook.name === name));
  if (absent.length > 0) throw missing(`has no webhook ${absent.join(', ')}`);
  if (INJECTED.some((annotation) => metadata.annotations?.[annotation] !== undefined)) return configuration;
  const next = webhooks.map((webhook) => (OURS.includes(webhook.name) ? trusting(webhook, trust) : webhook));
  const changed = next.some((webhook, index) => webhook !== webhooks[index]);
  return changed ? { ...configuration, webhooks: next } : configuration;
}

function trusting(webhook: ValidatingWebhook, { ca, now }: Trust): ValidatingWebhook {
  const current = webhook.clientConfig.caBundle ?? '';
  const caBundle = mergeBundle(current, ca, now);
  return caBundle === current ? webhook : { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } };
}

/**
 * The bundle (base64 of PEM, as in the API) with every certificate of `ca` (PEM) in it, without what has expired or is
 * no certificate, ours last; the same text where nothing is missing or too much. Pure.
 */
export function mergeBundle(bundle: string, ca: string, now: Date): string {
  const pem = Buffer.from(bundle, 'base64').toString('utf8');
  const kept = new Map<string, string>();
  for (const certificate of [...certificatesIn(pem), ...certificatesIn(ca)]) {
    if (certificate.validToDate > now) kept.set(certificate.fingerprint256, certificate.toString());
  }
  const merged = [...kept.values()].join('');
  return merged === pem ? bundle : Buffer.from(merged, 'utf8').toString('base64');
}

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

const missing = (what: string): MissingWebhooks =>
  new MissingWebhooks(
    `ValidatingWebhookConfiguration ${WEBHOOK.configuration} ${what}, so the API server would never ask the guard: ` +
      'apply config/webhook (part of config/default)',
  );
