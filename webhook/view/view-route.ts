import type { RequestHandler } from 'express';
import type { View } from '../../functions/domain/view.ts';

export interface ViewSource {
  /** Returns the view; undefined until the watches have listed every kind. */
  viewOf(namespace: string): View | undefined;
}

/** The pattern of an RFC 1123 label. */
const NAMESPACE_NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** GET /view?namespace=NS: the view for this namespace, from memory. 400 for an invalid name, 503 until the view is complete. */
export const viewRoute =
  (source: ViewSource): RequestHandler =>
  ({ query }, response) => {
    const { namespace } = query;
    if (typeof namespace !== 'string' || !NAMESPACE_NAME.test(namespace)) {
      response.status(400).type('text/plain').send('namespace: must be the name of a namespace\n');
      return;
    }
    const view = source.viewOf(namespace);
    if (view === undefined)
      response.status(503).type('text/plain').send('the cluster is still being listed\n');
    else response.json(view);
  };
