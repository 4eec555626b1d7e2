import type { IncomingHttpHeaders } from 'node:http';
import type { Log } from '../../functions/runtime/log.ts';

export interface DeadLetters {
  /** One event that the Broker gave up on, by its headers (binary mode, the only one the Broker sends). */
  receive(headers: IncomingHttpHeaders): void;
  /** How many came since the start, by event type. */
  counts(): ReadonlyMap<string, number>;
}

const MAX_ATTRIBUTE_LENGTH = 200;
/** knativeerrordata is at most 1024 bytes before its base64 (facts/knative.md §2.1). */
const MAX_DATA_LENGTH = 500;
/** Anyone in the cluster can post an event of any type: the count must not grow without end. */
const MAX_TYPES = 100;
const UNKNOWN = 'unknown';
const OTHERS = 'others';

/** Logs and counts what the Broker could not deliver: the watchdog repairs, this only tells. */
export function newDeadLetters(log: Log): DeadLetters {
  const byType = new Map<string, number>();
  return {
    receive: (headers) => {
      const type = attribute(headers, 'type') ?? UNKNOWN;
      const counted = byType.has(type) || byType.size < MAX_TYPES ? type : OTHERS;
      const count = (byType.get(counted) ?? 0) + 1;
      byType.set(counted, count);
      log('warn', 'dead letter', { ...described(headers), type, count });
    },
    counts: () => byType,
  };
}

/** undefined fields are left out by JSON: a reply that was no CloudEvent sets no knativeerror* at all. */
const described = (headers: IncomingHttpHeaders): Record<string, string | undefined> => ({
  id: attribute(headers, 'id'),
  source: attribute(headers, 'source'),
  subject: attribute(headers, 'subject'),
  knativeerrordest: attribute(headers, 'knativeerrordest'),
  knativeerrorcode: attribute(headers, 'knativeerrorcode'),
  knativeerrordata: errorData(headers),
});

function attribute(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[`ce-${name}`];
  const text = Array.isArray(value) ? value.join(', ') : value;
  return text === undefined || text === '' ? undefined : text.slice(0, MAX_ATTRIBUTE_LENGTH);
}

/** The failed answer's body, in base64 by the recorded Broker; kept as it is where it is not. */
function errorData(headers: IncomingHttpHeaders): string | undefined {
  const value = headers['ce-knativeerrordata'];
  if (typeof value !== 'string' || value === '') return undefined;
  return decoded(value).slice(0, MAX_DATA_LENGTH);
}

function decoded(text: string): string {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0) return text;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'base64'));
  } catch {
    return text;
  }
}
