import type { IncomingHttpHeaders } from 'node:http';
import type { Log } from '../../functions/runtime/log.ts';

export interface DeadLetters {
  /** Records an event that the Broker could not deliver, from its headers (the Broker sends only binary mode). */
  receive(headers: IncomingHttpHeaders): void;
  /** The number of dead letters since the start, by event type. */
  counts(): ReadonlyMap<string, number>;
}

const MAX_ATTRIBUTE_LENGTH = 200;
/** knativeerrordata is at most 1024 bytes before its base64 (facts/knative.md §2.1). */
const MAX_DATA_LENGTH = 500;
/** Any pod in the cluster can post an event of any type, so the number of counters needs a limit. */
const MAX_TYPES = 100;
const UNKNOWN = 'unknown';
const OTHERS = 'others';

/** Logs and counts events that the Broker could not deliver. The watchdog does the repair. */
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

/** JSON omits undefined fields: a reply that was no CloudEvent sets no knativeerror* header. */
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

/** The failed response's body. The recorded Broker sends base64; other text stays unchanged. */
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
