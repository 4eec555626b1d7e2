import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { conditionFor, type Switch } from './switches.ts';

/** What an installation with these switches on has at one place of an object. */
export interface Sample {
  readonly on: readonly Switch[];
  readonly value: unknown;
}

type Entries = Readonly<Record<string, unknown>>;
export const isMap = (value: unknown): value is Entries =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The lines, in a condition unless `present` is true for all. Throws when no switches decide. */
export function linesWhen(
  all: readonly Pick<Sample, 'on'>[],
  present: readonly boolean[],
  lines: readonly string[],
): readonly string[] {
  if (present.every(Boolean)) return lines;
  const switches = all.map(({ on }) => on);
  return [`{{- if ${conditionFor(switches, present)} }}`, ...lines, '{{- end }}'];
}

/**
 * The lines of a template that renders the value of each sample when its switches are on: values that are the same everywhere as
 * they are, else conditions, as deep as possible. Of samples with different orders, the first one's counts.
 */
export function mergedLines(samples: readonly Sample[]): readonly string[] {
  const values = samples.map(({ value }) => value);
  if (isUniform(values)) return yamlLines(values[0]);
  if (values.every(isMap))
    return mapLines(samples.map(({ on }, index) => ({ on, map: values[index] ?? {} })));
  if (values.every(Array.isArray))
    return listLines(samples.map(({ on }, index) => ({ on, list: values[index] ?? [] })));
  throw new Error(`different kinds of values: ${JSON.stringify(values)}`);
}

type Switched<T> = Pick<Sample, 'on'> & T;

function mapLines(samples: readonly Switched<{ readonly map: Entries }>[]): string[] {
  return union(samples.map(({ map }) => Object.keys(map))).flatMap((key) => {
    const present = samples.map(({ map }) => Object.hasOwn(map, key));
    const having = samples.filter((_, index) => present[index]);
    const lines = entryLines(
      key,
      having.map(({ on, map }) => ({ on, value: map[key] })),
    );
    return linesWhen(samples, present, lines);
  });
}

function entryLines(key: string, samples: readonly Sample[]): readonly string[] {
  const values = samples.map(({ value }) => value);
  if (isUniform(values)) return yamlLines({ [key]: values[0] });
  if (values.every(isMap) || values.every(Array.isArray))
    return [`${yamlLines(key).join('')}:`, ...indented(mergedLines(samples))];
  return choiceLines(key, samples);
}

/** One branch for each value; the last one is that of the first sample, which has the fewest switches on. */
function choiceLines(key: string, samples: readonly Sample[]): string[] {
  const switches = samples.map(({ on }) => on);
  const distinct = samples.filter(
    ({ value }, index) => samples.findIndex((other) => isDeepStrictEqual(other.value, value)) === index,
  );
  const [otherwise, ...others] = distinct.map(({ value }) => value);
  const branches = others.map((wanted, index) => [
    `{{- ${index === 0 ? 'if' : 'else if'} ${conditionFor(
      switches,
      samples.map(({ value }) => isDeepStrictEqual(value, wanted)),
    )} }}`,
    ...yamlLines({ [key]: wanted }),
  ]);
  return [...branches.flat(), '{{- else }}', ...yamlLines({ [key]: otherwise }), '{{- end }}'];
}

function listLines(samples: readonly Switched<{ readonly list: readonly unknown[] }>[]): string[] {
  const lists = samples.map(({ on, list }) => ({
    on,
    items: new Map(list.map((item) => [idOf(item), item])),
  }));
  if (lists.some(({ items }, index) => items.size < (samples[index]?.list.length ?? 0)))
    throw new Error(`items of a list are the same: ${JSON.stringify(samples[0]?.list)}`);
  return union(lists.map(({ items }) => [...items.keys()])).flatMap((id) => {
    const present = lists.map(({ items }) => items.has(id));
    const having = lists.filter((_, index) => present[index]);
    const lines = itemLines(having.map(({ on, items }) => ({ on, value: items.get(id) })));
    return linesWhen(samples, present, lines);
  });
}

/** What an item is in every installation: its name, or else its content. */
const idOf = (item: unknown): string =>
  isMap(item) && typeof item['name'] === 'string' ? item['name'] : JSON.stringify(item);

function itemLines(samples: readonly Sample[]): readonly string[] {
  const values = samples.map(({ value }) => value);
  if (isUniform(values)) return yamlLines([values[0]]);
  const [first = '', ...rest] = mergedLines(samples);
  // Nothing may be before a condition in its line.
  return first.startsWith('{{') ? ['-', ...indented([first, ...rest])] : [`- ${first}`, ...indented(rest)];
}

const isUniform = (values: readonly unknown[]): boolean =>
  values.every((value) => isDeepStrictEqual(value, values[0]));

const indented = (lines: readonly string[]): string[] =>
  lines.map((line) => (line === '' || line.startsWith('{{') ? line : `  ${line}`));

/** The value as YAML 1.1, which Helm reads: there `on` is no text without quotes. */
const yamlLines = (value: unknown): string[] =>
  stringify(value, { compat: 'yaml-1.1', lineWidth: 0, aliasDuplicateObjects: false }).trimEnd().split('\n');

/** The texts of all lists, each list's in its own order where they agree. */
export function union(lists: readonly (readonly string[])[]): string[] {
  const all: string[] = [];
  for (const list of lists) {
    for (const [index, text] of list.entries()) {
      const before = list[index - 1];
      if (!all.includes(text)) all.splice(before === undefined ? 0 : all.indexOf(before) + 1, 0, text);
    }
  }
  return all;
}
