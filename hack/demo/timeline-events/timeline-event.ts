/** What can happen to an object of a tenant, in the order of a migration that gets through; then what else can. */
export type What =
  | 'asked'
  | 'blocked'
  | 'judged'
  | 'locked'
  | 'raised'
  | 'admitted'
  | 'lowered'
  | 'unlocked'
  | 'succeeded'
  | 'failed'
  | 'cancelled'
  | 'nudged'
  | 'undone'
  | 'told'
  | 'gone';

/** A change of an object, in words. */
export interface EventDetails {
  readonly what: What;
  readonly text: string;
  /** Who does this, unless the audit log knows better. */
  readonly by: string;
  /** Of a write that the audit log tells the author of: the version that it replaced. */
  readonly replaced?: { readonly resource: string; readonly name: string; readonly resourceVersion: string };
  /** Only for who wants to know all. */
  readonly isDetail?: boolean;
}

export interface TimelineEvent extends EventDetails {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** etcd's order. */
  readonly version: bigint;
  readonly namespace: string;
}

/** One object's last two versions; no `before`: it is new, no `after`: it is gone. */
export interface Versions<T> {
  readonly before: T | undefined;
  readonly after: T | undefined;
}
