import { isUnboundActivePod, LEFT_OUT, REPLACED } from './differences.ts';
import type { Version } from './history.ts';

/** A comparable object version: dotted path to value; conditions by their type. */
export type Fields = Readonly<Record<string, unknown>>;

export interface Normalised {
  readonly kind: string;
  readonly watch: Version['watch'];
  readonly name: string;
  readonly fields: Fields;
  /** Orders the versions of all kinds; not compared. */
  readonly resourceVersion: bigint;
}

/** A history without the parts that vary between runs. Leaves out a version that then equals the previous one. */
export function normalise(history: readonly Version[]): Normalised[] {
  const names = namesIn(history);
  const last = new Map<string, string>();
  return history
    .map(({ kind, watch, object }) => {
      const text = replaceAll(JSON.stringify(object), names);
      const renamed = JSON.parse(text) as Version['object'];
      const resourceVersion = BigInt(object.metadata.resourceVersion);
      return { kind, watch, name: renamed.metadata.name, fields: fieldsOf(kind, renamed), resourceVersion };
    })
    .filter(({ kind, watch, name, fields }) => {
      const key = `${kind} ${name}`;
      const text = `${watch === 'DELETED' ? watch : ''}${JSON.stringify(fields)}`;
      const isNew = kind === 'Event' || last.get(key) !== text;
      last.set(key, text);
      return isNew;
    });
}

/** Pairs of a text and its name, the VMI's, the migration's, the pods' and the nodes'. */
function namesIn(history: readonly Version[]): [string, string][] {
  const first = new Map(history.toReversed().map((version) => [version.object.metadata.uid, version]));
  const inOrder = history.filter((version) => first.get(version.object.metadata.uid) === version);
  const pods = inOrder.filter(({ kind }) => kind === 'Pod').map(({ object }) => object.metadata);
  const of = (kind: string): string =>
    inOrder.find((version) => version.kind === kind)?.object.metadata.uid ?? '';
  return [
    [of('VirtualMachineInstance'), '<vmi>'],
    [of('VirtualMachineInstanceMigration'), '<vmim>'],
    ...pods.flatMap(({ uid, name }, index): [string, string][] => {
      const role = index === 0 ? 'source' : 'target';
      return [
        [uid, `<${role}>`],
        [name, `virt-launcher-<${role}>`],
      ];
    }),
    ...nodesIn(history).map((node, index): [string, string] => [`"${node}"`, `"<node ${index + 1}>"`]),
  ];
}

function nodesIn(history: readonly Version[]): string[] {
  const nodes = history.map(({ object }) => (object as { spec?: { nodeName?: string } }).spec?.nodeName);
  return [...new Set(nodes.filter((node) => node !== undefined))];
}

function replaceAll(text: string, names: readonly (readonly [string, string])[]): string {
  const named = names.reduce((done, [what, by]) => (what === '' ? done : done.replaceAll(what, by)), text);
  return REPLACED.reduce((done, { what, by }) => done.replace(what, by), named);
}

function fieldsOf(kind: string, object: unknown): Fields {
  const fields = flatten('', object).filter(
    ([path, value]) =>
      !isUnboundActivePod(path, value) &&
      !LEFT_OUT.some((one) => (one.kind ?? kind) === kind && `${path}.`.startsWith(`${one.path}.`)),
  );
  return Object.fromEntries(fields.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function flatten(path: string, value: unknown): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  const entries = Object.entries(value);
  if (entries.length === 0) return [[path, Array.isArray(value) ? '[]' : '{}']];
  return entries.flatMap(([key, inner]) =>
    flatten(path === '' ? key : `${path}.${nameOf(key, inner)}`, inner),
  );
}

/** Conditions are a set by type: their order depends only on the first writer. */
const nameOf = (key: string, value: unknown): string =>
  typeof value === 'object' && value !== null && 'type' in value && 'status' in value
    ? String(value.type)
    : key;

/** The versions of one kind, for the comparison. */
export const versionsOf = (
  kind: string,
  history: readonly Normalised[],
): Pick<Normalised, 'watch' | 'name' | 'fields'>[] =>
  history
    .filter((version) => version.kind === kind)
    .map(({ watch, name, fields }) => ({ watch, name, fields }));

/** Per object the fields of its last version. */
export const lastVersionsOf = (kind: string, history: readonly Normalised[]): Record<string, Fields> =>
  Object.fromEntries(versionsOf(kind, history).map(({ name, fields }) => [name, fields]));

/** The values of each field of each object in order, independent of other fields. */
export function timelinesOf(kind: string, history: readonly Normalised[]): Record<string, unknown[]> {
  const lines: Record<string, unknown[]> = {};
  for (const { name, fields } of versionsOf(kind, history)) {
    for (const [path, value] of Object.entries(fields)) {
      const line = (lines[`${name} ${path}`] ??= []);
      if (line.at(-1) !== value) line.push(value);
    }
  }
  return lines;
}
