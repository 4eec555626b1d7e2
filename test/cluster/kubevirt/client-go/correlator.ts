import type { RecordedEvent } from '../objects/types.ts';

/** The write for one event. */
export type Correlated =
  | { readonly kind: 'create'; readonly event: NewEvent; readonly key: string }
  | { readonly kind: 'count'; readonly event: NewEvent; readonly key: string }
  | { readonly kind: 'drop' };

/** An event without what the API server adds. */
export type NewEvent = Omit<RecordedEvent, 'metadata'> & { metadata: { name: string; namespace: string } };

const SIMILAR = 10;
const SIMILAR_FOR_MS = 600_000;
const PREFIX = '(combined from similar events): ';
const BURST = 25;
const REFILL_MS = 300_000;

interface Similar {
  readonly messages: Set<string>;
  lastAt: number;
}

/**
 * client-go's EventCorrelator with its defaults, as virt-controller's recorder uses it: the tenth different message of
 * one reason about one object within ten minutes, and all after it, become one counted "(combined from similar events)";
 * an event that repeats is counted; of one object 25 are written at once and one every five minutes after that.
 */
export class Correlator {
  readonly #similar = new Map<string, Similar>();
  readonly #written = new Map<string, NewEvent>();
  readonly #budgets = new Map<string, { tokens: number; at: number }>();

  /** Call it once for each event. */
  correlate(event: NewEvent, nowMs: number): Correlated {
    const { event: aggregated, key } = this.#aggregate(event, nowMs);
    const before = this.#written.get(key);
    const counted =
      before === undefined
        ? aggregated
        : {
            ...aggregated,
            metadata: before.metadata,
            firstTimestamp: before.firstTimestamp,
            count: before.count + 1,
          };
    this.#written.set(key, counted);
    if (!this.#takeToken(event, nowMs)) return { kind: 'drop' };
    return { kind: before === undefined ? 'create' : 'count', event: counted, key };
  }

  #aggregate(event: NewEvent, nowMs: number): { event: NewEvent; key: string } {
    const group = groupOf(event);
    let similar = this.#similar.get(group);
    if (similar === undefined || nowMs - similar.lastAt > SIMILAR_FOR_MS) {
      similar = { messages: new Set(), lastAt: nowMs };
      this.#similar.set(group, similar);
    }
    similar.lastAt = nowMs;
    similar.messages.add(event.message);
    if (similar.messages.size < SIMILAR) return { event, key: `${group} ${event.message}` };
    for (const oldest of similar.messages) {
      similar.messages.delete(oldest);
      break;
    }
    // client-go makes a new event here, and leaves the reporting component out.
    const combined: NewEvent = { ...event, message: `${PREFIX}${event.message}` };
    delete combined.reportingComponent;
    return { event: combined, key: group };
  }

  #takeToken({ source, involvedObject }: NewEvent, nowMs: number): boolean {
    const key = JSON.stringify([source, involvedObject.kind, involvedObject.uid]);
    const budget = this.#budgets.get(key) ?? { tokens: BURST, at: nowMs };
    const tokens = Math.min(BURST, budget.tokens + (nowMs - budget.at) / REFILL_MS);
    this.#budgets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: nowMs });
    return tokens >= 1;
  }
}

const groupOf = ({ source, involvedObject, type, reason, reportingComponent }: NewEvent): string =>
  JSON.stringify([source, involvedObject.kind, involvedObject.uid, type, reason, reportingComponent]);
