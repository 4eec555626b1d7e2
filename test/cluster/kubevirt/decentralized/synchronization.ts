/** What a synchronization controller makes of a VMI and its VMIMs (facts/cross-cluster.md C3). Pure. */
import type { Condition } from '../../../../functions/domain/objects.ts';
import { isFinal } from '../migration-controller/phases.ts';
import { NOT_SYNCHRONIZED, SYNCHRONIZATION_FAILURE, SYNCHRONIZATION_FINALIZER } from '../objects/names.ts';
import type { Vmi, Vmim, VmiStatus } from '../objects/types.ts';
import { sideOf } from './sides.ts';

export const WAITING = 'waiting for incoming synchronization, unable to proceed';

/** The VMIM that the VMI's migration state is about. `migrations`: of this VMI. */
export const currentMigrationOf = (vmi: Vmi, migrations: readonly Vmim[]): Vmim | undefined =>
  migrations.find((migration) => {
    const { sourceState, targetState } = vmi.status?.migrationState ?? {};
    const own = sideOf(migration) === 'source' ? sourceState : targetState;
    return sideOf(migration) !== undefined && own?.migrationUID === migration.metadata.uid;
  });

/** Those of them whose finalizer is to go, or to be added; undefined: it is as it should be. */
export function finalizersOf(migration: Vmim): string[] | undefined {
  const { finalizers = [], deletionTimestamp } = migration.metadata;
  if (sideOf(migration) === undefined) return undefined;
  const isHeld = finalizers.includes(SYNCHRONIZATION_FINALIZER);
  const shallHold = !isFinal(migration) && deletionTimestamp === undefined;
  if (isHeld === shallHold) return undefined;
  return shallHold
    ? [...finalizers, SYNCHRONIZATION_FINALIZER]
    : finalizers.filter((name) => name !== SYNCHRONIZATION_FINALIZER);
}

/** The VMI's conditions with this failure, or without one; undefined: they are so already. */
export function conditionsWith(vmi: Vmi, message: string | undefined, now: string): Condition[] | undefined {
  const conditions = vmi.status?.conditions ?? [];
  const known = conditions.find(({ type }) => type === SYNCHRONIZATION_FAILURE);
  if (known?.message === message) return undefined;
  const others = conditions.filter((one) => one !== known);
  if (message === undefined) return others;
  const failure: Condition = {
    type: SYNCHRONIZATION_FAILURE,
    status: 'True',
    reason: NOT_SYNCHRONIZED,
    message,
    lastProbeTime: null,
    lastTransitionTime: now,
  };
  return [...others, failure];
}

/** A message of this controller to another one. */
export interface Outgoing {
  readonly to: string;
  readonly status: VmiStatus;
}

/** What the source tells, with its own address; undefined: it knows no target. */
export function fromSourceSide({ status = {} }: Vmi, syncAddress: string): Outgoing | undefined {
  const { sourceState, targetState } = status.migrationState ?? {};
  const to = targetState?.syncAddress ?? '';
  if (to === '' || sourceState?.migrationUID === undefined) return undefined;
  const migrationState = { ...status.migrationState, sourceState: { ...sourceState, syncAddress } };
  return { to, status: { ...status, migrationState } };
}

/** The same of the target: undefined until the source has called. */
export function fromTargetSide({ status = {} }: Vmi, syncAddress: string): Outgoing | undefined {
  const { sourceState, targetState } = status.migrationState ?? {};
  const to = sourceState?.syncAddress ?? '';
  if (to === '' || targetState?.migrationUID === undefined) return undefined;
  const migrationState = { ...status.migrationState, targetState: { ...targetState, syncAddress } };
  return { to, status: { ...status, migrationState } };
}

/** Whether a message for this VMIM may change its VMI: not for one that is over, or while another one has the VMI. */
export function isAccepted(migration: Vmim, vmi: Vmi): boolean {
  const holder = vmi.status?.migrationState?.migrationUid ?? '';
  return !isFinal(migration) && (holder === '' || holder === migration.metadata.uid);
}
