import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { ResourceType, Selection } from '../../../functions/kubernetes/cluster.ts';
import type { ApiServerSource, LabelSelector } from './manifests.ts';

/** One list and watch of the adapter. */
export interface Stream {
  readonly type: ResourceType;
  readonly where: Selection;
}

/** Kinds that live in no namespace: the adapter watches them cluster-wide whatever the namespaceSelector says. */
const CLUSTER_SCOPED = new Set([
  'Namespace',
  'Node',
  'PersistentVolume',
  'StorageClass',
  'CustomResourceDefinition',
]);

/** The plural as the adapter guesses it (meta.UnsafeGuessKindToResource): an irregular one breaks there too. */
export function guessPlural(kind: string): string {
  const singular = kind.toLowerCase();
  if (singular === 'endpoints') return singular;
  if (singular.endsWith('s')) return `${singular}es`;
  return singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}

/** A label selector in the text form of the API's query. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const rest = matchExpressions.map(({ key, operator, values = [] }) => {
    switch (operator) {
      case 'In':
        return `${key} in (${values.join(',')})`;
      case 'NotIn':
        return `${key} notin (${values.join(',')})`;
      case 'Exists':
        return key;
      case 'DoesNotExist':
        return `!${key}`;
    }
  });
  return [...equal, ...rest].join(',');
}

/**
 * What an ApiServerSource watches: every resource cluster-wide with an empty namespaceSelector, else once in each of
 * `namespaces` (those that match; without a selector the source's own).
 */
export function streamsOf({ spec }: ApiServerSource, namespaces: readonly string[]): Stream[] {
  return spec.resources.flatMap(({ apiVersion, kind, selector }) => {
    const namespaced = !CLUSTER_SCOPED.has(kind);
    const type = { apiVersion, kind, plural: guessPlural(kind), namespaced };
    const labels = selector === undefined ? {} : { labelSelector: selectorText(selector) };
    if (!namespaced || selectsAll(spec.namespaceSelector)) return [{ type, where: labels }];
    return namespaces.map((namespace) => ({ type, where: { namespace, ...labels } }));
  });
}

/** `{}`: all namespaces. */
export const selectsAll = (selector: LabelSelector | undefined): boolean =>
  selector !== undefined && selectorText(selector) === '';

export type ChangeType = 'add' | 'update' | 'delete';

/** What an event of a watch is to the adapter; a bookmark is nothing. */
export const CHANGES: Readonly<Record<string, ChangeType>> = {
  ADDED: 'add',
  MODIFIED: 'update',
  DELETED: 'delete',
};

/** The path that the adapter makes the subject of: with an empty namespace for an object that has none. */
export function subjectOf({ type }: Stream, { metadata }: KubernetesObject): string {
  return `/apis/${type.apiVersion}/namespaces/${metadata.namespace ?? ''}/${type.plural}/${metadata.name}`;
}
