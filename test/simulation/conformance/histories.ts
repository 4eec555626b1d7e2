import type { History } from './histories/history.ts';
import { deletions } from './histories/deletions.ts';
import { events } from './histories/events.ts';
import { quotas } from './histories/quotas.ts';
import { statuses } from './histories/statuses.ts';
import { watches } from './histories/watches.ts';
import { webhooks } from './histories/webhooks.ts';
import { writes } from './histories/writes.ts';

/** Each history runs on the model and on the real API server (model-conformance.long.test.ts). */
export const HISTORIES: readonly History[] = [
  ...writes,
  ...statuses,
  ...deletions,
  ...quotas,
  ...webhooks,
  ...watches,
  ...events,
];
