import { FORKLIFT_KIND, LIVE_EVENT } from '../domain/live/names.ts';
import { BadEvent } from '../eventing/cloud-events.ts';
import { liveEvent, toLiveRequest, type LiveRequest } from '../eventing/live-events.ts';
import { isEvent, type Answer, type Handle } from '../host/function.ts';
import { describeError } from '../kubernetes/errors.ts';
import { KeyedSerializer } from '../runtime/keyed-serializer.ts';
import { LIVE } from '../runtime/settings.ts';
import type { LiveContext } from './context.ts';
import type { ReconcileResult } from './migration/start.ts';
import { reconcileMigration, type MigrationAt } from './migration/reconcile.ts';
import { migrationsOfEvent } from './migration/migrations-of-event.ts';

export { refusingOwnPods } from './read/cluster-addresses.ts';
export { Remotes } from './read/remote.ts';

/**
 * `live` as a Knative function. It answers with `live.progressed` if more of a Migration is due at once, else with nothing. 400: it cannot
 * use the event; 503: the hub did not answer, so the Broker sends the event again.
 */
export function newLiveFunction(context: LiveContext): Handle {
  const runs = new Migrations(context);
  return async function handle(_context, event) {
    try {
      if (!isEvent(event)) throw new BadEvent('the request carries no CloudEvent');
      const request = toLiveRequest(event);
      const due = await reconcileAll(request, { runs, context });
      if (due === undefined) return undefined;
      const about = { kind: FORKLIFT_KIND.migration.kind, ...due };
      return liveEvent({ type: LIVE_EVENT.progressed, from: LIVE, about, cause: event.id });
    } catch (error) {
      return answerError(error, context, event);
    }
  };
}

/** Returns a Migration of which more is due, because an answer holds one event. The others are reconciled again here. */
async function reconcileAll(
  request: LiveRequest,
  { runs, context }: { readonly runs: Migrations; readonly context: LiveContext },
): Promise<MigrationAt | undefined> {
  const { type, id } = request;
  const reconcileOne = async (at: MigrationAt): Promise<MigrationAt[]> => {
    const { message, requeue } = await runs.reconcile(at);
    context.log('info', message, {
      step: 'live',
      event: type,
      eventId: id,
      migration: at.name,
      isMoreDue: requeue,
    });
    return requeue ? [at] : [];
  };
  const results = await Promise.allSettled((await migrationsOfEvent(request, context)).map(reconcileOne));
  const due = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  const failed = results.find((result) => result.status === 'rejected');
  const [first, ...others] = due;
  // One that failed must not stop those of other tenants: the event comes again for it.
  await Promise.all((failed === undefined ? others : due).map(reconcileOne));
  if (failed !== undefined) throw failed.reason;
  return first;
}

/**
 * Serializes the reconciles of each Migration in this process; events that arrive meanwhile share the next one. Correctness does not depend
 * on it.
 */
class Migrations {
  readonly #context: LiveContext;
  readonly #serializer: KeyedSerializer<ReconcileResult>;

  constructor(context: LiveContext) {
    this.#context = context;
    this.#serializer = new KeyedSerializer(context.clock);
  }

  async reconcile(at: MigrationAt): Promise<ReconcileResult> {
    const key = `${at.namespace}/${at.name}`;
    const work = (): Promise<ReconcileResult> => reconcileMigration(at, this.#context);
    const { result, isShared } = await this.#serializer.serialize({ key, dedupeKey: key }, work);
    return isShared ? { ...result, requeue: false } : result;
  }
}

function answerError(error: unknown, { log }: LiveContext, event: Parameters<Handle>[1]): Answer {
  const fields = { event: event?.type, eventId: event?.id, subject: event?.subject };
  if (error instanceof BadEvent) {
    log('warn', error.message, fields);
    return { statusCode: 400, body: error.message };
  }
  log('error', describeError(error), fields);
  return { statusCode: 503, body: '' };
}
