import type { KubernetesObject } from '../../../functions/domain/objects.ts';

export interface StoreParts {
  readonly newUid: () => string;
  /** The cluster's clock, milliseconds. */
  readonly now: () => number;
}

/** One write: what etcd's log says of it. */
export interface Change {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: string;
  readonly before?: KubernetesObject;
  /** After it; of a DELETED one the last state, at the revision of its deletion. */
  readonly object: KubernetesObject;
}

export interface Key {
  readonly kind: string;
  /** Left out for a cluster-scoped object. */
  readonly namespace?: string;
  readonly name: string;
}

/** What etcd holds: one history of all objects. Objects are deeply frozen, and shared by everybody who reads them. */
export class Store {
  readonly newUid: () => string;
  readonly now: () => number;
  /** Of the newest change. */
  revision = 1;

  constructor({ newUid, now }: StoreParts) {
    this.newUid = newUid;
    this.now = now;
  }

  get<T extends KubernetesObject>(_key: Key): T | undefined {
    throw new Error('skeleton');
  }

  /** In the order of their keys. */
  list<T extends KubernetesObject>(_kind: string, _namespace?: string): readonly T[] {
    throw new Error('skeleton');
  }

  /** undefined: the object is not at this revision (0: it must not be there) any more. Left out: no matter what. */
  put(_object: KubernetesObject, _atRevision?: number): KubernetesObject | undefined {
    throw new Error('skeleton');
  }

  /** False: the object is not there, or not at this revision. */
  delete(_key: Key, _atRevision?: number): boolean {
    throw new Error('skeleton');
  }

  /** Every change after this revision, oldest first. */
  changesAfter(_revision: number): readonly Change[] {
    throw new Error('skeleton');
  }

  /** Called after each change, in the same turn; the result ends it. */
  onChange(_look: (change: Change) => void): () => void {
    throw new Error('skeleton');
  }

  /** Watches that start before this revision get 410. */
  compact(_revision: number): void {
    throw new Error('skeleton');
  }
}
