import type { KubernetesObject } from '../domain/objects.ts';

/**
 * What a list keeps of each object: `true` the whole field, `false` nothing of it. The type requires every declared field, so
 * that no code reads a trimmed one by mistake. Of labels and annotations only the given names are kept.
 */
export type Keep<T> = boolean | (T extends readonly (infer E)[] ? readonly [Keep<E>] : KeepParts<T>);

type KeepParts<T> = T extends object
  ? string extends keyof T
    ? Readonly<Record<string, true>>
    : { readonly [K in keyof Required<T>]: Keep<NonNullable<T[K]>> }
  : never;

export interface Trimmed<T> {
  readonly object: T;
  /** Approximate size in bytes. */
  readonly size: number;
}

/** A parsed object takes about this many times the memory of its text. */
export const PARSED = 4;
/** Limit for one object, bytes: several times what KubeVirt, virt-controller or an administrator writes. */
const MAX_KEPT_BYTES = 16 * 1024;
/** Memory of a value besides its text, and of an element besides its parts. */
const EACH = 32;

type AnyKeep = boolean | readonly [AnyKeep] | Parts;

interface Parts {
  readonly [part: string]: AnyKeep;
}

/**
 * Copies the fields that `keep` names, in its order, up to `maxBytes`. The rest is left out, so that the author of an object
 * does not control our memory use. Annotations come last: a tenant can make them long, and they must not displace other
 * fields. Of the owners only the controller is kept: there is one at most.
 */
export function trimmed<T extends KubernetesObject>(
  keep: Keep<T>,
  whole: T,
  maxBytes: number = MAX_KEPT_BYTES,
): Trimmed<T> {
  const budget = new ByteBudget(maxBytes);
  const { metadata, ...parts } = keep as Parts & { metadata: Parts };
  const { annotations = false, ...first } = metadata;
  const controller = whole.metadata.ownerReferences?.find((owner) => owner.controller === true);
  const owned = { ...whole.metadata, ownerReferences: controller && [controller] };
  const object = copyParts({ metadata: first, ...parts }, { ...whole, metadata: owned }, budget) as T;
  Object.assign(object.metadata, copyParts({ annotations }, whole.metadata, budget));
  return { object, size: budget.spent };
}

class ByteBudget {
  spent = 0;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  spend(bytes: number): boolean {
    if (this.spent + bytes > this.#maxBytes) return false;
    this.spent += bytes;
    return true;
  }
}

/** Returns undefined if there is nothing, or it does not fit. */
function copy(keep: AnyKeep, value: unknown, budget: ByteBudget): unknown {
  if (keep === false) return undefined;
  if (typeof value !== 'object' || value === null) return copyLeaf(value, budget);
  if (Array.isArray(value)) return copyElements(isArray(keep) ? keep[0] : true, value, budget);
  return keep === true || isArray(keep) ? copyAll(value, budget) : copyParts(keep, value, budget);
}

function copyLeaf(value: unknown, budget: ByteBudget): unknown {
  if (value === undefined) return undefined;
  return budget.spend(EACH + (typeof value === 'string' ? value.length : 0)) ? value : undefined;
}

function copyParts(keep: Parts, whole: object, budget: ByteBudget): object {
  const kept: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(keep)) {
    const copied = copy(part, (whole as Record<string, unknown>)[key], budget);
    if (copied !== undefined) kept[key] = copied;
  }
  return kept;
}

/** The author of an object decides how many parts it has, so each part costs budget. */
function copyAll(whole: object, budget: ByteBudget): object {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(whole)) {
    if (!budget.spend(EACH + key.length)) break;
    const copied = copy(true, value, budget);
    if (copied !== undefined) kept[key] = copied;
  }
  return kept;
}

function copyElements(keep: AnyKeep, values: readonly unknown[], budget: ByteBudget): unknown[] {
  const kept: unknown[] = [];
  for (const value of values) {
    // An element of which nothing is kept costs budget too.
    if (keep === false || !budget.spend(EACH)) break;
    const copied = copy(keep, value, budget);
    if (copied !== undefined) kept.push(copied);
  }
  return kept;
}

const isArray = (keep: AnyKeep): keep is readonly [AnyKeep] => Array.isArray(keep);
