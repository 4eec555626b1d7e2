import { createPrivateKey, X509Certificate } from 'node:crypto';
import { AUTHORITY_NAME, type KeyPair } from './x509.ts';

/** What the API server must find in the certificate: it calls the Service by the first name. */
export const SERVING_NAMES = ['mtq-guard.mtq-system.svc', 'mtq-guard.mtq-system.svc.cluster.local'] as const;

/** What the guard serves with, and the authority that the API server is told to trust. PEM; empty: not there. */
export interface Certificates {
  readonly authority: KeyPair;
  readonly serving: KeyPair;
}

export type CertificateProblem =
  /** Not there, or no PEM of a certificate and a key. */
  | 'Unparsable'
  /** The certificate and the private key are of two different pairs. */
  | 'KeyMismatch'
  /** The authority did not sign the serving certificate. */
  | 'NotIssuedByAuthority'
  /** It is not made out to the guard's Service. */
  | 'WrongNames'
  | 'NotYetValid'
  | 'Expired'
  /** Still good, for less than a third of its time. */
  | 'Expiring';

export interface Renewal {
  /** `authority`: a new authority and a serving certificate of it; `serving`: the authority can sign another. */
  readonly renew: 'authority' | 'serving';
  readonly problem: CertificateProblem;
}

/** What has to be made anew, and why; undefined: nothing has. */
export function needsRenewal({ authority, serving }: Certificates, now: Date): Renewal | undefined {
  const trusted = parse(authority.cert);
  const authorityProblem = trusted === undefined ? 'Unparsable' : validityProblem(trusted, now);
  if (trusted === undefined || authorityProblem !== undefined) {
    return { renew: 'authority', problem: authorityProblem ?? 'Unparsable' };
  }
  const problem = servingProblem(serving, now) ?? issuedProblem(serving, trusted);
  if (problem === undefined) return undefined;
  // Its private key is missed only now: without it, a good serving certificate is still good.
  return { renew: canSign(authority, trusted) ? 'serving' : 'authority', problem };
}

/** What is wrong with a serving certificate, whoever signed it: `Expiring` still serves. */
export function servingProblem(serving: KeyPair, now: Date): CertificateProblem | undefined {
  const certificate = parse(serving.cert);
  const key = parseKey(serving.key);
  if (certificate === undefined || key === undefined) return 'Unparsable';
  if (!certificate.checkPrivateKey(key)) return 'KeyMismatch';
  // The API server looks at the names, not at the subject; the longer name is a courtesy.
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
