import type { RequestOptions } from 'node:https';

/** Where the API server is, and as whom it is asked. */
export interface Access {
  readonly server: URL;
  /** Headers, and what a connection is made with (ca, cert, key, …); asked for each request: tokens are renewed. */
  readonly credentials: () => Promise<RequestOptions>;
}

/** The API server cannot be found: says which variable is missing or wrong. */
export class NoApiServer extends Error {
  override readonly name = 'NoApiServer';
}
