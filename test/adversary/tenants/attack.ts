import type { ObservedState } from './sight.ts';

/** One HTTP request of a tenant: to the API server, or (an absolute URL) to whatever else the tenant can reach. */
export interface Attempt {
  /** Under which its outcomes are counted: what is tried, and how. */
  readonly shape: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** That it is done at all breaks what we promise: the request is only carried out where something is raised or locked. */
  readonly never?: boolean;
  /** Takes back what was done, so that the room is there again for the next release. */
  readonly undo?: Attempt;
}

/** What a client does all the time, one attempt (or burst) after the other. */
export interface Attack {
  readonly name: string;
  /** How many clients do it at the same time. */
  readonly clients: number;
  /**
   * How long it waits after each, milliseconds; 0: a tight loop. What only wakes functions has a pause: the adversary is
   * to get in, not to keep everybody busy.
   */
  readonly pauseMs: number;
  /** The `n`th thing that this client tries; all of them at once. Empty: nothing to be done just now. */
  readonly next: (observed: ObservedState, n: number) => readonly Attempt[];
}

export const JSON_PATCH = 'application/json-patch+json';
export const MERGE_PATCH = 'application/merge-patch+json';
export const APPLY = 'application/apply-patch+yaml';

/** The `n`th of a list, round and round. */
export function nth<T>(list: readonly T[], n: number): T {
  const item = list[n % list.length];
  if (item === undefined) throw new Error('the list is empty');
  return item;
}

/** As a part of a JSON pointer (RFC 6901). */
export const pointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
