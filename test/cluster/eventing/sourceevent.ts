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
  const { change, stream, object } = changed;
  const { kind, apiVersion } = stream.type;
  const { name, namespace = '' } = object.metadata;
  const isResource = source.spec.mode === 'Resource';
  const data = isResource ? inGoOrder(object) : { kind, namespace, name, apiVersion };
  return {
    attributes: {
      specversion: '1.0',
      id: randomUUID(),
      type: `dev.knative.apiserver.${isResource ? 'resource' : 'ref'}.${change}`,
      source: server,
      subject: subjectOf(stream, object),
      time: nowRfc3339Nano(),
      kind,
      apiversion: apiVersion,
      name,
      namespace,
      ...source.spec.ceOverrides?.extensions,
    },
    contentType: 'application/json',
    data: Buffer.from(goJson(data)),
  };
}

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
