import { overheadAsQuantity } from './compute-resources.ts';
import type { MigrationView } from './migration-phases.ts';
import type { Configuration } from './objects.ts';
import { migrationLimits } from './parallel-limits.ts';
import type { Release } from './release.ts';

/** The VMI's migration state at the hand-over, as a merge patch: what an earlier migration left is taken out. */
export function renderedState(
  view: MigrationView,
  { configuration, release }: { readonly configuration: Configuration; readonly release: Release },
): Record<string, unknown> {
  const { migration, vmi, source, target } = view;
  const before = Object.keys(vmi?.status?.migrationState ?? {}).map((field) => [field, null] as const);
  return {
    ...Object.fromEntries<unknown>(before),
    migrationUid: migration.metadata.uid,
    sourceNode: vmi?.status?.nodeName,
    sourcePod: source?.metadata.name,
    targetNode: target?.spec.nodeName,
    targetPod: target?.metadata.name,
    ...(vmi === undefined
      ? {}
      : { targetMemoryOverhead: overheadAsQuantity({ vmi, configuration, release }) }),
    migrationConfiguration: { ...DEFAULTS, ...migrationLimits(configuration) },
  };
}

/** KubeVirt's own defaults (facts/kubevirt.md §4). */
const DEFAULTS = {
  allowAutoConverge: false,
  allowPostCopy: false,
  allowWorkloadDisruption: false,
  bandwidthPerMigration: '0',
  completionTimeoutPerGiB: 150,
  maxDowntimeMs: 900,
  nodeDrainTaintKey: 'kubevirt.io/drain',
  progressTimeout: 150,
  unsafeMigrationOverride: false,
  utilityVolumesTimeout: 150,
};
