import type { ObservedState } from './sight.ts';

/** One HTTP request of a tenant: to the API server, or (an absolute URL) to whatever else the tenant can reach. */
export interface Attempt {
  /** Name under which its outcomes are counted: target and method of the attempt. */
  readonly shape: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Success violates our promise: the attempt is only sent while a quota is raised or the namespace locked. */
  readonly never?: boolean;
  /** Undoes the attempt, so that the next cycle finds the same headroom. */
  readonly undo?: Attempt;
}

/** What a client does continuously, one attempt (or burst) after the other. */
export interface Attack {
  readonly name: string;
  /** How many clients do it at the same time. */
  readonly clients: number;
  /**
   * Pause after each attempt, milliseconds; 0: a tight loop. Attempts that only trigger functions need a pause: the adversary
   * tries to get pods in, not to overload the functions.
   */
  readonly pauseMs: number;
  /** The `n`th attempts of this client, sent together; empty when there is nothing to attack now. */
  readonly next: (observed: ObservedState, n: number) => readonly Attempt[];
}

export const JSON_PATCH = 'application/json-patch+json';
export const MERGE_PATCH = 'application/merge-patch+json';
export const APPLY = 'application/apply-patch+yaml';

/** The `n`th item of a list, cyclically. */
export function nth<T>(list: readonly T[], n: number): T {
  const item = list[n % list.length];
  if (item === undefined) throw new Error('the list is empty');
  return item;
}

/** As a part of a JSON pointer (RFC 6901). */
export const pointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
