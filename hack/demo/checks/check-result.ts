import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import type { ScenarioKind, Tenant } from '../scenarios.ts';
import type { Before } from '../tenant.ts';

export const CHECKS = ['migrations', 'quotas', 'namespace', 'status', 'events'] as const;
export type CheckName = (typeof CHECKS)[number];

/** One check of one tenant, read back from the API server. */
export interface CheckResult {
  readonly namespace: string;
  readonly check: CheckName;
  /** What is wrong, a line each; empty: it holds. */
  readonly wrong: readonly string[];
}

/** What is looked at, and by whom. */
export interface Case {
  readonly tenant: Tenant;
  readonly kind: ScenarioKind;
  readonly before: Before;
  readonly admin: Cluster;
}

/** The line when it does not hold. */
export const unless = (holds: boolean, line: string): string[] => (holds ? [] : [line]);
