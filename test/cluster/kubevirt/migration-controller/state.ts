import { overheadAsQuantity } from '../objects/compute-resources.ts';
import { sideOf } from '../decentralized/sides.ts';
import type { MigrationView } from './phases.ts';
import type { Configuration } from '../objects/objects.ts';
import { migrationLimits } from './parallel-limits.ts';
import type { Release } from '../objects/release.ts';
import type { LauncherPod, TargetState, Vmi } from '../objects/types.ts';

interface RenderedFor {
  readonly configuration: Configuration;
  readonly release: Release;
}

/**
 * The VMI's migration state at the hand-over, as a merge patch. What an earlier migration left is taken out; what the other cluster
 * has said stays.
 */
export function stateAtHandOver(view: MigrationView, rendered: RenderedFor): Record<string, unknown> {
  const { migration, vmi, target } = view;
  const common = {
    migrationUid: migration.metadata.uid,
    targetNode: target?.spec.nodeName,
    targetPod: target?.metadata.name,
    ...(vmi === undefined ? {} : { targetMemoryOverhead: overheadAsQuantity({ vmi, ...rendered }) }),
    migrationConfiguration: configurationOf(rendered.configuration),
  };
  const isLocal = sideOf(migration) === undefined;
  return isLocal ? { ...withinCluster(view), ...common } : { ...fromOtherCluster(view), ...common };
}

const configurationOf = (configuration: Configuration): Record<string, unknown> => ({
  ...DEFAULTS,
  allowPostCopy: configuration.migrations?.allowPostCopy ?? false,
  ...migrationLimits(configuration),
});

function withinCluster({ vmi, source }: MigrationView): Record<string, unknown> {
  const before = Object.keys(vmi?.status?.migrationState ?? {}).map((field) => [field, null] as const);
  const from = { sourceNode: vmi?.status?.nodeName, sourcePod: source?.metadata.name };
  return { ...Object.fromEntries<unknown>(before), ...from };
}

function fromOtherCluster({ migration, vmi, target }: MigrationView): Record<string, unknown> {
  return {
    // KubeVirt's slip: the VMIM has the receiver's pod for the source's. The next word of the other side corrects it.
    sourcePod: migration.status?.migrationState?.sourcePod,
    sourceNode: vmi?.status?.migrationState?.sourceState?.node,
    targetState: {
      migrationUID: migration.metadata.uid,
      ...(target === undefined ? {} : placeOf(target)),
      ...(vmi === undefined ? {} : guestOf(vmi)),
    },
    completed: null,
    failed: null,
  };
}

const placeOf = ({ spec: { nodeName = '' }, metadata }: LauncherPod): TargetState => ({
  node: nodeName,
  pod: metadata.name,
});

const guestOf = ({ metadata: { uid, name, namespace = '' } }: Vmi): TargetState => ({
  virtualMachineInstanceUID: uid,
  domainNamespace: namespace,
  domainName: name,
});

/** KubeVirt's own defaults (facts/kubevirt.md §4). */
const DEFAULTS = {
  allowAutoConverge: false,
  allowWorkloadDisruption: false,
  bandwidthPerMigration: '0',
  completionTimeoutPerGiB: 150,
  maxDowntimeMs: 900,
  nodeDrainTaintKey: 'kubevirt.io/drain',
  progressTimeout: 150,
  unsafeMigrationOverride: false,
  utilityVolumesTimeout: 150,
};
