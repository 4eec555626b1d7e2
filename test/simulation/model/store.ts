import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { kept } from './frozen.ts';

export interface StoreParts {
  readonly newUid: () => string;
  /** The cluster's clock, milliseconds. */
  readonly now: () => number;
}

/** One write, as in etcd's log. */
export interface Change {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: string;
  readonly before?: KubernetesObject;
  /** The object after the write; for DELETED its last state, at the revision of its deletion. */
  readonly object: KubernetesObject;
}

export interface Key {
  readonly kind: string;
  /** Left out for a cluster-scoped object. */
  readonly namespace?: string;
  readonly name: string;
}

type Objects = Map<string, KubernetesObject>;

/** The content of etcd: one history of all objects. Objects are deeply frozen, and all readers share them. */
export class Store {
  readonly newUid: () => string;
  readonly now: () => number;
  /** Revision of the newest change. */
  revision = 1;
  /** The log is compacted up to this revision. */
  compacted = 0;
  readonly #kinds = new Map<string, Objects>();
  readonly #log: Change[] = [];
  readonly #lookers = new Set<(change: Change) => void>();
  #names = 0;

  constructor({ newUid, now }: StoreParts) {
    this.newUid = newUid;
    this.now = now;
  }

  get<T extends KubernetesObject>({ kind, namespace, name }: Key): T | undefined {
    return this.#kinds.get(kind)?.get(pathOf(namespace, name)) as T | undefined;
  }

  /** In the order of their keys, and at an earlier revision where one is given. */
  list<T extends KubernetesObject>(kind: string, namespace?: string, revision = this.revision): readonly T[] {
    const objects = revision < this.revision ? this.#objectsAt(kind, revision) : this.#kinds.get(kind);
    const found: [string, KubernetesObject][] = [];
    for (const entry of objects ?? []) {
      if (namespace === undefined || entry[1].metadata.namespace === namespace) found.push(entry);
    }
    if (found.length > 1) found.sort(([one], [other]) => (one < other ? -1 : 1));
    return found.map(([, object]) => object as T);
  }

  /**
   * Stores the object, sets its resourceVersion, and returns the stored form. undefined: it is no longer at this
   * revision (0: it must not exist). `atRevision` left out: unconditional.
   */
  put<T extends KubernetesObject>(object: T, atRevision?: number): T | undefined {
    const { kind = '', metadata } = object;
    const objects = this.#kinds.get(kind) ?? new Map<string, KubernetesObject>();
    this.#kinds.set(kind, objects);
    const path = pathOf(metadata.namespace, metadata.name);
    const before = objects.get(path);
    if (atRevision !== undefined && revisionOf(before) !== atRevision) return undefined;
    const revision = this.revision + 1;
    const stored = versioned(kept(object), revision);
    objects.set(path, stored);
    const type = before === undefined ? 'ADDED' : 'MODIFIED';
    this.#record({ revision, type, kind, object: stored, ...(before === undefined ? {} : { before }) });
    return stored;
  }

  /** False: the object is not there, or not at this revision. */
  delete({ kind, namespace, name }: Key, atRevision?: number): boolean {
    const objects = this.#kinds.get(kind);
    const path = pathOf(namespace, name);
    const before = objects?.get(path);
    if (before === undefined || (atRevision !== undefined && revisionOf(before) !== atRevision)) return false;
    objects?.delete(path);
    const revision = this.revision + 1;
    this.#record({ revision, type: 'DELETED', kind, before, object: versioned(before, revision) });
    return true;
  }

  /** Every change after this revision, oldest first. */
  changesAfter(revision: number): readonly Change[] {
    const first = this.#log[0]?.revision;
    return first === undefined ? [] : this.#log.slice(Math.max(0, revision + 1 - first));
  }

  /** Called after each change, in the same turn; the result ends it. */
  onChange(look: (change: Change) => void): () => void {
    this.#lookers.add(look);
    return () => this.#lookers.delete(look);
  }

  /** Compacts the log up to this revision: watches that start before it get 410. */
  compact(revision: number): void {
    this.compacted = Math.max(this.compacted, revision);
  }

  /** A free name: the API server's, for generateName. */
  newName(prefix: string): string {
    this.#names += 1;
    return prefix + this.#names.toString(36).padStart(5, '0');
  }

  #objectsAt(kind: string, revision: number): Objects {
    const then: Objects = new Map(this.#kinds.get(kind) ?? []);
    for (const change of this.changesAfter(revision).toReversed()) {
      if (change.kind !== kind) continue;
      const path = pathOf(change.object.metadata.namespace, change.object.metadata.name);
      if (change.before === undefined) then.delete(path);
      else then.set(path, change.before);
    }
    return then;
  }

  #record(change: Change): void {
    this.revision = change.revision;
    this.#log.push(change);
    for (const look of this.#lookers) look(change);
  }
}

/** The same object, already frozen, at this revision. */
export function versioned<T extends KubernetesObject>(object: T, revision: number): T {
  const metadata = Object.freeze({ ...object.metadata, resourceVersion: String(revision) });
  return Object.freeze({ ...object, metadata });
}

const pathOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

/** 0 for a missing object. */
export const revisionOf = (object: KubernetesObject | undefined): number =>
  Number(object?.metadata.resourceVersion ?? 0);
