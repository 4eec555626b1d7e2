import type { KeyPair } from '../../webhook/tls/key-pair.ts';
import { issueAuthority, issueServing } from '../../webhook/tls/x509.ts';

const DAY_MS = 24 * 3_600_000;

/** A certificate for `localhost`, and the PEM certificate of the authority that signed it. */
export function newServingCertificate(): { readonly serving: KeyPair; readonly ca: string } {
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const authority = issueAuthority(validity);
  return { serving: issueServing(['localhost'], validity, authority), ca: authority.cert };
}

/** The PEM certificate of an authority of its own, valid whatever the time is. */
export const newAuthority = (): string =>
  issueAuthority({ notBefore: new Date('2000-01-01'), notAfter: new Date('2100-01-01') }).cert;
