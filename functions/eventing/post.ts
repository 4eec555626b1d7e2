import { readFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import type { CloudEvent } from 'cloudevents';
import { cloudEventOf, messageOf } from './cloud-events.ts';
import type { PostedEvent } from './posted-event.ts';

const TIMEOUT_MS = 3_000;

/** The URL at which a Broker takes events. */
export interface Sink {
  readonly url: string;
  /** The file with our bearer token, where the Broker requires one. The kubelet rewrites it before the token expires. */
  readonly tokenFile?: string | undefined;
}

/** Posts one event to the Broker; rejects unless it was accepted. */
export const postEvent = (sink: Sink, event: PostedEvent): Promise<void> =>
  postCloudEvent(sink, cloudEventOf(event));

/** A CloudEvent that can be posted as it is. */
export type ReadyEvent = CloudEvent<Record<string, unknown>>;

/** Posts one event to the Broker; rejects unless it was accepted. */
export async function postCloudEvent({ url, tokenFile }: Sink, event: ReadyEvent): Promise<void> {
  const { headers, body } = messageOf(event);
  const token = tokenFile === undefined ? undefined : (await readFile(tokenFile, 'utf8')).trim();
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const options = { method: 'POST', headers: { ...headers, ...authorization } };
  const status = await request(url, options, body);
  if (status >= 300) throw new Error(`the Broker answered ${String(status)} to ${event.type}`);
}

/**
 * GETs every URL at once, which starts a function that has no pod. Resolves with those that gave no answer within `withinMs`; a status
 * of 500 or more is none. Never rejects.
 */
export async function silentAmong(urls: readonly string[], withinMs: number): Promise<string[]> {
  const signal = AbortSignal.timeout(withinMs);
  const options = { method: 'GET', signal, timeout: withinMs };
  const statuses = await Promise.all(urls.map((url) => request(url, options).catch(() => 503)));
  return urls.filter((_, index) => (statuses[index] ?? 503) >= 500);
}

function request(url: string, options: http.RequestOptions, body?: string): Promise<number> {
  const { request: send } = url.startsWith('https:') ? https : http;
  return new Promise((resolve, reject) => {
    const sent = send(url, { timeout: TIMEOUT_MS, ...options }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 500);
    });
    sent.on('timeout', () => sent.destroy(new Error('timed out')));
    sent.on('error', reject);
    sent.end(body);
  });
}
