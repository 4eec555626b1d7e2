import {
  binaryHeaders,
  withAttributes,
  withoutAttribute,
  type CloudEvent,
  type HeaderLines,
} from './cloudevent.ts';
import { deliver, deliveryPolicy, isSuccess, type Attempt, type DeliveryPolicy } from './delivery.ts';
import { NoAnswer, type Answer } from './exchange.ts';
import { compileFilter, type EventFilter } from './filter.ts';
import type { Delivery, Destination, Trigger } from './manifests.ts';
import { errorAttributes, classifyAnswer, unanswered, type AnswerResult } from './reply.ts';
import type { Delay } from './times.ts';

export const TTL = 'knativebrokerttl';

export type Outcome = 'ack' | 'reply' | 'retry' | 'dead letter' | 'dropped' | 'lost';

/** One attempt to deliver one event to one Trigger's subscriber (or its reply to the Broker), or its loss. */
export interface Hop {
  /** When it was sent, milliseconds since 1970. */
  readonly at: number;
  readonly ms: number;
  readonly eventType: string;
  readonly id: string;
  readonly subject: string;
  /** Of the tenant: the event's namespace extension, or a subject that is a namespace. */
  readonly namespace: string;
  readonly trigger: string;
  /** Its cluster URL. */
  readonly subscriber: string;
  /** Undefined: no answer. */
  readonly status: number | undefined;
  /** From 1. */
  readonly attempt: number;
  readonly outcome: Outcome;
}

/** What every subscription of a Broker shares. */
export interface SubscriptionContext {
  /** The Broker's own URL in the cluster: where replies go. */
  readonly ingress: string;
  readonly namespace: string;
  readonly brokerDelivery: Delivery | undefined;
  /** The cluster URL of a destination. Throws when it cannot be known. */
  readonly resolve: (destination: Destination, namespace: string) => string;
  /** Cluster DNS: where a cluster URL is on this machine. */
  readonly locate: (url: string) => string;
  readonly delay: Delay;
  readonly signal: AbortSignal;
  readonly onHop: (hop: Hop) => void;
}

/** A Trigger at work: the channel's subscription and the Broker's filter in one. */
export class Subscription {
  readonly name: string;
  readonly wants: EventFilter;
  readonly #context: SubscriptionContext;
  readonly #policy: DeliveryPolicy;
  readonly #subscriber: string;
  readonly #deadLetterSink: string | undefined;

  constructor({ metadata, spec }: Trigger, context: SubscriptionContext) {
    const { namespace, name } = metadata;
    this.name = name;
    const filter = compileFilter(spec);
    this.wants = (event) => filter(withoutAttribute(event, TTL));
    this.#context = context;
    this.#policy = deliveryPolicy(spec.delivery, context.brokerDelivery);
    this.#subscriber = context.resolve(spec.subscriber, namespace);
    const sink = this.#policy.deadLetterSink;
    this.#deadLetterSink = sink === undefined ? undefined : context.resolve(sink, namespace);
  }

  /** True: acknowledged, replied or in the dead letter sink. False: the event is lost. */
  async deliver(event: CloudEvent, forwarded: HeaderLines): Promise<boolean> {
    const seen = withoutAttribute(event, TTL);
    const more = [...this.#ownHeaders(forwarded), ['Prefer', 'reply'] as const];
    const last = await this.#send(seen, { url: this.#subscriber, more, classify: classifyAnswer });
    const { result } = last;
    if (result instanceof NoAnswer || !isSuccess(result.status)) {
      return this.#fail(event, { destination: this.#subscriber, last, forwarded });
    }
    this.#trace(event, last, { outcome: result.reply === undefined ? 'ack' : 'reply' });
    return result.reply === undefined || this.#publish(event, result.reply, forwarded);
  }

  lose(event: CloudEvent): void {
    const at = Date.now();
    const nothing = new NoAnswer('lost', false);
    this.#trace(event, { number: 0, at, ms: 0, result: nothing, willRetry: false }, { outcome: 'lost' });
  }

  /** Publishes the reply with the time to live of its cause. A retry repeats the publishing, not the subscriber's call. */
  async #publish(cause: CloudEvent, reply: CloudEvent, forwarded: HeaderLines): Promise<boolean> {
    const next = withAttributes(reply, { [TTL]: cause.attributes[TTL] ?? '' });
    const { ingress } = this.#context;
    const more = this.#ownHeaders(forwarded);
    const last = await this.#send(next, { url: ingress, more, classify: (answer) => answer });
    if (!(last.result instanceof NoAnswer) && isSuccess(last.result.status)) return true;
    return this.#fail(cause, { destination: ingress, last, forwarded });
  }

  async #fail(event: CloudEvent, failed: Failed): Promise<boolean> {
    const saved = this.#deadLetterSink !== undefined && (await this.#bury(event, failed));
    const outcome = saved ? 'dead letter' : 'dropped';
    this.#trace(event, failed.last, { outcome, subscriber: failed.destination });
    return saved;
  }

  /** Sends the event unchanged, with its time to live, to the dead letter sink. */
  async #bury(event: CloudEvent, failed: Failed): Promise<boolean> {
    const letter = withAttributes(event, attributesOf(failed, failed.destination === this.#subscriber));
    const url = this.#deadLetterSink ?? '';
    const more = this.#ownHeaders(failed.forwarded);
    const { result } = await this.#send(letter, { url, more, classify: (answer) => answer });
    return !(result instanceof NoAnswer) && isSuccess(result.status);
  }

  async #send<T extends AnswerResult | Answer>(event: CloudEvent, to: Target<T>): Promise<Attempt<T>> {
    const { signal, delay, locate } = this.#context;
    return new Promise((resolve, reject) => {
      deliver({
        url: locate(to.url),
        headers: binaryHeaders(event, to.more),
        body: event.data,
        policy: this.#policy,
        classify: to.classify,
        signal,
        delay,
        onAttempt: (attempt) => {
          if (attempt.willRetry) this.#trace(event, attempt, { outcome: 'retry', subscriber: to.url });
          else resolve(attempt);
        },
      }).catch(reject);
    });
  }

  #ownHeaders(forwarded: HeaderLines): HeaderLines {
    return [...forwarded, ['Kn-Namespace', this.#context.namespace]];
  }

  #trace(event: CloudEvent, attempt: Attempt<AnswerResult | Answer>, what: HopDetails): void {
    const { at, ms, number, result } = attempt;
    const { type = '', id = '', subject = '', namespace } = event.attributes;
    this.#context.onHop({
      at,
      ms,
      eventType: type,
      id,
      subject,
      namespace: namespace ?? (subject.startsWith('/') ? '' : subject),
      trigger: this.name,
      subscriber: this.#subscriber,
      status: result instanceof NoAnswer ? undefined : result.status,
      attempt: number,
      ...what,
    });
  }
}

interface HopDetails {
  readonly outcome: Outcome;
  readonly subscriber?: string;
}

interface Target<T> {
  readonly url: string;
  readonly more: HeaderLines;
  readonly classify: (answer: Answer) => T;
}

interface Failed {
  readonly destination: string;
  readonly last: Attempt<AnswerResult | Answer>;
  readonly forwarded: HeaderLines;
}

/** There is no error data for an answer without an event, nor for a too slow subscriber (facts/knative.md §0). */
function attributesOf({ destination, last }: Failed, ofSubscriber: boolean): Record<string, string> {
  const { result } = last;
  if (!(result instanceof NoAnswer)) {
    return 'noEvent' in result ? {} : errorAttributes({ destination, ...result });
  }
  if (result.timedOut && ofSubscriber) return {};
  return errorAttributes({ destination, ...unanswered(result) });
}
