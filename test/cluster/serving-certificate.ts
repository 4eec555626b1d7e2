import type { KeyPair } from '../../functions/server/serve.ts';
import { issueAuthority, issueServing } from '../../webhook/tls/x509.ts';

const DAY_MS = 24 * 3_600_000;
const VALIDITY = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };

/** A certificate for `localhost`, and the PEM certificate of the authority that signed it. */
export function newServingCertificate(): { readonly serving: KeyPair; readonly ca: string } {
  const authority = issueAuthority(VALIDITY);
  return { serving: issueServing(['localhost'], VALIDITY, authority), ca: authority.cert };
}

/** A certificate for a TLS client (extended key usage of RFC 5280), and the PEM certificate of the authority that signed it. */
export function newClientCertificate(): { readonly client: KeyPair; readonly ca: string } {
  const authority = issueAuthority(VALIDITY);
  return { client: issueServing(['client'], VALIDITY, authority, '1.3.6.1.5.5.7.3.2'), ca: authority.cert };
}

/** The PEM certificate of an authority of its own, valid whatever the time is. */
export const newAuthority = (): string =>
  issueAuthority({ notBefore: new Date('2000-01-01'), notAfter: new Date('2100-01-01') }).cert;
