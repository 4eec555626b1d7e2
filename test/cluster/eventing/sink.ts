import { binaryHeaders, type CloudEvent, type HeaderLines } from './cloudevent.ts';
import { NoAnswer, post } from './exchange.ts';
import type { Delay } from './times.ts';

/** cloudevents sdk-go with ContextWithRetriesExponentialBackoff(50 ms, 5): five more tries, 3.1 s in all. */
const WAITS_MS = [100, 200, 400, 800, 1_600];
const RETRIED = new Set([404, 413, 425, 429, 502, 503, 504]);

export interface Sent {
  /** The status of the last try; undefined: no answer. */
  readonly status: number | undefined;
  readonly tries: number;
  readonly accepted: boolean;
}

export interface Sink {
  readonly url: string;
  readonly headers: HeaderLines;
  readonly delay: Delay;
  readonly signal: AbortSignal;
}

/** Sends an event as the adapter does: it is lost after the sixth failed try, or after a permanent refusal. */
export async function sendToSink(event: CloudEvent, sink: Sink): Promise<Sent> {
  for (let tries = 1; ; tries += 1) {
    const status = await tryOnce(event, sink);
    const accepted = status !== undefined && status >= 200 && status < 300;
    const wait = WAITS_MS[tries - 1];
    const again = status === undefined || RETRIED.has(status);
    if (!again || wait === undefined || sink.signal.aborted) return { status, tries, accepted };
    await sink.delay(wait, sink.signal);
  }
}

async function tryOnce(event: CloudEvent, { url, headers, signal }: Sink): Promise<number | undefined> {
  try {
    return (await post({ url, headers: binaryHeaders(event, headers), body: event.data, signal })).status;
  } catch (error) {
    if (error instanceof NoAnswer) return undefined;
    throw error;
  }
}
