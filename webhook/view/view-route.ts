import type { RequestHandler } from 'express';
import { DNS_LABEL } from '../../functions/domain/dns-name.ts';
import type { View } from '../../functions/domain/view.ts';

export interface ViewSource {
  /** Returns the view; undefined until the watches have listed every kind. */
  viewOf(namespace: string): View | undefined;
}

/** GET /view?namespace=NS: the view for this namespace, from memory. 400 for an invalid name, 503 until the view is complete. */
export const viewRoute =
  (source: ViewSource): RequestHandler =>
  ({ query }, response) => {
    const { namespace } = query;
    if (typeof namespace !== 'string' || !DNS_LABEL.test(namespace)) {
      response.status(400).type('text/plain').send('namespace: must be the name of a namespace\n');
      return;
    }
    const view = source.viewOf(namespace);
    if (view === undefined)
      response.status(503).type('text/plain').send('the cluster is still being listed\n');
    else response.json(view);
  };
