import type { IncomingHttpHeaders } from 'node:http';

/** A CloudEvent 1.0 under way: every attribute except datacontenttype as text, by its lower-case name. */
export interface CloudEvent {
  readonly attributes: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly data: Buffer;
}

/** The parts of an HTTP request or answer that can carry an event. */
export interface Message {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type HeaderLines = readonly (readonly [name: string, value: string])[];

/** An HTTP message without an event, or with one that CloudEvents does not allow. */
export class MalformedEvent extends Error {
  override readonly name = 'MalformedEvent';
}

const REQUIRED = ['id', 'source', 'type'];
const ATTRIBUTE_NAME = /^[a-z0-9]+$/;

/** How the message carries an event, by its headers alone (CloudEvents HTTP binding §3); `none`: not at all. */
export function encodingOf(headers: IncomingHttpHeaders): 'binary' | 'structured' | 'batch' | 'none' {
  const mediaType = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (mediaType === 'application/cloudevents+json') return 'structured';
  if (mediaType === 'application/cloudevents-batch+json') return 'batch';
  return headers['ce-specversion'] === '1.0' ? 'binary' : 'none';
}

/** Reads the event of a message without judging its attributes (see `missingAttribute`). Throws MalformedEvent. */
export function readEvent(message: Message): CloudEvent {
  const encoding = encodingOf(message.headers);
  if (encoding === 'binary') return readBinary(message);
  if (encoding === 'structured') return readStructured(message.body);
  throw new MalformedEvent(encoding === 'batch' ? 'a batch of events' : 'not a CloudEvent');
}

/** The first attribute that every event must have and this one has not. */
export const missingAttribute = ({ attributes }: CloudEvent): string | undefined =>
  REQUIRED.find((name) => (attributes[name] ?? '') === '');

/** An attribute as a filter sees it, datacontenttype included. */
export const attributeOf = (event: CloudEvent, name: string): string | undefined =>
  name === 'datacontenttype' ? event.contentType : event.attributes[name];

export const withAttributes = (event: CloudEvent, more: Record<string, string>): CloudEvent => ({
  ...event,
  attributes: { ...event.attributes, ...more },
});

export function withoutAttribute(event: CloudEvent, name: string): CloudEvent {
  return {
    ...event,
    attributes: Object.fromEntries(Object.entries(event.attributes).filter(([key]) => key !== name)),
  };
}

/** The headers of the binary form, in the order and with the capitals of Go's HTTP client, which sorts them. */
export function binaryHeaders(event: CloudEvent, more: HeaderLines = []): HeaderLines {
  const attributes = Object.entries(event.attributes).map(
    ([name, value]) => [`Ce-${capital(name)}`, headerValue(value)] as const,
  );
  const contentType = event.contentType === undefined ? [] : [['Content-Type', event.contentType] as const];
  return [...attributes, ...contentType, ...more].sort(([a], [b]) => (a < b ? -1 : 1));
}

function readBinary({ headers, body }: Message): CloudEvent {
  const attributes = Object.entries(headers).flatMap(([header, value]) =>
    header.startsWith('ce-') && typeof value === 'string' ? [[header.slice(3), value] as const] : [],
  );
  const contentType = headers['content-type'];
  return {
    attributes: Object.fromEntries(attributes),
    data: body,
    ...(contentType === undefined ? {} : { contentType }),
  };
}

function readStructured(body: Buffer): CloudEvent {
  const { data, data_base64: base64, datacontenttype, ...rest } = parseObject(body);
  if (rest.specversion !== '1.0') throw new MalformedEvent('specversion is not 1.0');
  const attributes = Object.entries(rest).map(([name, value]) => [name, attributeText(name, value)] as const);
  const contentType = typeof datacontenttype === 'string' ? datacontenttype : undefined;
  return {
    attributes: Object.fromEntries(attributes),
    data: typeof base64 === 'string' ? Buffer.from(base64, 'base64') : dataBytes(data, contentType),
    ...(contentType === undefined ? {} : { contentType }),
  };
}

function parseObject(body: Buffer): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new MalformedEvent('a structured event that is no JSON', { cause });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new MalformedEvent('a structured event that is no JSON object');
  }
  return parsed as Record<string, unknown>;
}

function attributeText(name: string, value: unknown): string {
  if (!ATTRIBUTE_NAME.test(name)) throw new MalformedEvent(`attribute name ${JSON.stringify(name)}`);
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new MalformedEvent(`attribute ${name} is neither text, number nor boolean`);
}

/** JSON data travels as JSON; a text of any other type as it is. */
function dataBytes(data: unknown, contentType: string | undefined): Buffer {
  if (data === undefined) return Buffer.alloc(0);
  const isJson = contentType === undefined || /\bjson\b/.test(contentType);
  return Buffer.from(typeof data === 'string' && !isJson ? data : JSON.stringify(data));
}

const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Percent-encodes characters that HTTP does not allow in a header (CloudEvents HTTP binding §3.1.3.2). */
const headerValue = (value: string): string =>
  value.replaceAll(/[^\x20-\x7e]+/g, (text) => encodeURIComponent(text));
