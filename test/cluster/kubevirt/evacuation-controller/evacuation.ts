/** Which VMIs of a node are to be evacuated now (facts/kubevirt.md §3.2). Pure. */
import { evictionStrategyOf, isMarked, isMigratable } from '../virt-api/eviction-review.ts';
import { isFinal, isRunning } from '../migration-controller/phases.ts';
import type { NodeObject } from '../objects/node-objects.ts';
import type { Configuration } from '../objects/objects.ts';
import { migrationLimits } from '../migration-controller/parallel-limits.ts';
import { isOver, launchersOf } from '../objects/pods.ts';
import type { LauncherPod, Vmi, Vmim } from '../objects/types.ts';

export interface EvacuationView {
  /** Name of the node. */
  readonly node: string;
  /** Undefined: the cluster has no Node objects. */
  readonly nodeObject: NodeObject | undefined;
  /** Of the whole cluster, as all that follow. */
  readonly vmis: readonly Vmi[];
  readonly migrations: readonly Vmim[];
  readonly pods: readonly LauncherPod[];
  readonly configuration: Configuration;
}

export interface Evacuation {
  /** Each gets a migration now. */
  readonly toMigrate: readonly Vmi[];
  /** They want to leave, and cannot. */
  readonly notMigratable: readonly Vmi[];
  /** No slot is free, so the node is looked at again later. */
  readonly isFull: boolean;
}

/** Deprecated since KubeVirt marks VMIs by evictions. */
const DRAIN_TAINT = 'kubevirt.io/drain';

export function evacuationOf(view: EvacuationView): Evacuation {
  const isDrained = hasDrainTaint(view);
  const leaving = view.vmis.filter(
    (vmi) =>
      vmi.status?.nodeName === view.node &&
      (isDrained || (isMarked(vmi) && vmi.status.evacuationNodeName === view.node)) &&
      isEvacuable(vmi, view),
  );
  const candidates = leaving.filter((vmi) => isMigratable(vmi) && isFreeToMigrate(vmi, view));
  const notMigratable = leaving.filter((vmi) => !isMigratable(vmi));
  const free = Math.max(0, freeSpots(view));
  return {
    toMigrate: candidates.slice(0, free),
    notMigratable: notMigratable.slice(0, Math.max(0, free - candidates.length)),
    isFull: free === 0 && leaving.length > 0,
  };
}

/** Of KubeVirt's limits. Migrations that are Pending take none, so that more than these get one in the end. */
function freeSpots({ node, vmis, migrations, configuration }: EvacuationView): number {
  const limits = migrationLimits(configuration);
  const running = migrations.filter(isRunning);
  const isOnNode = ({ metadata, spec }: Vmim): boolean =>
    vmis.some(
      (vmi) =>
        vmi.metadata.namespace === metadata.namespace &&
        vmi.metadata.name === spec.vmiName &&
        vmi.status?.nodeName === node,
    );
  return Math.min(
    limits.parallelMigrationsPerCluster - running.length,
    limits.parallelOutboundMigrationsPerNode - running.filter(isOnNode).length,
  );
}

const hasDrainTaint = ({ nodeObject, configuration }: EvacuationView): boolean =>
  nodeObject?.spec?.taints?.some(
    ({ key, effect }) =>
      key === (configuration.migrations?.nodeDrainTaintKey ?? DRAIN_TAINT) && effect === 'NoSchedule',
  ) === true;

/** It lives, and its strategy is to migrate (External ones are somebody else's). */
function isEvacuable(vmi: Vmi, { configuration }: EvacuationView): boolean {
  if (vmi.metadata.deletionTimestamp !== undefined) return false;
  if (['Succeeded', 'Failed'].includes(vmi.status?.phase ?? '')) return false;
  const strategy = evictionStrategyOf(vmi, configuration);
  return strategy === 'LiveMigrate' || (strategy === 'LiveMigrateIfPossible' && isMigratable(vmi));
}

function isFreeToMigrate(vmi: Vmi, { migrations, pods }: EvacuationView): boolean {
  if (hasUnfinishedMigration(vmi, migrations)) return false;
  const ofNamespace = pods.filter(({ metadata }) => metadata.namespace === vmi.metadata.namespace);
  return launchersOf(vmi, ofNamespace).filter((pod) => !isOver(pod)).length <= 1;
}

export const hasUnfinishedMigration = ({ metadata }: Vmi, migrations: readonly Vmim[]): boolean =>
  migrations.some(
    (migration) =>
      migration.metadata.namespace === metadata.namespace &&
      migration.spec.vmiName === metadata.name &&
      !isFinal(migration),
  );
