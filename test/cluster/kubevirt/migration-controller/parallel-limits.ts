/** KubeVirt's limits on migrations at the same time (facts/kubevirt.md §1.5). Pure. */
import type { Configuration } from '../objects/objects.ts';

export interface MigrationLimits {
  readonly parallelMigrationsPerCluster: number;
  readonly parallelOutboundMigrationsPerNode: number;
}

export const migrationLimits = ({ migrations = {} }: Configuration): MigrationLimits => ({
  parallelMigrationsPerCluster: migrations.parallelMigrationsPerCluster ?? 5,
  parallelOutboundMigrationsPerNode: migrations.parallelOutboundMigrationsPerNode ?? 2,
});

/** `running`: the source nodes of all migrations that count; `node`: of the one that wants to start. */
export const isLimitReached = (
  limits: MigrationLimits,
  running: readonly (string | undefined)[],
  node: string | undefined,
): boolean =>
  running.length >= limits.parallelMigrationsPerCluster ||
  running.filter((source) => source === node).length >= limits.parallelOutboundMigrationsPerNode;

/** When a migration that waits for the limits is looked at again, in milliseconds. */
export function waitForLimitMs(priority: string | undefined): number {
  if (priority === 'system-critical') return 1000;
  return priority === 'user-triggered' ? 3000 : 5000;
}
