import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyPair } from '../../functions/server/serve.ts';

/** Common name of all our authorities, and the issuer of each serving certificate. */
export const AUTHORITY_NAME = 'mtq-guard-ca';

/** The DNS names that the certificate must contain; the API server calls the Service by the first one. */
export const SERVING_NAMES = ['mtq-guard.mtq-system.svc', 'mtq-guard.mtq-system.svc.cluster.local'] as const;

/** The serving certificate, and the authority that the API server trusts. PEM; empty: missing. */
export interface Certificates {
  readonly authority: KeyPair;
  readonly serving: KeyPair;
}

export type CertificateProblem =
  /** The text is missing, or no PEM of a certificate and a key. */
  | 'Unparsable'
  /** The certificate and the private key do not match. */
  | 'KeyMismatch'
  /** The authority did not sign the serving certificate. */
  | 'NotIssuedByAuthority'
  /** The certificate lacks the DNS name of the guard's Service. */
  | 'WrongNames'
  | 'NotYetValid'
  | 'Expired'
  /** The certificate is still valid, but for less than a third of its validity. */
  | 'Expiring';

export interface Renewal {
  /** `authority`: renew the authority and the serving certificate; `serving`: the authority can sign another certificate. */
  readonly renew: 'authority' | 'serving';
  readonly problem: CertificateProblem;
}

/** The part that needs a renewal, and the reason; undefined: none. */
export function needsRenewal({ authority, serving }: Certificates, now: Date): Renewal | undefined {
  const trusted = parse(authority.cert);
  const authorityProblem = trusted === undefined ? 'Unparsable' : validityProblem(trusted, now);
  if (trusted === undefined || authorityProblem !== undefined) {
    return { renew: 'authority', problem: authorityProblem ?? 'Unparsable' };
  }
  const problem = servingProblem(serving, now) ?? issuedProblem(serving, trusted);
  if (problem === undefined) return undefined;
  // Only a renewal needs the authority's private key: without it, a valid serving certificate remains valid.
  return { renew: canSign(authority, trusted) ? 'serving' : 'authority', problem };
}

/** The problem of a serving certificate, from any signer. A certificate with the problem `Expiring` still serves. */
export function servingProblem(serving: KeyPair, now: Date): CertificateProblem | undefined {
  const certificate = parse(serving.cert);
  const key = parseKey(serving.key);
  if (certificate === undefined || key === undefined) return 'Unparsable';
  if (!certificate.checkPrivateKey(key)) return 'KeyMismatch';
  // The API server checks the names, not the subject. It does not need the longer name.
  if (certificate.checkHost(SERVING_NAMES[0], { subject: 'never' }) === undefined) return 'WrongNames';
  return validityProblem(certificate, now);
}

function issuedProblem(serving: KeyPair, authority: X509Certificate): CertificateProblem | undefined {
  const certificate = parse(serving.cert);
  const issued = certificate?.checkIssued(authority) === true && certificate.verify(authority.publicKey);
  return issued ? undefined : 'NotIssuedByAuthority';
}

function validityProblem(
  { validFromDate, validToDate }: X509Certificate,
  now: Date,
): CertificateProblem | undefined {
  const [from, to, at] = [validFromDate.getTime(), validToDate.getTime(), now.getTime()];
  if (at < from) return 'NotYetValid';
  if (at >= to) return 'Expired';
  return at >= to - (to - from) / 3 ? 'Expiring' : undefined;
}

function canSign(authority: KeyPair, certificate: X509Certificate): boolean {
  const key = parseKey(authority.key);
  return (
    key !== undefined &&
    certificate.ca &&
    certificate.subject === `CN=${AUTHORITY_NAME}` &&
    certificate.checkPrivateKey(key)
  );
}

/** The first certificate of a PEM text. */
function parse(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function parseKey(pem: string): ReturnType<typeof createPrivateKey> | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
