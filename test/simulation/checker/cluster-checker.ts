import type { Point } from '../model/request.ts';
import type { Change, Store } from '../model/store.ts';
import { Checker, type CheckerParts } from './checker.ts';
import type { Writing } from './locks.ts';
import { Totals } from './totals.ts';

export interface ClusterCheckerParts extends Omit<CheckerParts, 'namespace'> {
  /** The first one is the tenant's, which most faults hit. */
  readonly namespaces: readonly [string, ...string[]];
}

/** One checker for each namespace, and one for what they share. */
export class ClusterChecker {
  readonly tenant: Checker;
  readonly namespaces: readonly Checker[];
  readonly totals: Totals;

  constructor(store: Store, { namespaces: [first, ...others], ...parts }: ClusterCheckerParts) {
    this.tenant = new Checker(store, { ...parts, namespace: first });
    this.namespaces = [
      this.tenant,
      ...others.map((namespace) => new Checker(store, { ...parts, namespace })),
    ];
    this.totals = new Totals(store, this.namespaces);
  }

  /** The first invariant violation; undefined: none. */
  get violation(): string | undefined {
    const found = this.namespaces.find(({ violation }) => violation !== undefined);
    return found?.violation ?? this.totals.violation;
  }

  see(change: Change, by: Writing): void {
    for (const checker of this.namespaces) checker.see(change, by);
    this.totals.see(change);
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
