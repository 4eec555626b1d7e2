import { readFile } from 'node:fs/promises';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  RECORDED_EVENTS,
  VMS,
} from '../../cluster/kubevirt/objects/objects.ts';
import {
  CROSS_LEFT_OUT,
  CROSS_REPLACED,
  EXCEPTIONS,
  isNoise,
  RECORDED_OF_PODS,
  TRANSIENT,
} from './cross-differences.ts';
import type { Version } from './history.ts';

/** Of both clusters. */
export type CrossHistory = Readonly<Record<Side, readonly Version[]>>;

interface Line {
  readonly cluster?: Side;
  readonly kind: string;
  readonly watch: Version['watch'];
  readonly object: KubernetesObject & { readonly gone?: readonly string[] };
  readonly delta?: boolean;
}

/** test/recorded/cross-<name>.jsonl, each version whole. */
export async function readCrossHistory(name: string): Promise<CrossHistory> {
  const text = await readFile(new URL(`../../recorded/cross-${name}.jsonl`, import.meta.url), 'utf8');
  const history: Record<Side, Version[]> = { source: [], target: [] };
  const last = new Map<string, KubernetesObject>();
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const { cluster, kind, watch, object: given, delta } = JSON.parse(line) as Line;
    if (cluster === undefined) continue;
    const key = `${cluster} ${kind} ${given.metadata.name}`;
    const object = delta === true ? whole(given, last.get(key)) : given;
    if (watch === 'DELETED') last.delete(key);
    else last.set(key, object);
    history[cluster].push({ kind, watch, object });
  }
  return history;
}

type Parts = Record<string, unknown>;

/** What a version leaves out is as in the one before, but for what it says is gone. */
function whole(
  { gone = [], ...object }: Line['object'],
  before: KubernetesObject | undefined,
): KubernetesObject {
  if (before === undefined) return object;
  const merged = { ...before, ...object } as unknown as Record<string, Parts | undefined>;
  for (const part of ['metadata', 'spec', 'status']) {
    const [old, now] = [before, object].map((one) => (one as unknown as Record<string, Parts>)[part]);
    if (old !== undefined || now !== undefined) merged[part] = { ...old, ...now };
  }
  for (const path of gone) {
    const [part = '', ...rest] = path.split('.');
    if (rest.length === 0) Reflect.deleteProperty(merged, part);
    else Reflect.deleteProperty(merged[part] ?? {}, rest.join('.'));
  }
  return merged as unknown as KubernetesObject;
}

/** Dotted path to value; conditions and finalizers by their name. */
type Fields = Readonly<Record<string, unknown>>;

/** A history that can be compared: the parts that vary between runs have common names (cross-differences.ts). */
export interface Comparable {
  /** By "<side> <kind> <name>" and path: the different values in their order. */
  readonly timelines: Readonly<Record<string, readonly unknown[]>>;
  /** The objects that are left at the end. */
  readonly left: Readonly<Record<string, Fields>>;
  readonly deleted: readonly string[];
  /** What was said about which kind, each once. */
  readonly events: readonly string[];
}

const COMPARED = [VMS, FULL_VMIS, FULL_MIGRATIONS, LAUNCHER_PODS, RECORDED_EVENTS].map(({ kind }) => kind);
const SIDES = ['source', 'target'] as const;

export function comparable(name: string, history: CrossHistory): Comparable {
  const exceptions = EXCEPTIONS.filter((one) => one.history === name).map(({ what }) => what);
  const isExcepted = (text: string): boolean => exceptions.some((what) => what.test(text));
  const names = namesIn(history);
  const timelines: Record<string, unknown[]> = {};
  const left: Record<string, Fields> = {};
  const deleted: string[] = [];
  const events = new Set<string>();
  const see = (side: Side, { kind, watch, object }: Version): void => {
    const named = JSON.parse(replaced(JSON.stringify(object), names)) as KubernetesObject;
    const key = `${side} ${kind} ${named.metadata.uid}`;
    if (kind === 'Event') events.add(`${side} ${sayingOf(named)}`);
    else if (watch === 'DELETED') {
      deleted.push(key);
      Reflect.deleteProperty(left, key);
    } else {
      left[key] = Object.fromEntries(
        Object.entries(fieldsOf(kind, named)).filter(([path]) => !isExcepted(`${key} ${path}`)),
      );
      for (const [path, value] of Object.entries(left[key])) (timelines[`${key} ${path}`] ??= []).push(value);
    }
  };
  for (const side of SIDES) {
    for (const version of history[side]) if (COMPARED.includes(version.kind)) see(side, version);
  }
  const ends = Object.entries(left).flatMap(([key, fields]) =>
    Object.keys(fields).map((path) => `${key} ${path}`),
  );
  const areLeft = new Set(ends);
  return {
    timelines: Object.fromEntries(
      Object.entries(timelines)
        .map(([key, line]) => [key, lasting(key, line, areLeft.has(key))] as const)
        .filter(([, line]) => line.length > 0),
    ),
    left,
    deleted: deleted.sort(),
    events: [...events].filter((event) => !isNoise(event) && !isExcepted(event)).sort(),
  };
}

/** Without the values that may be missed, and then without repetitions. The last one counts where it is left. */
function lasting(key: string, line: readonly unknown[], isLeft: boolean): readonly unknown[] {
  const values = TRANSIENT.filter(({ path }) => path.test(key)).map(({ value }) => value);
  return line
    .filter((one, index) => {
      const isLast = isLeft && index === line.length - 1;
      return isLast || !values.some((value) => value.test(String(one)));
    })
    .filter((one, index, kept) => one !== kept[index - 1]);
}

function sayingOf(event: KubernetesObject): string {
  const { involvedObject, type, reason, message, source } = event as KubernetesObject & {
    involvedObject: { kind: string };
    type: string;
    reason: string;
    message: string;
    source: { component: string };
  };
  return [involvedObject.kind, type, reason, message, source.component].join(' | ');
}

/** UIDs and names of random parts, by the side and the order of their first version. */
function namesIn(history: CrossHistory): [string, string][] {
  const names: [string, string][] = [];
  for (const side of SIDES) {
    const seen = new Map<string, Set<string>>();
    for (const version of history[side]) names.push(...namesOf(version, side, seen));
    for (const [index, node] of nodesIn(history[side]).entries())
      names.push([`"${node}"`, `"<${side} node${index === 0 ? '' : ' 2'}>"`]);
  }
  // The longest first: a namespace is a part of another text.
  return names.sort(([one], [other]) => other.length - one.length);
}

/** `seen`: the UIDs of each kind so far. */
function namesOf({ kind, object }: Version, side: Side, seen: Map<string, Set<string>>): [string, string][] {
  const { uid, name, namespace = '' } = object.metadata;
  const known = seen.get(kind) ?? new Set();
  if (known.has(uid)) return [];
  seen.set(kind, known.add(uid));
  const number = known.size === 1 ? '' : ` ${String(known.size)}`;
  const what = kind === FULL_MIGRATIONS.kind ? name : `${kind}${number}`;
  return [
    [uid, `<${side} ${what}>`],
    [namespace, `<namespace of the ${side}>`],
    ...(kind === LAUNCHER_PODS.kind ? [[name, `<${side} pod${number}>`] as [string, string]] : []),
  ];
}

function nodesIn(versions: readonly Version[]): string[] {
  const nodes = versions.map(({ object }) => (object as { spec?: { nodeName?: string } }).spec?.nodeName);
  return [...new Set(nodes.filter((node) => node !== undefined))];
}

function replaced(text: string, names: readonly (readonly [string, string])[]): string {
  const named = names.reduce((done, [what, by]) => done.replaceAll(what, by), text);
  return CROSS_REPLACED.reduce((done, { what, by }) => done.replace(what, by), named);
}

function fieldsOf(kind: string, object: KubernetesObject): Fields {
  const fields = flatten('', object).filter(
    ([path, value]) =>
      !CROSS_LEFT_OUT.some((one) => (one.kind ?? kind) === kind && `${path}.`.startsWith(`${one.path}.`)) &&
      (kind !== 'Pod' || RECORDED_OF_PODS.test(path)) &&
      !/\.conditions\..*\.last(Probe|Transition)Time$/.test(path) &&
      !(path.startsWith('status.activePods') && (value === '' || value === '{}')),
  );
  return Object.fromEntries(fields.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function flatten(path: string, value: unknown): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  const entries = Object.entries(value);
  if (entries.length === 0) return [[path, Array.isArray(value) ? '[]' : '{}']];
  return entries.flatMap(([key, inner]: [string, unknown]) => {
    const name = nameOf(path, key, inner);
    return name === undefined ? [] : flatten(path === '' ? name : `${path}.${name}`, inner);
  });
}

/** Undefined: left out. */
function nameOf(path: string, key: string, value: unknown): string | undefined {
  if (path === 'metadata.finalizers') return String(value);
  if (!path.endsWith('.conditions')) return key;
  const { type, message = '' } = value as { type: string; message?: string };
  return isNoise(message) ? undefined : type;
}
