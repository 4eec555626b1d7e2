/** Which VMIs an upgrade or a change of their own moves, ends or leaves (facts/kubevirt.md §3.1). Pure. */
import { isChanging } from './automated-migrations.ts';
import { hasUnfinishedMigration } from '../evacuation-controller/evacuation.ts';
import { isMigratable } from '../virt-api/eviction-review.ts';
import { isFinal, isRunning } from '../migration-controller/phases.ts';
import { ANNOTATIONS } from '../objects/names.ts';
import type { FullKubeVirt } from '../objects/objects.ts';
import { migrationLimits } from '../migration-controller/parallel-limits.ts';
import type { Release } from '../objects/release.ts';
import type { Vmi, Vmim } from '../objects/types.ts';

export interface UpdateView {
  readonly kubevirt: FullKubeVirt;
  /** Of the whole cluster. */
  readonly vmis: readonly Vmi[];
  readonly migrations: readonly Vmim[];
  /** Of virt-controller. */
  readonly release: Release;
}

export interface WorkloadUpdate {
  /** The CR's outdatedVirtualMachineInstanceWorkloads; those that migrate now count too. */
  readonly outdated: number;
  /** Of these at most `newMigrations` get one now. */
  readonly toMigrate: readonly Vmi[];
  readonly newMigrations: number;
  readonly toEvict: readonly Vmi[];
  /** Its own unfinished migrations without a reason. */
  readonly toAbort: readonly { readonly vmi: Vmi; readonly migrations: readonly Vmim[] }[];
}

/** Undefined: KubeVirt itself is not deployed, or is being updated. */
export function workloadUpdateOf(view: UpdateView): WorkloadUpdate | undefined {
  const { kubevirt, migrations } = view;
  const { phase, observedDeploymentID, targetDeploymentID } = kubevirt.status ?? {};
  if (phase !== 'Deployed' || observedDeploymentID !== targetDeploymentID) return undefined;
  const methods = kubevirt.spec?.workloadUpdateStrategy?.workloadUpdateMethods ?? [];
  const living = view.vmis.filter(isLiving);
  const outdated = living.filter((vmi) => isOutdated(vmi, view) || (isChanging(vmi) && !isMigrating(vmi)));
  const idle = outdated.filter((vmi) => !isMigrating(vmi) && !hasUnfinishedMigration(vmi, migrations));
  const canMigrate = (vmi: Vmi): boolean => methods.includes('LiveMigrate') && isMigratable(vmi);
  const limits = migrationLimits(kubevirt.spec?.configuration ?? {});
  return {
    outdated: outdated.length,
    toMigrate: idle.filter(canMigrate),
    // Migrations that a quota refuses do not run, so this is no limit on those.
    newMigrations: Math.max(0, limits.parallelMigrationsPerCluster - migrations.filter(isRunning).length),
    toEvict: methods.includes('Evict') ? idle.filter((vmi) => !canMigrate(vmi)) : [],
    toAbort: living
      .filter((vmi) => !isOutdated(vmi, view) && !isChanging(vmi) && !hasArrived(vmi))
      .map((vmi) => ({ vmi, migrations: migrations.filter((one) => isOwnOf(vmi, one)) }))
      .filter((one) => one.migrations.length > 0),
  };
}

const isLiving = ({ metadata, status }: Vmi): boolean =>
  status?.phase === 'Running' && metadata.deletionTimestamp === undefined;

/** Unknown (during a migration) is not outdated. */
const isOutdated = ({ status }: Vmi, { release }: UpdateView): boolean =>
  (status?.launcherContainerImageVersion ?? release.launcherImage) !== release.launcherImage;

const isMigrating = ({ status }: Vmi): boolean =>
  status?.migrationState?.startTimestamp !== undefined && status.migrationState.endTimestamp === undefined;

/** Its last migration, of any reason, brought it to its target: KubeVirt then aborts none, not even the next one. */
const hasArrived = ({ status }: Vmi): boolean =>
  status?.migrationState?.targetNodeDomainReadyTimestamp !== undefined;

const isOwnOf = ({ metadata }: Vmi, migration: Vmim): boolean =>
  migration.metadata.namespace === metadata.namespace &&
  migration.spec.vmiName === metadata.name &&
  migration.metadata.annotations?.[ANNOTATIONS.workloadUpdate] !== undefined &&
  migration.metadata.deletionTimestamp === undefined &&
  !isFinal(migration);
