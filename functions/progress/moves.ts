import { enteredAt } from '../domain/migration.ts';
import { KUBEVIRT } from '../domain/names.ts';
import type { Migration } from '../domain/objects.ts';
import { MAINTENANCE_KINDS, type Subject } from '../domain/progress/progress-object.ts';
import { isFor } from './vm-state.ts';

/**
 * Milliseconds for which a migration that has ended shows that a drain or an upgrade has moved its VM. The guard may restart
 * meanwhile, and `progress` may start late. Shorter than a final MaintenanceProgress stays, so it opens no second one.
 */
const SHOWN_MS = 600_000;

/** Whether KubeVirt moved a VM by this migration for a drain or an upgrade, a short time ago. `now`: milliseconds. */
export const isRecentMove = (migration: Migration, now: number): boolean =>
  migration.status?.phase === 'Succeeded' &&
  MAINTENANCE_KINDS.some((kind) => isFor(migration, kind)) &&
  now - endOfMove(migration) < SHOWN_MS;

/** When the migration ended, by virt-controller's clock, in milliseconds. */
export const endOfMove = (migration: Migration): number =>
  Date.parse(enteredAt(migration) ?? migration.metadata.creationTimestamp);

/** Whether it moved a VM off this node, or for an upgrade. */
export const isMoveOf = (migration: Migration, subject: Subject): boolean =>
  subject.kind === 'Drain' ? isOffNode(migration, subject.node) : isForUpgrade(migration);

/** The annotation alone does not count where virt-controller has written the node: a tenant may have set it. */
function isOffNode({ metadata, status }: Migration, node: string): boolean {
  const { sourceNode = node } = status?.migrationState ?? {};
  return metadata.annotations?.[KUBEVIRT.evacuation] === node && sourceNode === node;
}

/**
 * Whether it moves a VM for an upgrade. A change of a VM, which has another priority, is none (facts/kubevirt.md §3.1). Without
 * priorities nothing else on the migration tells the two apart, and a change must open no upgrade: then none counts.
 */
export const isForUpgrade = (migration: Migration): boolean =>
  isFor(migration, 'Upgrade') && migration.spec.priority === 'system-critical';
