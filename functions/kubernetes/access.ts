import type { RequestOptions } from 'node:https';
import type { Bounds } from './bounds.ts';

/** The API server's address, and the credentials for it. */
export interface Access {
  readonly server: URL;
  /** Headers and TLS options (ca, cert, key, …); read for each request, because tokens are renewed. */
  readonly credentials: () => Promise<RequestOptions>;
  /** How long the API server may be silent; by default 4 s (docs/architecture.md#what-knative-gives-and-takes). */
  readonly silenceMs?: number;
  /** What is taken of it; OWN_BOUNDS by default. */
  readonly bounds?: Bounds;
}

/** The API server cannot be found; names the variable that is missing or wrong. */
export class NoApiServer extends Error {
  override readonly name = 'NoApiServer';
}
