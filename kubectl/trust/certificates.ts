import { X509Certificate } from 'node:crypto';

/** A certificate of a bundle. */
export interface Certificate {
  /** SHA-256, with colons. */
  readonly fingerprint: string;
  readonly pem: string;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly until: number;
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of a PEM bundle, each once, in order. Throws where one cannot be read. */
export function certificatesOf(bundle: string): Certificate[] {
  const all = [...bundle.matchAll(PEM)].map(([pem]): Certificate => {
    const certificate = new X509Certificate(pem);
    const { fingerprint256: fingerprint, validFromDate, validToDate } = certificate;
    return { fingerprint, pem: `${pem}\n`, from: validFromDate.getTime(), until: validToDate.getTime() };
  });
  return [...new Map(all.map((certificate) => [certificate.fingerprint, certificate])).values()];
}

/**
 * The certificates of the other cluster that this one does not trust yet. Omits expired ones and those that are not valid yet, as
 * virt-operator does without a word (docs/facts/cross-cluster.md C3).
 */
export function untrusted(own: string, other: string, now: number): Certificate[] {
  const known = new Set(certificatesOf(own).map(({ fingerprint }) => fingerprint));
  return certificatesOf(other).filter(
    ({ fingerprint, from, until }) => !known.has(fingerprint) && from <= now && now < until,
  );
}
