/** What each phase of one side waits for and does, while nothing is wrong (facts/cross-cluster.md C2). Pure. */
import { isSame, mergeBetween } from '../vm-controller/merge-between.ts';
import {
  enter,
  isAlive,
  next,
  phaseOf,
  SUCCEEDED,
  WAIT,
  waitForTarget,
  waitForVolumes,
  type Decision,
  type MigrationView,
} from '../migration-controller/phases.ts';
import { ANNOTATIONS } from '../objects/names.ts';
import type { MigrationState, Vmi, VmimPhase } from '../objects/types.ts';
import { isSourceSynchronized, isSynchronized, sideOf } from './sides.ts';
import { migratedVolumesOf } from './volumes.ts';

export const stateOf = ({ vmi }: MigrationView): MigrationState => vmi?.status?.migrationState ?? {};

export const isHandedOver = (view: MigrationView): boolean =>
  isSynchronized(view.vmi) && stateOf(view).migrationUid === view.migration.metadata.uid;

export const isTarget = ({ migration }: MigrationView): boolean => sideOf(migration) === 'target';

/** A merge patch of the VMI's migration state. It names the version that was seen, as KubeVirt's patches test the old value. */
export const toState = (
  vmi: Vmi,
  after: MigrationState,
): { readonly do: 'patch-vmi'; readonly merge: Record<string, unknown> } => ({
  do: 'patch-vmi',
  merge: {
    metadata: { resourceVersion: vmi.metadata.resourceVersion },
    status: { migrationState: mergeBetween(vmi.status?.migrationState, after) },
  },
});

type InPhase = (view: MigrationView & { readonly vmi: Vmi }) => Decision;

export function inItsPhase(view: MigrationView): Decision | undefined {
  const { vmi, migration } = view;
  const phases = isTarget(view) ? AS_TARGET : AS_SOURCE;
  return vmi === undefined ? WAIT : phases[phaseOf(migration)]?.({ ...view, vmi });
}

/** The state of a new attempt: what an earlier one left stays, unless that one has completed. */
const startedFrom = (view: MigrationView): MigrationState =>
  stateOf(view).completed === true ? {} : stateOf(view);

const isPreparing = (view: MigrationView): boolean => {
  const { targetState = {} } = stateOf(view);
  return isSynchronized(view.vmi) && targetState.pod !== undefined && targetState.node !== undefined;
};

const SAME: Partial<Record<VmimPhase, InPhase>> = {
  TargetReady: (view) => (stateOf(view).startTimestamp === undefined ? WAIT : next(view, 'Running')),
};

const AS_SOURCE: Partial<Record<VmimPhase, InPhase>> = {
  ...SAME,
  Synchronizing: (view) => {
    const { migration, vmi } = view;
    const { uid, namespace } = vmi.metadata;
    const before = startedFrom(view);
    const after: MigrationState = {
      ...before,
      sourceState: {
        ...before.sourceState,
        migrationUID: migration.metadata.uid,
        virtualMachineInstanceUID: uid,
        ...(namespace === undefined ? {} : { domainNamespace: namespace }),
      },
      targetState: { ...before.targetState, syncAddress: migration.spec.sendTo?.connectURL ?? '' },
    };
    if (!isSame(vmi.status?.migrationState, after)) return toState(vmi, after);
    return isSynchronized(vmi) ? toPending(view) : WAIT;
  },
  Pending: (view) => (view.vmi.status?.phase === 'Running' ? next(view, 'Scheduling') : WAIT),
  Scheduling: (view) => {
    const { vmi } = view;
    const after = withSource(view);
    if (!isSame(vmi.status?.migrationState, after)) return toState(vmi, after);
    const migratedVolumes = migratedVolumesOf(vmi, view.claims ?? [], 'both');
    if (migratedVolumes.length > 0 && vmi.status?.migratedVolumes === undefined) {
      const { resourceVersion } = vmi.metadata;
      return { do: 'patch-vmi', merge: { metadata: { resourceVersion }, status: { migratedVolumes } } };
    }
    return stateOf(view).targetState?.pod === undefined ? WAIT : next(view, 'Scheduled');
  },
  Scheduled: (view) => (isPreparing(view) ? next(view, 'PreparingTarget') : WAIT),
  PreparingTarget: (view) => {
    const isReadyThere = stateOf(view).targetState?.nodeAddress !== undefined;
    return isSourceSynchronized(view.vmi) && isReadyThere ? next(view, 'TargetReady') : WAIT;
  },
  Running: (view) => (stateOf(view).completed === true ? succeed(view) : WAIT),
};

function toPending(view: MigrationView): Decision {
  const { migration, source } = view;
  const migrationState = { ...migration.status?.migrationState, sourcePod: source?.metadata.name ?? '' };
  return { do: 'set-status', status: { ...enter(view, 'Pending'), migrationState } };
}

const succeed = (view: MigrationView): Decision => ({
  do: 'set-status',
  status: enter(view, 'Succeeded'),
  event: SUCCEEDED,
});

/** What the target has to know of the guest's node and pod. Cluster and VMIM are one from here on (the hand-over of this side). */
function withSource(view: MigrationView & { readonly vmi: Vmi }): MigrationState {
  const { migration, vmi, nodeSelectors = {} } = view;
  const { nodeName: node = '', selinuxContext } = vmi.status ?? {};
  const pod = migration.status?.migrationState?.sourcePod ?? '';
  const state = stateOf(view);
  return {
    ...state,
    migrationUid: migration.metadata.uid,
    sourceNode: node,
    sourcePod: pod,
    sourceState: {
      ...state.sourceState,
      node,
      pod,
      nodeSelectors,
      persistentStatePVCName: '',
      ...(selinuxContext === undefined ? {} : { selinuxContext }),
    },
  };
}

const AS_TARGET: Partial<Record<VmimPhase, InPhase>> = {
  ...SAME,
  WaitingForSync: (view) => {
    const { migration, vmi } = view;
    const before = startedFrom(view);
    const after: MigrationState = {
      ...before,
      targetState: { ...before.targetState, migrationUID: migration.metadata.uid },
    };
    if (!isSame(vmi.status?.migrationState, after)) return toState(vmi, after);
    return isSourceSynchronized(vmi) ? next(view, 'Pending') : WAIT;
  },
  Pending: (view) => {
    const { target } = view;
    if (target === undefined || !isAlive(target)) return { do: 'create-target' };
    if (view.migration.status?.migrationState?.sourcePod === undefined)
      return { do: 'set-status', status: { migrationState: { sourcePod: target.metadata.name } } };
    return waitForVolumes(view, target) ?? next(view, 'Scheduling');
  },
  Scheduling: waitForTarget,
  Scheduled: (view) => {
    if (!isHandedOver(view)) return { do: 'hand-over' };
    return isPreparing(view) ? next(view, 'PreparingTarget') : WAIT;
  },
  PreparingTarget: (view) => {
    const { targetNode, targetNodeAddress } = stateOf(view);
    return targetNode !== undefined && targetNodeAddress !== undefined ? next(view, 'TargetReady') : WAIT;
  },
  Running: (view) => {
    const { completed, targetNodeDomainReadyTimestamp } = stateOf(view);
    const isMarked = view.target?.metadata.annotations?.[ANNOTATIONS.targetReady] !== undefined;
    if (!isMarked && targetNodeDomainReadyTimestamp !== undefined) return { do: 'mark-target-ready' };
    return completed === true ? succeed(view) : WAIT;
  },
};
