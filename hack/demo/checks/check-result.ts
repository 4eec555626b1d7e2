import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import type { ScenarioKind, Tenant } from '../scenarios.ts';
import type { Before } from '../tenant.ts';

export const CHECKS = ['migrations', 'quotas', 'namespace', 'status', 'events'] as const;
export type CheckName = (typeof CHECKS)[number];

/** The result of one check of one tenant, from the objects on the API server. */
export interface CheckResult {
  readonly namespace: string;
  readonly check: CheckName;
  /** A line for each problem; empty: the check passes. */
  readonly wrong: readonly string[];
}

/** The tenant to check, and the client for it. */
export interface Case {
  readonly tenant: Tenant;
  readonly kind: ScenarioKind;
  readonly before: Before;
  readonly admin: Cluster;
}

/** The line when the condition is false. */
export const unless = (holds: boolean, line: string): string[] => (holds ? [] : [line]);
