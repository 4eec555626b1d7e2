import type { Point } from '../model/request.ts';
import type { Change, Store } from '../model/store.ts';
import { Checker, type CheckerParts } from './checker.ts';
import type { Writing } from './locks.ts';

export interface ClusterCheckerParts extends Omit<CheckerParts, 'namespace'> {
  /** The first one is the tenant's, which most faults hit. */
  readonly namespaces: readonly [string, ...string[]];
}

/** One checker for each namespace. */
export class ClusterChecker {
  readonly tenant: Checker;
  readonly namespaces: readonly Checker[];

  constructor(store: Store, { namespaces: [first, ...others], ...parts }: ClusterCheckerParts) {
    this.tenant = new Checker(store, { ...parts, namespace: first });
    this.namespaces = [
      this.tenant,
      ...others.map((namespace) => new Checker(store, { ...parts, namespace })),
    ];
  }

  /** The first invariant violation; undefined: none. */
  get violation(): string | undefined {
    return this.namespaces.find(({ violation }) => violation !== undefined)?.violation;
  }

  see(change: Change, by: Writing): void {
    for (const checker of this.namespaces) checker.see(change, by);
  }

  proven(token: string): void {
    for (const checker of this.namespaces) checker.proven(token);
  }

  advance(point: Point): void {
    for (const checker of this.namespaces) checker.advance(point);
  }

  /** From now on the API server delays no answer. */
  calm(): void {
    for (const { locks } of this.namespaces) locks.isCalm = true;
  }
}
