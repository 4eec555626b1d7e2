import { FORKLIFT_KIND, LIVE_EVENT } from '../domain/live/names.ts';
import { BadEvent } from '../eventing/cloud-events.ts';
import { isLater } from '../domain/resource-version.ts';
import {
  keyOfVersion,
  liveEvent,
  toLiveRequest,
  type LiveRequest,
  type ObjectVersion,
} from '../eventing/live-events.ts';
import { isEvent, type Answer, type Handle } from '../host/function.ts';
import { describeError } from '../kubernetes/errors.ts';
import { KeyedSerializer } from '../runtime/keyed-serializer.ts';
import { LIVE } from '../runtime/settings.ts';
import { Turns } from '../runtime/turns.ts';
import type { LiveContext } from './context.ts';
import { reconciled, type ReconcileResult } from './migration/start.ts';
import { reconcileMigration, type MigrationAt } from './migration/reconcile.ts';
import { migrationsOfEvent, turnOf } from './migration/migrations-of-event.ts';

export { refusingOwnPods } from './read/cluster-addresses.ts';
export { Remotes } from './read/remote.ts';

/**
 * `live` as a Knative function. It answers with `live.progressed` if more of a Migration is due at once, else with nothing. 400: it cannot
 * use the event; 503: the hub did not answer, so the Broker sends the event again.
 */
export function newLiveFunction(reach: LiveContext): Handle {
  const context = { ...reach, turns: new KeyedSerializer(reach.clock, MAX_WAIT_MS) };
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

/** Migrations of one event at once, in turn: a group would wait for its slowest. Each one may list all, and a Provider may have hundreds. */
const MAX_AT_ONCE = 20;

/** Returns a Migration of which more is due, because an answer holds one event. The others are reconciled again here. */
async function reconcileAll(
  request: LiveRequest,
  { runs, context }: { readonly runs: Migrations; readonly context: LiveContext },
): Promise<MigrationAt | undefined> {
  const { type, id, seen } = request;
  const reconcileOne = async (at: MigrationAt, by?: ObjectVersion): Promise<MigrationAt[]> => {
    const { message, requeue } = await runs.reconcile(at, by);
    context.log('info', message, {
      step: 'live',
      event: type,
      eventId: id,
      migration: at.name,
      isMoreDue: requeue,
    });
    return requeue ? [at] : [];
  };
  const turns = new Turns(MAX_AT_ONCE);
  const results = await Promise.allSettled(
    (await migrationsOfEvent(request, context)).map((at) => turns.run(() => reconcileOne(at, seen))),
  );
  const due = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  const failed = results.find((result) => result.status === 'rejected');
  const [first, ...others] = due;
  // One that failed must not stop those of other tenants: the event comes again for it.
  await Promise.all((failed === undefined ? others : due).map((at) => turns.run(() => reconcileOne(at))));
  if (failed !== undefined) throw failed.reason;
  return first;
}

/** Milliseconds for which a reconcile waits for the one before: a slow cluster has it take as long (BUDGET_MS of move-vm.ts). */
const MAX_WAIT_MS = 10_000;
/**
 * Milliseconds between a reconcile and the next one of its Migration, while only KubeVirt acts, by events of the watcher that came meanwhile:
 * KubeVirt writes dozens of times while two clusters meet, and each reconcile reads both. An event that comes after a reconcile is handled
 * at once.
 */
const GAP_MS = 100;
const MAX_ENDED = 1_000;

/**
 * Serializes the reconciles of each Migration in this process; events that arrive meanwhile share the next one, which is left out if the
 * last one has decided by all their objects already: most events are about its own writes. Correctness does not depend on it.
 */
class Migrations {
  readonly #context: LiveContext;
  readonly #turns: KeyedSerializer;
  /** The last result of each Migration that waits. */
  readonly #waiting = new Map<string, ReconcileResult>();
  /** The uids of Migrations that have ended, by their names: the watcher learns that a moment later. */
  readonly #ended = new Map<string, string>();
  /** The objects for which each Migration is to be reconciled next; undefined: for another reason. */
  readonly #asked = new Map<string, readonly (ObjectVersion | undefined)[]>();

  constructor(context: LiveContext & { readonly turns: KeyedSerializer }) {
    this.#context = context;
    this.#turns = context.turns;
  }

  async reconcile(at: MigrationAt, seen: ObjectVersion | undefined): Promise<ReconcileResult> {
    const key = `${at.namespace}/${at.name}`;
    // Before the queue: any client may post this uid, and its event must take no other along.
    if (at.uid !== undefined && this.#ended.get(key) === at.uid) return reconciled('the Migration has ended');
    this.#asked.set(key, [...(this.#asked.get(key) ?? []), seen]);
    const work = (): Promise<ReconcileResult> => this.#reconcile(at, key);
    // Only the watcher says the uid.
    const gapMs = (): number =>
      at.uid !== undefined && this.#waiting.get(key)?.isWithKubeVirt === true ? GAP_MS : 0;
    const turn = {
      key: turnOf({ kind: FORKLIFT_KIND.migration.kind, ...at }),
      dedupeKey: 'reconcile',
      gapMs,
    };
    const { result, isShared } = await this.#turns.serialize(turn, work);
    return isShared ? { ...result, requeue: false } : result;
  }

  async #reconcile(at: MigrationAt, key: string): Promise<ReconcileResult> {
    const asked = this.#asked.get(key) ?? [];
    this.#asked.delete(key);
    const decided = this.#waiting.get(key)?.decidedBy;
    if (asked.every((seen) => isDecided(seen, decided))) return reconciled('nothing is new');
    this.#waiting.delete(key);
    const isWatched = asked.some((seen) => seen !== undefined);
    const result = await reconcileMigration(at, { ...this.#context, isWatched });
    if (result.decidedBy !== undefined) this.#waiting.set(key, result);
    if (result.ended !== undefined) this.#noteEnd(key, result.ended);
    return result;
  }

  #noteEnd(key: string, uid: string): void {
    const [oldest = ''] = this.#ended.keys();
    if (this.#ended.size >= MAX_ENDED) this.#ended.delete(oldest);
    this.#ended.set(key, uid);
  }
}

function isDecided(
  seen: ObjectVersion | undefined,
  decided: ReadonlyMap<string, string> | undefined,
): boolean {
  if (seen === undefined) return false;
  const version = decided?.get(keyOfVersion(seen));
  return version !== undefined && !isLater(seen.resourceVersion, version);
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
