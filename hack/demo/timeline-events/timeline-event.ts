/** The kinds of timeline events: first those of a successful migration in order, then all others. */
export type What =
  | 'asked'
  | 'blocked'
  | 'evaluated'
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
  | 'reported'
  | 'gone';

/** A change of an object as text. */
export interface EventDetails {
  readonly what: What;
  readonly text: string;
  /** The assumed writer; the audit log overrides it. */
  readonly by: string;
  /** The replaced version of a PUT, by which the audit log finds the writer. */
  readonly replaced?: { readonly resource: string; readonly name: string; readonly resourceVersion: string };
  /** Whether only `--verbose` shows the event. */
  readonly isDetail?: boolean;
}

export interface TimelineEvent extends EventDetails {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** etcd's order. */
  readonly version: bigint;
  readonly namespace: string;
}

/** The last two versions of an object. Without `before` it is new, without `after` it is gone. */
export interface Versions<T> {
  readonly before: T | undefined;
  readonly after: T | undefined;
}
