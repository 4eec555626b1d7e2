import { readFileSync } from 'node:fs';

/** Names and values of a request's headers, in the order of the wire. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** A request of the real adapter or the real Broker (test/recorded/README.md). */
export interface RecordedRequest {
  readonly headers: Headers;
  /** The Broker's as text, the adapter's as JSON, re-indented. */
  readonly body: unknown;
}

/** Reads test/recorded/<name>.json. */
export function recordedRequest(name: string): RecordedRequest {
  const file = new URL(`../../recorded/${name}.json`, import.meta.url);
  const { headers, body } = JSON.parse(readFileSync(file, 'utf8')) as {
    headers: Headers | Record<string, string>;
    body: unknown;
  };
  return { headers: Array.isArray(headers) ? (headers as Headers) : Object.entries(headers), body };
}

/** Headers of the HTTP client, not of the event: the differences from Go's client, and why they do not matter. */
const OF_THE_CLIENT: Readonly<Record<string, string>> = {
  Host: 'the port is another one at every run',
  'User-Agent': "Go's client names itself, Node's does not",
  'Accept-Encoding': "Go's client always offers gzip, Node's does not",
  Connection: 'ours uses one connection a request and says so; Go keeps them alive',
  'Content-Length': 'compared with the body; the recordings of the adapter have names of other lengths',
};

/** The parts that vary between runs, and their required form. */
const VARYING: Readonly<Record<string, RegExp>> = {
  'Ce-Id': /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  'Ce-Time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?Z$/,
  'Ce-Knativearrivaltime': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?Z$/,
};

/** A request's headers as they can be compared: what varies is replaced by what it looks like, ports by :PORT. */
export function normalised(headers: Headers): Headers {
  return headers
    .filter(([name]) => OF_THE_CLIENT[name] === undefined)
    .map(([name, value]) => {
      if (name === 'Ce-Knativeerrordata') return [name, withoutPorts(atob(value))] as const;
      if (VARYING[name]?.test(value) === true) return [name, `(looks like a ${name})`] as const;
      return [name, withoutPorts(value)] as const;
    });
}

const withoutPorts = (text: string): string => text.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT');

/** Node's flat list of names and values, in pairs. */
export const pairs = (raw: readonly string[]): Headers =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []));
