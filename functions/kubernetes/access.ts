import type { RequestOptions } from 'node:https';

/** The API server's address, and the credentials for it. */
export interface Access {
  readonly server: URL;
  /** Headers and TLS options (ca, cert, key, …); read for each request, because tokens are renewed. */
  readonly credentials: () => Promise<RequestOptions>;
  /** How long the API server may be silent; by default 4 s (docs/architecture.md#what-knative-gives-and-takes). */
  readonly silenceMs?: number;
}

/** The API server cannot be found; names the variable that is missing or wrong. */
export class NoApiServer extends Error {
  override readonly name = 'NoApiServer';
}
