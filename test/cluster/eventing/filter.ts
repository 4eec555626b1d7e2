import { attributeOf, type CloudEvent } from './cloudevent.ts';
import type { Trigger } from './manifests.ts';

export type EventFilter = (event: CloudEvent) => boolean;

type Spec = Pick<Trigger['spec'], 'filter' | 'filters'>;

const COMPARISONS = {
  // Measured: an empty value is accepted and matches everything (facts/knative.md §0).
  exact: (actual: string | undefined, wanted: string) => wanted === '' || actual === wanted,
  prefix: (actual: string | undefined, wanted: string) => actual?.startsWith(wanted) ?? false,
  suffix: (actual: string | undefined, wanted: string) => actual?.endsWith(wanted) ?? false,
};

const DIALECTS = [...Object.keys(COMPARISONS), 'all', 'any', 'not', 'cesql'];

/**
 * Which events a Trigger wants. `filters` wins over `filter`; neither: all of them. Filters see attributes, never data.
 * Throws for filters that the real admission webhook refuses, and for cesql, which is not modelled.
 */
export function compileFilter({ filter, filters }: Spec): EventFilter {
  if (filters !== undefined && filters.length > 0) return all(filters.map(compile));
  return exactAttributes(filter?.attributes ?? {});
}

/** The older form: every attribute must be equal; "" matches any value of an existing attribute. */
function exactAttributes(wanted: Record<string, string>): EventFilter {
  return (event) =>
    Object.entries(wanted).every(([name, value]) => {
      const actual = attributeOf(event, name) ?? '';
      return value === '' ? actual !== '' : actual === value;
    });
}

function compile(filter: unknown): EventFilter {
  const [dialect, argument] = only(filter);
  switch (dialect) {
    case 'exact':
    case 'prefix':
    case 'suffix':
      return compare(dialect, argument);
    case 'all':
      return all(list(dialect, argument).map(compile));
    case 'any':
      return any(list(dialect, argument).map(compile));
    case 'not':
      return not(compile(argument));
    case 'cesql':
      throw new Error(
        'cesql filters are not modelled here: write it with exact, prefix, suffix, all, any and not',
      );
    default:
      throw new Error(`no filter dialect ${dialect}: there is ${DIALECTS.join(', ')}`);
  }
}

const all =
  (filters: readonly EventFilter[]): EventFilter =>
  (event) =>
    filters.every((filter) => filter(event));

const any =
  (filters: readonly EventFilter[]): EventFilter =>
  (event) =>
    filters.some((filter) => filter(event));

const not =
  (filter: EventFilter): EventFilter =>
  (event) =>
    !filter(event);

function compare(dialect: keyof typeof COMPARISONS, argument: unknown): EventFilter {
  const wanted = Object.entries(asObject(dialect, argument)).map(([name, value]) => {
    if (typeof value !== 'string') throw new Error(`${dialect}: the value of ${name} is no text`);
    if (value === '' && dialect !== 'exact') throw new Error(`${dialect}: the value of ${name} is empty`);
    return [name, value] as const;
  });
  if (wanted.length === 0) throw new Error(`${dialect}: no attribute`);
  return (event) => wanted.every(([name, value]) => COMPARISONS[dialect](attributeOf(event, name), value));
}

function only(filter: unknown): [string, unknown] {
  const [entry, ...more] = Object.entries(asObject('filter', filter));
  if (entry === undefined || more.length > 0) {
    throw new Error(`a filter has exactly one dialect: ${JSON.stringify(filter)}`);
  }
  return entry;
}

function asObject(where: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new Error(`${where}: an object is needed, not ${JSON.stringify(value)}`);
}

function list(dialect: string, value: unknown): unknown[] {
  if (Array.isArray(value) && value.length > 0) return value;
  throw new Error(`${dialect}: a list with at least one filter is needed`);
}
