import type { KubernetesObject } from '../domain/objects.ts';
import type { Trimmed } from './trim.ts';

/** How one kind of object is addressed; `T` is the whole object, which may be written again. */
export interface ResourceType<T extends KubernetesObject = KubernetesObject> {
  readonly apiVersion: string;
  readonly kind: string;
  /** The plural in the URL. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Carries the type of the object; never set. */
  readonly object?: T;
  readonly trim?: undefined;
}

/**
 * A kind for lists only: `trim` keeps the fields that are read; undefined: its callers need nothing of the object. `replace`
 * does not take this type, because the trimmed fields would be lost.
 */
export interface ListedType<T extends KubernetesObject> extends Omit<ResourceType<T>, 'trim'> {
  readonly trim: (whole: T) => Trimmed<T> | undefined;
}

export interface Address {
  readonly name: string;
  /** The object's namespace; left out for a cluster-scoped object. */
  readonly namespace?: string;
}

export interface Selection {
  /** The namespace; all namespaces by default. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListOptions {
  /**
   * '0': from the API server's watch cache, at once and however old. Left out: as it is now, for which the server may wait up
   * to 100 ms for its cache (k8s.io/apiserver, storage/cacher/progress).
   */
  readonly resourceVersion?: '0';
  /** Maximum number of objects in a page. Left out: as many as one request may carry. */
  readonly pageSize?: number;
}

export interface WriteOptions {
  /** The API server runs everything but the storage: admission, quota and webhooks. */
  readonly dryRun?: boolean;
  readonly subresource?: 'status' | 'finalize';
}

/** An object, and the API server's own clock (its Date header, whole seconds) when it answered. */
export interface Read<T> {
  readonly object: T;
  readonly date: Date;
}

export interface ReadList<T> {
  readonly items: T[];
  readonly resourceVersion: string;
  readonly date: Date;
}

export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

export interface WatchFrom extends Selection {
  readonly resourceVersion: string;
  /** How long the API server keeps the watch open. Left out: it chooses, 30 to 60 minutes by default, so that watches end one by one. */
  readonly timeoutSeconds?: number;
}

/**
 * The API server, in its own verbs. All reads and writes go through this interface, so that the steps run unchanged against a
 * model of the API server. Reads are quorum reads (no resourceVersion is sent) unless a list asks otherwise.
 *
 * Every verb rejects with an ApiError (the server answered: see its `code` and `reason`) or an Unreachable (no answer: a write
 * may have happened or not).
 */
export interface Cluster {
  get<T extends KubernetesObject>(type: ResourceType<T>, at: Address): Promise<Read<T>>;
  /** Large lists are read in pages (pages.ts). Also rejects with TooMuch. */
  list<T extends KubernetesObject>(
    type: ResourceType<T> | ListedType<T>,
    where: Selection,
    options?: ListOptions,
  ): Promise<ReadList<T>>;
  create<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: New<T>,
    options?: WriteOptions,
  ): Promise<Read<T>>;
  /** PUT. The object's metadata.resourceVersion is the precondition: 409 when it is no longer the newest. */
  replace<T extends KubernetesObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<Read<T>>;
  /** A JSON merge patch. */
  patch<T extends KubernetesObject>(type: ResourceType<T>, at: Address, change: MergePatch): Promise<Read<T>>;
  delete(type: ResourceType, at: Address, options?: DeleteOptions): Promise<void>;
  /** Ends when the server closes the watch or `signal` aborts; an ERROR event is thrown as an ApiError. */
  watch<T extends KubernetesObject>(
    type: ResourceType<T>,
    from: WatchFrom,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>;
  /** The same cluster at one API server's own address ("https://10.0.0.1:6443"), instead of whichever answers. */
  at(server: string): Pick<Cluster, 'create'>;
}

/** The part of Cluster that only reads. */
export type Reader = Pick<Cluster, 'get' | 'list'>;

/** Lists from the API server's watch cache: good for a decision that is verified before anything is written. */
export const fromWatchCache = (cluster: Reader): Reader => ({
  get: (type, at) => cluster.get(type, at),
  list: (type, where) => cluster.list(type, where, { resourceVersion: '0' }),
});

/** The API server itself, beside its objects. */
export interface ApiServer extends Cluster {
  /** "v1.34.1". Rejects as the verbs do. */
  version(): Promise<string>;
}

export interface MergePatch {
  readonly merge: Record<string, unknown>;
  readonly subresource?: 'status' | 'scale';
}

export interface DeleteOptions {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  /** Seconds until the object is removed; the kind's default if left out. */
  readonly gracePeriodSeconds?: number;
}

/** An object to be created: the server adds the rest of its metadata. */
export type New<T extends KubernetesObject> = Omit<T, 'metadata'> & {
  metadata: Partial<T['metadata']> & ({ name: string } | { generateName: string });
};
