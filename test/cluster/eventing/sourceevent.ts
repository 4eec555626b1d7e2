import { randomUUID } from 'node:crypto';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { CloudEvent } from './cloudevent.ts';
import type { ApiServerSource } from './manifests.ts';
import { subjectOf, type ChangeType, type Stream } from './source.ts';
import { nowRfc3339Nano } from './times.ts';

export interface Change {
  readonly change: ChangeType;
  readonly stream: Stream;
  readonly object: KubernetesObject;
}

/** The event of one change (facts/knative.md §1.2). `server`: the API server's URL. The time is when it is made: now. */
export function sourceEvent(source: ApiServerSource, server: string, changed: Change): CloudEvent {
  const { stream, object } = changed;
  const { kind, apiVersion } = stream.type;
  const { name, namespace = '' } = object.metadata;
  const data = isResource(source) ? inGoOrder(object) : { kind, namespace, name, apiVersion };
  const own = { id: randomUUID(), time: nowRfc3339Nano() };
  return {
    attributes: { ...own, ...sourceAttributes(source, server, changed) },
    contentType: 'application/json',
    data: Buffer.from(goJson(data)),
  };
}

/** Its attributes but the id and the time. */
export function sourceAttributes(
  source: ApiServerSource,
  server: string,
  { change, stream, object }: Change,
): Record<string, string> {
  const { kind, apiVersion } = stream.type;
  const { name, namespace = '' } = object.metadata;
  return {
    specversion: '1.0',
    type: `dev.knative.apiserver.${isResource(source) ? 'resource' : 'ref'}.${change}`,
    source: server,
    subject: subjectOf(stream, object),
    kind,
    apiversion: apiVersion,
    name,
    namespace,
    ...source.spec.ceOverrides?.extensions,
  };
}

const isResource = ({ spec }: ApiServerSource): boolean => spec.mode === 'Resource';

const GO_ESCAPES: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** JSON as Go's encoder writes it into a body. */
const goJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[<>&\u2028\u2029]/g, (character) => GO_ESCAPES[character] ?? character);

/** An unstructured object is a map in Go, and maps are written with their keys sorted. */
function inGoOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inGoOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, inGoOrder(inner)]));
}
