import type { HeaderLines } from './cloudevent.ts';
import { NoAnswer, post, type Answer } from './exchange.ts';
import type { Delivery, Destination } from './manifests.ts';
import { parseDuration, type Delay } from './times.ts';

/** How one Trigger's events are delivered (duck/v1 DeliverySpec). */
export interface DeliveryPolicy {
  readonly retries: number;
  /** Wait before retry n, n from 0. */
  readonly backoffMs: (retry: number) => number;
  /** Of one attempt; undefined: none. */
  readonly timeoutMs: number | undefined;
  readonly deadLetterSink: Destination | undefined;
}

/** The defaults of config-br-defaults for a Broker without a delivery (facts/knative.md §2.1). */
const BROKER_DEFAULT: Delivery = { retry: 10, backoffPolicy: 'exponential', backoffDelay: 'PT0.2S' };

/** The Trigger's delivery replaces the Broker's as a whole; only a missing dead letter sink falls back to the Broker's. */
export function deliveryPolicy(trigger: Delivery | undefined, broker: Delivery | undefined): DeliveryPolicy {
  const effective = trigger ?? broker ?? BROKER_DEFAULT;
  return {
    retries: effective.retry ?? 0,
    backoffMs: backoff(effective),
    timeoutMs: timeout(effective),
    deadLetterSink: effective.deadLetterSink ?? broker?.deadLetterSink,
  };
}

/** Zero is no timeout. */
function timeout({ timeout: text }: Delivery): number | undefined {
  const ms = text === undefined ? 0 : parseDuration(text);
  return ms === 0 ? undefined : ms;
}

/** Linear PT0.2S waits 0, 0.2, 0.4 s; exponential 0.2, 0.4, 0.8 s; no policy: no waits (facts/knative.md §0). */
function backoff({ backoffPolicy, backoffDelay }: Delivery): DeliveryPolicy['backoffMs'] {
  if (backoffPolicy === undefined || backoffDelay === undefined) return () => 0;
  const delay = parseDuration(backoffDelay);
  return backoffPolicy === 'linear' ? (retry) => delay * retry : (retry) => delay * 2 ** retry;
}

const RETRIED_4XX = new Set([404, 408, 409, 429]);

/** SelectiveRetry. */
export const isRetried = (status: number): boolean => status >= 500 || RETRIED_4XX.has(status);

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Anything a status can be checked by. */
interface Classified {
  readonly status: number;
}

export interface Attempt<T> {
  /** From 1. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly ms: number;
  readonly result: T | NoAnswer;
  readonly willRetry: boolean;
}

export interface Sending<T> {
  readonly url: string;
  readonly headers: HeaderLines;
  readonly body: Buffer;
  readonly policy: DeliveryPolicy;
  readonly signal: AbortSignal;
  readonly delay: Delay;
  /** The effective result: by the Broker's reply rule some successes are failures. */
  readonly classify: (answer: Answer) => T;
  readonly onAttempt?: (attempt: Attempt<T>) => void;
}

/** Posts with the retries of the policy. The result of the last attempt. */
export async function deliver<T extends Classified>(sending: Sending<T>): Promise<T | NoAnswer> {
  const { policy, signal, delay } = sending;
  for (let retry = 0; ; retry += 1) {
    const at = Date.now();
    const started = performance.now();
    const result = await attempt(sending);
    const wants = result instanceof NoAnswer || isRetried(result.status);
    const willRetry = wants && retry < policy.retries && !signal.aborted;
    sending.onAttempt?.({ number: retry + 1, at, ms: performance.now() - started, result, willRetry });
    if (!willRetry) return result;
    await delay(policy.backoffMs(retry), signal);
  }
}

async function attempt<T>({ policy, classify, ...request }: Sending<T>): Promise<T | NoAnswer> {
  const { url, headers, body, signal } = request;
  const limit = policy.timeoutMs === undefined ? {} : { timeoutMs: policy.timeoutMs };
  try {
    return classify(await post({ url, headers, body, signal, ...limit }));
  } catch (error) {
    if (error instanceof NoAnswer) return error;
    throw error;
  }
}
