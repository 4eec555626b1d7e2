/** What KubeVirt reads of a migration between clusters off a VMI and its VMIM (facts/cross-cluster.md C). Pure. */
import { ANNOTATIONS, LABELS } from '../objects/names.ts';
import type { MigrationState, Vmi, Vmim } from '../objects/types.ts';

export type Side = 'source' | 'target';

/** Undefined: a migration within its cluster. */
export function sideOf({ spec }: Pick<Vmim, 'spec'>): Side | undefined {
  if (spec.sendTo === undefined) return spec.receive === undefined ? undefined : 'target';
  return spec.receive?.migrationID === spec.sendTo.migrationID ? undefined : 'source';
}

/** The id that both sides' VMIMs have in common. */
export const migrationIdOf = ({ spec }: Pick<Vmim, 'spec'>): string =>
  (spec.sendTo ?? spec.receive)?.migrationID ?? '';

const stateOf = (vmi: Vmi | undefined): MigrationState => vmi?.status?.migrationState ?? {};

/** The VMI waits for a guest, or has just received it. */
export const isReceiver = ({ metadata }: Vmi): boolean =>
  metadata.annotations?.[ANNOTATIONS.createMigrationTarget] === 'true';

/** Its guest is about to come: a virt-handler prepares. */
export const isHandedToNode = ({ metadata }: Vmi): boolean =>
  metadata.labels?.[LABELS.targetNodeName] !== undefined;

/** Which part the VMI has in its last migration between clusters; undefined: there was none. */
export function sideIn(vmi: Vmi): Side | undefined {
  const { sourceState, targetState } = stateOf(vmi);
  const { uid } = vmi.metadata;
  if (sourceState?.virtualMachineInstanceUID === uid) return 'source';
  return isReceiver(vmi) || targetState?.virtualMachineInstanceUID === uid ? 'target' : undefined;
}

/** Both sides have heard of each other (IsMigrationSynchronized). */
export const isSynchronized = (vmi: Vmi | undefined): boolean => {
  const { sourceState, targetState } = stateOf(vmi);
  return (sourceState?.migrationUID ?? '') !== '' && (targetState?.migrationUID ?? '') !== '';
};

/** The source has sent all that the target's pod needs (IsMigrationSourceSynchronized). A node without CPU labels has too little. */
export function isSourceSynchronized(vmi: Vmi | undefined): boolean {
  const { sourceState = {}, targetState } = stateOf(vmi);
  const { migrationUID, pod, node, nodeSelectors = {} } = sourceState;
  const isComplete = [migrationUID, pod, node].every((text) => (text ?? '') !== '');
  return targetState !== undefined && isComplete && Object.keys(nodeSelectors).length > 0;
}

/**
 * KubeVirt's IsDecentralizedMigration: exactly one of the two addresses is known. A synchronization controller that restarts makes
 * it false on its own side, by writing its own address (C7.3).
 */
export function isDecentralized(vmi: Vmi | undefined): boolean {
  const { sourceState, targetState } = stateOf(vmi);
  if (sourceState === undefined || targetState === undefined) return false;
  return (sourceState.syncAddress === undefined) !== (targetState.syncAddress === undefined);
}

/** IsMigrationSource: a receiver with a prepared node is known. */
export function isPreparedSource(vmi: Vmi): boolean {
  const { targetState } = stateOf(vmi);
  return targetState?.syncAddress !== undefined && targetState.nodeAddress !== undefined;
}
