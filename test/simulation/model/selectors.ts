import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Selection } from '../../../functions/kubernetes/cluster.ts';

type Test = (object: KubernetesObject) => boolean;

/** Selectors name uids: those of past runs are of no use. */
const MAX_PARSED = 1_000;
const parsed = new Map<string, Test>();

/** The used fields besides metadata.name and metadata.namespace (pkg/registry/core/{event,namespace,pod}/strategy.go). */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  Event: [
    ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
      (field) => `involvedObject.${field}`,
    ),
    ...['reason', 'reportingComponent', 'source', 'type'],
  ],
  Namespace: ['status.phase'],
  Pod: ['spec.nodeName', 'status.phase'],
};

/** Parses the selectors of a list or a watch like the API server. Throws for a selector that it would refuse. */
export function selects(
  kind: string,
  { namespace, labelSelector = '', fieldSelector = '' }: Selection,
): Test {
  const labels = cached(`labels ${labelSelector}`, () => allOf(split(labelSelector).map(labelTest)));
  const fields = cached(`fields of ${kind} ${fieldSelector}`, () =>
    allOf(split(fieldSelector).map((requirement) => fieldTest(kind, requirement))),
  );
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) && labels(object) && fields(object);
}

function cached(key: string, parse: () => Test): Test {
  let test = parsed.get(key);
  if (test === undefined) {
    if (parsed.size >= MAX_PARSED) parsed.clear();
    parsed.set(key, (test = parse()));
  }
  return test;
}

const allOf =
  (tests: readonly Test[]): Test =>
  (object) =>
    tests.every((test) => test(object));

/** Splits at commas outside parentheses. */
const split = (selector: string): string[] =>
  selector === '' ? [] : selector.split(/,(?![^(]*\))/).map((part) => part.trim());

const SET = /^([^\s!=]+)\s+(in|notin)\s+\(([^)]*)\)$/;
const EQUAL = /^([^\s!=]+)\s*(==?|!=)\s*([^\s=]*)$/;
const PRESENCE = /^(!?)([^\s!=,()]+)$/;

function labelTest(requirement: string): Test {
  const set = SET.exec(requirement);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    return among(
      key,
      operator === 'in',
      list.split(',').map((value) => value.trim()),
    );
  }
  const equal = EQUAL.exec(requirement);
  if (equal !== null) {
    const [, key = '', operator, value = ''] = equal;
    return among(key, operator !== '!=', [value]);
  }
  const presence = PRESENCE.exec(requirement);
  if (presence === null) throw new Error(`the model does not understand the label selector '${requirement}'`);
  const [, not, key = ''] = presence;
  return ({ metadata: { labels = {} } }) => key in labels === (not === '');
}

/** An object without the label matches no `in (…)`, and each `notin (…)`. */
const among =
  (key: string, wanted: boolean, values: readonly string[]): Test =>
  ({ metadata: { labels = {} } }) => {
    const value = labels[key];
    return (value !== undefined && values.includes(value)) === wanted;
  };

function fieldTest(kind: string, requirement: string): Test {
  const [, path = '', operator, value] = EQUAL.exec(requirement) ?? [];
  const isKnown = ['metadata.name', 'metadata.namespace', ...(FIELDS[kind] ?? [])].includes(path);
  if (!isKnown)
    throw new Error(`the model does not understand the field selector '${requirement}' of ${kind}`);
  return (object) => (fieldOf(object, path) === value) === (operator !== '!=');
}

function fieldOf(object: KubernetesObject, field: string): string {
  const path = field === 'source' ? 'source.component' : field;
  let value: unknown = object;
  for (const part of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[part];
  return typeof value === 'string' ? value : '';
}
