/** The next step of virt-handler and of the launchers for a guest on its way between clusters (facts/cross-cluster.md C2, C6). Pure. */
import { ANNOTATIONS, LABELS } from '../objects/names.ts';
import { isOver } from '../objects/pods.ts';
import type { LauncherPod, MigrationState, Vmi } from '../objects/types.ts';
import { isHandedToNode, isReceiver, sideIn } from './sides.ts';
import type { Timings } from '../nodes/steps.ts';

/**
 * How far a guest is on its way: under way, arrived, called back, or `failed` with both launchers there; `broken` by the end of a launcher
 * while the guest was whole on the source. In `post-copy` it runs on the target and the rest of its memory is on the source, so that it is
 * `lost` with either launcher.
 */
export type TransferState = 'running' | 'post-copy' | 'done' | 'broken' | 'lost' | 'aborted' | 'failed';

/** Steps that patch the VMI. */
export type CrossVmiStep =
  | 'send'
  | 'go-post-copy'
  | 'abort-sending'
  | 'fail-sending'
  | 'mark-lost'
  | 'prepare-receiver'
  | 'detect-guest'
  | 'receive'
  | 'complete'
  | 'clear-receiver';

/** Steps that end a launcher, or only the transfer. */
export type CrossPodStep = 'transfer' | 'leave' | 'end-receiver' | 'break-receiver' | 'empty-receiver';

export type CrossStep = CrossVmiStep | CrossPodStep;

/** Which of the nodes' timings a step takes. */
export const TIMING_OF_CROSSING: Readonly<Record<CrossStep, keyof Timings>> = {
  send: 'handlerMs',
  'go-post-copy': 'migrationMs',
  transfer: 'migrationMs',
  'abort-sending': 'handlerMs',
  'fail-sending': 'handlerMs',
  leave: 'leaveMs',
  'mark-lost': 'handlerMs',
  'prepare-receiver': 'handlerMs',
  'detect-guest': 'handlerMs',
  receive: 'handlerMs',
  complete: 'handlerMs',
  'clear-receiver': 'handlerMs',
  'end-receiver': 'handlerMs',
  'break-receiver': 'handlerMs',
  'empty-receiver': 'emptyMs',
};

export interface CrossView {
  readonly vmi: Vmi;
  readonly launchers: readonly LauncherPod[];
  readonly transfer: TransferState | undefined;
}

/** By which the nodes of both clusters know a transfer. */
export const transferIdOf = ({ status }: Vmi): string =>
  status?.migrationState?.targetState?.migrationUID ?? '';

/** Undefined: there is nothing to do now, or its migration is not between clusters. */
export function crossStep(view: CrossView): CrossStep | undefined {
  switch (sideIn(view.vmi)) {
    case 'source':
      return sourceStep(view);
    case 'target':
      return targetStep(view);
    case undefined:
      return undefined;
  }
}

const stateOf = ({ status }: Vmi): MigrationState => status?.migrationState ?? {};

/** The launcher of its VMI's migration at this end, alive or not. */
export function endOf(vmi: Vmi, launchers: readonly LauncherPod[]): LauncherPod | undefined {
  const { sourceState, targetState } = stateOf(vmi);
  const name = sideIn(vmi) === 'source' ? sourceState?.pod : targetState?.pod;
  return launchers.find(({ metadata }) => metadata.name === name);
}

const isAlive = (pod: LauncherPod | undefined): boolean => pod !== undefined && !isOver(pod);

/** A launcher that fails ends the migration as failed, also once the guest is active there (recorded: cross-rerunonfailure-target-away). */
function sourceStep({ vmi, launchers, transfer }: CrossView): CrossStep | undefined {
  const state = stateOf(vmi);
  const hasStarted = state.startTimestamp !== undefined;
  const launcher = endOf(vmi, launchers);
  if (transfer === 'done' && isAlive(launcher)) return 'leave';
  if (state.completed === true) return undefined;
  if (vmi.status?.phase === 'Failed') return hasStarted ? 'mark-lost' : undefined;
  return isAlive(launcher) ? sendingStep(state, transfer) : undefined;
}

function sendingStep(state: MigrationState, transfer: TransferState | undefined): CrossStep | undefined {
  if (state.startTimestamp !== undefined) return startedStep(state, transfer);
  const isOurs = state.migrationUid === state.sourceState?.migrationUID;
  return isOurs && state.targetNodeAddress !== undefined ? 'send' : undefined;
}

/** libvirt calls no guest back from post-copy. */
function startedStep(state: MigrationState, transfer: TransferState | undefined): CrossStep {
  if (transfer === 'failed') return 'fail-sending';
  const isTooLate = transfer === 'post-copy' || transfer === 'lost';
  if (state.abortRequested === true && !isTooLate) return 'abort-sending';
  const mayGo = state.migrationConfiguration?.allowPostCopy === true && transfer !== 'broken';
  return mayGo && state.mode !== 'PostCopy' ? 'go-post-copy' : 'transfer';
}

function targetStep({ vmi, launchers, transfer }: CrossView): CrossStep | undefined {
  if (!isReceiver(vmi) || !isHandedToNode(vmi)) return undefined;
  const state = stateOf(vmi);
  const launcher = endOf(vmi, launchers);
  if (state.completed === true)
    return state.failed === true && isAlive(launcher) ? 'end-receiver' : 'clear-receiver';
  return isAlive(launcher) ? receivingStep(state, transfer) : undefined;
}

/** Its guest stayed on the source. */
const STAYED: readonly (TransferState | undefined)[] = ['aborted', 'failed'];

function receivingStep(state: MigrationState, transfer: TransferState | undefined): CrossStep | undefined {
  if (state.endTimestamp !== undefined) return transfer === 'failed' ? 'mark-lost' : 'complete';
  if (transfer === 'done') return 'receive';
  if (transfer === 'broken' || transfer === 'lost') return 'break-receiver';
  if (STAYED.includes(transfer)) return 'empty-receiver';
  if (state.targetNodeAddress === undefined) return 'prepare-receiver';
  const isExpected = state.startTimestamp !== undefined && state.targetNodeDomainDetected !== true;
  return isExpected ? 'detect-guest' : undefined;
}

const ADDRESS = '10.19.0.1';
const PORTS = { 44001: 49152, 44002: 49153, 44003: 0 };

interface Change {
  readonly metadata?: Record<string, unknown>;
  readonly status?: Record<string, unknown>;
}

export interface Handler {
  readonly now: string;
  /** Whether both sides of the state stay on the target's VMI after a success: releases differ (recorded: cross-sides-cleared-next-crash). */
  readonly keepsSides: boolean;
}

/** virt-handler's merge patch of the VMI. Its precondition is the version that was seen. */
export function crossPatch(
  step: CrossVmiStep,
  vmi: Vmi,
  { now, keepsSides }: Handler,
): Record<string, unknown> {
  const { resourceVersion } = vmi.metadata;
  const { metadata, ...rest } = CHANGES[step](vmi, { now, keepsSides });
  return { metadata: { ...metadata, resourceVersion }, ...rest };
}

export const isVmiStep = (step: CrossStep): step is CrossVmiStep => step in CHANGES;

const inState = (migrationState: MigrationState): Change => ({ status: { migrationState } });

const failedAt = (endTimestamp: string, failureReason: string): MigrationState => ({
  ...{ completed: true, failed: true },
  failureReason,
  endTimestamp,
});

const CHANGES: Readonly<Record<CrossVmiStep, (vmi: Vmi, handler: Handler) => Change>> = {
  send: (_, { now }) => inState({ mode: 'PreCopy', startTimestamp: now }),
  'go-post-copy': () => inState({ mode: 'PostCopy' }),
  'abort-sending': (_, { now }) =>
    inState({ abortStatus: 'Succeeded', ...failedAt(now, 'Live migration aborted') }),
  // On the target too, where only the end of a copy that failed is relayed. Older releases take it for a success (kubevirt#17261).
  'mark-lost': () => inState({ completed: true, failed: true }),
  'fail-sending': (_, { now }) => inState(failedAt(now, 'Live migration is stuck')),
  'prepare-receiver': () =>
    inState({
      targetNodeAddress: ADDRESS,
      targetDirectMigrationNodePorts: PORTS,
      targetState: { nodeAddress: ADDRESS, directMigrationNodePorts: PORTS },
    }),
  'detect-guest': () => inState({ targetNodeDomainDetected: true, targetState: { domainDetected: true } }),
  // From here on the guest runs here.
  receive: ({ status }, { now }) => ({
    status: {
      nodeName: status?.migrationState?.targetNode,
      migrationState: {
        endTimestamp: now,
        targetNodeDomainReadyTimestamp: now,
        targetState: { domainReadyTimestamp: now },
      },
    },
  }),
  complete: () => ({ status: { migrationState: { completed: true }, migratedVolumes: null } }),
  'clear-receiver': ({ status }, { keepsSides }) => {
    const labels = { [LABELS.targetNodeName]: null };
    if (status?.migrationState?.failed === true) return { metadata: { labels } };
    return {
      metadata: { labels, annotations: { [ANNOTATIONS.createMigrationTarget]: null } },
      ...(keepsSides ? {} : { status: { migrationState: { sourceState: null, targetState: null } } }),
    };
  },
};
