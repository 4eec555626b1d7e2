import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type CloudEvent,
  type HeaderLines,
  MalformedEvent,
  missingAttribute,
  readEvent,
  withAttributes,
} from './cloudevent.ts';
import { bodyOf, listen, type Listener } from './exchange.ts';
import type { Broker, Destination, Trigger } from './manifests.ts';
import { Subscription, TTL, type Hop } from './subscription.ts';
import { nowRfc3339Nano, realDelay, type Delay } from './times.ts';

export type { Hop } from './subscription.ts';

export interface BrokerOptions {
  readonly broker: Broker;
  /** Triggers of other Brokers are ignored. */
  readonly triggers: readonly Trigger[];
  /** The cluster URL of a subscriber or dead letter sink; throws when there is none. */
  readonly resolve: (destination: Destination, namespace: string) => string;
  /** Cluster DNS: maps a cluster URL to a local one; left out: unchanged. */
  readonly locate?: (url: string) => string;
  readonly delay?: Delay;
  readonly onTrace?: (hop: Hop) => void;
}

/** One event on its way to one Trigger's subscriber. */
export interface PendingDelivery {
  readonly event: CloudEvent;
  readonly trigger: string;
}

export type EventSelector = (delivery: PendingDelivery) => boolean;

/** Faults on demand between an event's acceptance and its subscriber. */
export interface Faults {
  /** Loses these events silently from now on; undefined: none. */
  lose(chosen: EventSelector | undefined): void;
  /** Delivers these events twice from now on, in parallel. */
  deliverTwice(chosen: EventSelector | undefined): void;
  /** Holds these events until the caller calls the result: others overtake them. */
  hold(chosen: EventSelector): () => void;
}

export interface RunningBroker extends Faults {
  /** Its ingress on this machine. */
  readonly url: string;
  /** Resolves when no event is being delivered or waits for a retry. */
  readonly idle: () => Promise<void>;
  /** Stops; undelivered events are lost. */
  readonly stop: () => Promise<void>;
}

/** A Broker's URL in the cluster. */
export const brokerClusterUrl = ({ namespace, name }: { namespace: string; name: string }): string =>
  `http://broker-ingress.knative-eventing.svc.cluster.local/${namespace}/${name}`;

/**
 * A stand-in for the MT Broker on an in-memory channel (facts/knative.md §0, §2). Not modelled: redirects are not
 * followed, and replies of the dead letter sink are not published. Rejects for an unsupported Trigger.
 */
export async function startBroker(options: BrokerOptions): Promise<RunningBroker> {
  const ingress = new Ingress(options);
  const listener = await listen((request, answer) => void ingress.serve(request, answer));
  return ingress.running(listener);
}

const ASYNC = 'messaging.knative.dev/async-handler';
const MAX_TTL = 255;

class Ingress {
  readonly #options: BrokerOptions;
  readonly #path: string;
  readonly #isAsync: boolean;
  readonly #subscriptions: readonly Subscription[];
  readonly #over = new AbortController();
  readonly #underway = new Set<Promise<unknown>>();
  #lost: EventSelector | undefined;
  #twice: EventSelector | undefined;
  readonly #held = new Map<EventSelector, Promise<unknown>>();
  #local = '';

  constructor(options: BrokerOptions) {
    const { metadata, spec } = options.broker;
    this.#options = options;
    this.#path = `/${metadata.namespace}/${metadata.name}`;
    this.#isAsync = metadata.annotations?.[ASYNC] === 'true';
    const ingress = brokerClusterUrl(metadata);
    const around = {
      ingress,
      namespace: metadata.namespace,
      brokerDelivery: spec?.delivery,
      resolve: options.resolve,
      locate: (url: string) => (url === ingress ? this.#local : (options.locate?.(url) ?? url)),
      delay: options.delay ?? realDelay,
      signal: this.#over.signal,
      onHop: (hop: Hop) => options.onTrace?.(hop),
    };
    this.#subscriptions = this.#ownTriggers().map((trigger) =>
      named(trigger, () => new Subscription(trigger, around)),
    );
  }

  running(listener: Listener): RunningBroker {
    this.#local = `${listener.url}${this.#path}`;
    return {
      url: this.#local,
      lose: (chosen) => (this.#lost = chosen),
      deliverTwice: (chosen) => (this.#twice = chosen),
      hold: (chosen) => this.#hold(chosen),
      idle: () => this.#idle(),
      stop: async () => {
        this.#over.abort();
        await listener.close();
        await this.#idle();
      },
    };
  }

  async serve(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const status = await this.#receive(request).catch((error: unknown) =>
      error instanceof MalformedEvent ? 400 : 500,
    );
    answer.writeHead(status, { Allow: 'POST, OPTIONS' }).end();
  }

  async #receive(request: IncomingMessage): Promise<number> {
    if (request.method !== 'POST') return 405;
    if (request.url !== this.#path) return (request.url ?? '').split('/').length === 3 ? 404 : 400;
    const event = readEvent({ headers: request.headers, body: await bodyOf(request) });
    const ttl = timeToLive(event);
    if (missingAttribute(event) !== undefined || ttl <= 0) return 400;
    const arrived = withAttributes(event, { knativearrivaltime: nowRfc3339Nano(), [TTL]: String(ttl) });
    const dispatched = this.#track(this.#dispatch(arrived, forwarded(request)));
    return this.#isAsync || (await dispatched) ? 202 : 500;
  }

  /** Delivers to all matching Triggers in parallel. True when each delivery, or its dead letter, succeeded. */
  async #dispatch(event: CloudEvent, headers: HeaderLines): Promise<boolean> {
    const wanting = this.#subscriptions.filter(({ wants }) => wants(event));
    const done = await Promise.all(
      wanting.map((subscription) => this.#forward(subscription, event, headers)),
    );
    return done.every(Boolean);
  }

  async #forward(to: Subscription, event: CloudEvent, headers: HeaderLines): Promise<boolean> {
    const delivery = { event, trigger: to.name };
    if (this.#lost?.(delivery) === true) {
      to.lose(event);
      return true;
    }
    for (const [chosen, resumed] of this.#held) if (chosen(delivery)) await resumed;
    const copies = this.#twice?.(delivery) === true ? 2 : 1;
    const done = await Promise.all(Array.from({ length: copies }, () => to.deliver(event, headers)));
    return done.every(Boolean);
  }

  #hold(chosen: EventSelector): () => void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#held.set(chosen, promise);
    const resume = (): void => {
      this.#held.delete(chosen);
      resolve(undefined);
    };
    this.#over.signal.addEventListener('abort', resume, { once: true });
    return resume;
  }

  #track(work: Promise<boolean>): Promise<boolean> {
    this.#underway.add(work);
    void work.finally(() => this.#underway.delete(work));
    return work;
  }

  async #idle(): Promise<void> {
    while (this.#underway.size > 0) await Promise.allSettled(this.#underway);
  }

  #ownTriggers(): Trigger[] {
    const { namespace, name } = this.#options.broker.metadata;
    return this.#options.triggers.filter(
      ({ metadata, spec }) => metadata.namespace === namespace && spec.broker === name,
    );
  }
}

function named<T>({ metadata }: Trigger, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Trigger ${metadata.namespace}/${metadata.name}: ${why}`, { cause });
  }
}

/** 255 for a new event, else one less than the event's own value. */
function timeToLive({ attributes }: CloudEvent): number {
  const brought = attributes[TTL];
  return brought === undefined || !/^-?\d+$/.test(brought) ? MAX_TTL : Number(brought) - 1;
}

const FORWARDED = /^(x-request-id|knative-.*)$/;

/** The few headers besides the event that reach the subscriber. */
function forwarded({ headers }: IncomingMessage): HeaderLines {
  return Object.entries(headers).flatMap(([name, value]) =>
    FORWARDED.test(name) && typeof value === 'string' ? [[name, value] as const] : [],
  );
}
