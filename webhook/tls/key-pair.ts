/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Common name of all our authorities, and the issuer of each serving certificate. */
export const AUTHORITY_NAME = 'mtq-guard-ca';
