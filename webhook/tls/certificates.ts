import { X509Certificate } from 'node:crypto';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { ignoreNotFound, isConflict, isNotFound } from '../../functions/kubernetes/errors.ts';
import type { Log } from '../../functions/runtime/log.ts';
import { needsRenewal, SERVING_NAMES, servingProblem, type Certificates, type Renewal } from './renewal.ts';
import { SECRETS, type Secret } from './resources.ts';
import type { KeyPair } from '../../functions/server/serve.ts';
import type { Validity } from './x509.ts';

export interface CertificateStore {
  readonly cluster: Cluster;
  /** The time, preferably by the API server's clock, because the API server checks the certificate. */
  readonly now: Date;
  readonly log: Log;
  readonly lifetimes: Lifetimes;
}

/** The validity of new certificates. The guard renews one when a third of it is left. */
export interface Lifetimes {
  readonly CA_SECONDS: number;
  readonly CERTIFICATE_SECONDS: number;
}

/** The certificate that the guard serves. */
export interface ServingCertificate extends KeyPair {
  /** The authority for the webhooks' bundle, PEM; missing where cert-manager's issuer provides none. */
  readonly ca?: string;
  /** The guard only reads a Secret that cert-manager manages. */
  readonly managedBy: 'mtq-guard' | 'cert-manager';
}

/** The guard may neither use nor change the content of the Secret. */
class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate';
}

export const CERTIFICATES_SECRET = 'mtq-guard-certs';
/** cert-manager sets it on every Secret that it fills; the value is the name of its Certificate. */
const CERT_MANAGER = 'cert-manager.io/certificate-name';
/** Tolerates clocks of other machines that are behind ours; at most a tenth of the validity. */
const BACKDATED_MS = 60 * 60 * 1000;
/**
 * Maximum number of lost races: after one, the Secret has another replica's certificate. More than two in a row are a defect
 * elsewhere.
 */
const MAX_RACES = 5;

/**
 * Reads the certificate in the Secret mtq-system/mtq-guard-certs; issues a new one first where it is missing, unusable or near its
 * end. All replicas use the same certificate: the first write wins, and the other replicas read it. The Secret itself comes with the
 * manifests: RBAC cannot restrict a create by name, and a stolen token could make a Secret that gets another service account's token.
 * Rejects with ApiError or Unreachable, and with UnusableCertificate when there is no Secret, or it may not use it.
 */
export async function ensureCertificate(store: CertificateStore): Promise<ServingCertificate> {
  for (let race = 1; race <= MAX_RACES; race += 1) {
    const secret = await readSecret(store.cluster);
    if (isCertManagers(secret)) return ofCertManager(secret, store.now);
    const current = certificatesOf(secret);
    const renewal = needsRenewal(current, store.now);
    if (renewal === undefined) return ours(current);
    const next = await renewed(current, renewal, store);
    if (await write(store.cluster, secret, next)) {
      store.log('info', 'new certificate', { problem: renewal.problem, renewed: renewal.renew });
      return ours(next);
    }
  }
  throw new UnusableCertificate(
    `Secret ${SYSTEM_NAMESPACE}/${CERTIFICATES_SECRET}: others changed it ${MAX_RACES} times in a row and left no ` +
      'certificate that can be used',
  );
}

const isCertManagers = (secret: Secret): boolean => secret.metadata.annotations?.[CERT_MANAGER] !== undefined;

/** Uses cert-manager's certificate unchanged; cert-manager renews it. */
function ofCertManager(secret: Secret, now: Date): ServingCertificate {
  const { authority, serving } = certificatesOf(secret);
  const problem = servingProblem(serving, now);
  if (problem !== undefined && problem !== 'Expiring') {
    const certificate = secret.metadata.annotations?.[CERT_MANAGER] ?? '';
    throw new UnusableCertificate(
      `Secret ${SYSTEM_NAMESPACE}/${CERTIFICATES_SECRET} is cert-manager's (Certificate ${certificate}) and cannot be ` +
        `used: ${problem}; its dnsNames must contain ${SERVING_NAMES[0]}`,
    );
  }
  const ca = authority.cert === '' ? {} : { ca: authority.cert };
  return { ...serving, ...ca, managedBy: 'cert-manager' };
}

const ours = ({ authority, serving }: Certificates): ServingCertificate => ({
  ...serving,
  ca: authority.cert,
  managedBy: 'mtq-guard',
});

async function renewed(
  { authority }: Certificates,
  { renew }: Renewal,
  store: CertificateStore,
): Promise<Certificates> {
  // Loaded here, because most guards find a certificate and issue none.
  const { issueAuthority, issueServing } = await import('./x509.ts');
  const { CA_SECONDS, CERTIFICATE_SECONDS } = store.lifetimes;
  const signer = renew === 'authority' ? issueAuthority(validFor(CA_SECONDS, store.now)) : authority;
  const { notBefore, notAfter } = validFor(CERTIFICATE_SECONDS, store.now);
  // An expired authority leaves the bundle, so no certificate may outlive its authority.
  const last = new X509Certificate(signer.cert).validToDate;
  const validity = { notBefore, notAfter: notAfter < last ? notAfter : last };
  return { authority: signer, serving: issueServing(SERVING_NAMES, validity, signer) };
}

function validFor(seconds: number, now: Date): Validity {
  const milliseconds = seconds * 1_000;
  return {
    notBefore: new Date(now.getTime() - Math.min(BACKDATED_MS, milliseconds / 10)),
    notAfter: new Date(now.getTime() + milliseconds),
  };
}

/** Whether the certificate was issued at most `milliseconds` ago; true in doubt. */
export function isYoung({ cert }: KeyPair, now: Date, milliseconds: number): boolean {
  return now.getTime() - new X509Certificate(cert).validFromDate.getTime() < BACKDATED_MS + milliseconds;
}

/** Types of a Secret with a certificate. The API server fills others itself, one of them with a service account's token. */
const TYPES: readonly (string | undefined)[] = ['Opaque', 'kubernetes.io/tls'];

async function readSecret(cluster: Cluster): Promise<Secret> {
  const name = `Secret ${SYSTEM_NAMESPACE}/${CERTIFICATES_SECRET}`;
  const at = { namespace: SYSTEM_NAMESPACE, name: CERTIFICATES_SECRET };
  const read = await ignoreNotFound(cluster.get(SECRETS, at));
  if (read === undefined)
    throw new UnusableCertificate(
      `${name} is missing: apply the manifests again, which have it without data`,
    );
  const { type } = read.object;
  if (TYPES.includes(type)) return read.object;
  throw new UnusableCertificate(
    `${name} has type ${type ?? ''}: delete it, and apply the manifests again, which have it without data`,
  );
}

/** Writes the Secret; returns false if another writer was first. */
async function write(cluster: Cluster, read: Secret, next: Certificates): Promise<boolean> {
  try {
    await cluster.replace(SECRETS, { ...read, data: { ...read.data, ...toData(next) } });
    return true;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}

/**
 * The keys of a kubernetes.io/tls Secret as cert-manager fills it, so that either can replace the other; and the authority's
 * private key, so that any replica can sign. That key gives no more access than tls.key: only our own webhooks trust this
 * authority.
 */
function toData({ authority, serving }: Certificates): Record<string, string> {
  return {
    'ca.crt': encode(authority.cert),
    'ca.key': encode(authority.key),
    'tls.crt': encode(serving.cert),
    'tls.key': encode(serving.key),
  };
}

function certificatesOf(secret: Secret): Certificates {
  const read = (key: string): string => Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
  return {
    authority: { cert: read('ca.crt'), key: read('ca.key') },
    serving: { cert: read('tls.crt'), key: read('tls.key') },
  };
}

const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64');
