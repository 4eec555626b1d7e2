/** The next step of scheduler, kubelet and virt-handler (fields from test/recorded). Pure: values in, a step out. */
import type { Condition } from '../../../../functions/domain/objects.ts';
import { isReceiver, sideIn } from '../decentralized/sides.ts';
import { LABELS } from '../objects/names.ts';
import { isOver } from '../objects/pods.ts';
import type { LauncherPod, MigrationState, Vmi } from '../objects/types.ts';

/** How long the nodes take, in milliseconds. */
export interface Timings {
  /** Scheduler: a pod is bound to a node. */
  readonly bindMs: number;
  /** Kubelet: a bound pod runs. */
  readonly runMs: number;
  /** Kubelet: a deleted pod has ended. */
  readonly endMs: number;
  /** virt-handler: each of its steps (the guest starts, the target prepares, the migration starts or is aborted). */
  readonly handlerMs: number;
  /** The migration itself. */
  readonly migrationMs: number;
  /** A launcher whose guest has left for another cluster: it ends. */
  readonly leaveMs: number;
  /** A launcher whose guest was called back by another cluster, and that hears nothing of it: it ends. */
  readonly emptyMs: number;
}

/** As in the recorded histories. */
export const DEFAULT_TIMINGS: Timings = {
  bindMs: 10,
  runMs: 30,
  endMs: 20,
  handlerMs: 10,
  migrationMs: 1000,
  leaveMs: 300,
  // Inferred: the recorded ones had heard of it.
  emptyMs: 5_000,
};

export type PodStep = 'bind' | 'run' | 'end';
export type VmiStep =
  'start-guest' | 'prepare-target' | 'start' | 'abort' | 'fail' | 'finish' | 'leave-source';

export const TIMING_OF: Readonly<Record<PodStep | VmiStep, keyof Timings>> = {
  bind: 'bindMs',
  run: 'runMs',
  end: 'endMs',
  'start-guest': 'handlerMs',
  'prepare-target': 'handlerMs',
  start: 'handlerMs',
  abort: 'handlerMs',
  fail: 'handlerMs',
  finish: 'migrationMs',
  'leave-source': 'handlerMs',
};

export function podStep({ metadata, spec, status }: LauncherPod): PodStep | undefined {
  if (metadata.deletionTimestamp !== undefined) return 'end';
  if (spec.nodeName === undefined) return 'bind';
  return status?.phase === 'Pending' ? 'run' : undefined;
}

/** `launchers`: of this VMI. */
export function vmiStep(vmi: Vmi, launchers: readonly LauncherPod[]): VmiStep | undefined {
  const { metadata, status } = vmi;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  if (status?.phase === 'Scheduled' && !isReceiver(vmi)) return 'start-guest';
  if (sideIn(vmi) !== undefined) return undefined;
  const state = status?.migrationState;
  if (state?.targetNode === undefined) return undefined;
  return state.completed === true ? inBackground(state, launchers) : duringMigration(state, launchers);
}

function duringMigration(state: MigrationState, launchers: readonly LauncherPod[]): VmiStep {
  if (!launchers.some((pod) => pod.metadata.name === state.targetPod && !isOver(pod))) return 'fail';
  if (state.abortRequested === true) return 'abort';
  if (state.targetNodeAddress === undefined) return 'prepare-target';
  return state.startTimestamp === undefined ? 'start' : 'finish';
}

function inBackground(state: MigrationState, launchers: readonly LauncherPod[]): VmiStep | undefined {
  const source = launchers.find(({ metadata }) => metadata.name === state.sourcePod);
  return state.failed === true || source === undefined || isOver(source) ? undefined : 'leave-source';
}

/** The status of a pod whose containers all run. */
export function runningStatus({ spec, status }: LauncherPod, now: string): Record<string, unknown> {
  const kept = status?.conditions?.filter(({ type }) => !RUNNING_CONDITIONS.includes(type)) ?? [];
  const running = ({ name, image }: { name: string; image?: string }): unknown => ({
    name,
    state: { running: { startedAt: now } },
    lastState: {},
    ready: true,
    restartCount: 0,
    image,
    imageID: image,
    containerID: 'sim://x',
    started: true,
  });
  return {
    phase: 'Running',
    conditions: [...kept, ...RUNNING_CONDITIONS.map((type) => podCondition(type, 'True', now))],
    hostIP: '10.9.0.1',
    podIP: POD_IP,
    podIPs: [{ ip: POD_IP }],
    startTime: now,
    containerStatuses: spec.containers.map(running),
    ...(spec.initContainers === undefined ? {} : { initContainerStatuses: spec.initContainers.map(running) }),
  };
}

const POD_IP = '10.8.0.9';
const RUNNING_CONDITIONS = ['Initialized', 'PodReadyToStartContainers', 'ContainersReady', 'Ready'];

/** The status of a pod whose containers have all ended. */
export const endedStatus = (
  now: string,
  phase: 'Succeeded' | 'Failed' = 'Succeeded',
): Record<string, unknown> => ({
  phase,
  conditions: [{ ...podCondition('Ready', 'False', now), reason: 'PodCompleted' }],
});

const podCondition = (type: string, status: Condition['status'], now: string): Condition => ({
  type,
  status,
  lastProbeTime: null,
  lastTransitionTime: now,
});

/**
 * virt-handler's merge patch of the VMI for each of its steps but the last. Its precondition is the version that was seen: a
 * late patch of one migration must not change the state of the next one.
 */
export function handlerPatch(
  step: Exclude<VmiStep, 'leave-source'>,
  vmi: Vmi,
  now: string,
): Record<string, unknown> {
  const { resourceVersion } = vmi.metadata;
  const { metadata = {}, status } = handlerChange(step, vmi, now);
  return { metadata: { ...metadata, resourceVersion }, status };
}

interface HandlerChange {
  readonly metadata?: Record<string, unknown>;
  readonly status: Record<string, unknown>;
}

function handlerChange(step: Exclude<VmiStep, 'leave-source'>, vmi: Vmi, now: string): HandlerChange {
  switch (step) {
    case 'start-guest':
      return { status: startedGuest(vmi, now) };
    case 'prepare-target':
      return migrationState({ targetNodeAddress: '10.9.0.9', targetDirectMigrationNodePorts: { 49152: 0 } });
    case 'start':
      return migrationState({ startTimestamp: now });
    case 'abort':
      return migrationState({ abortStatus: 'Succeeded', completed: true, failed: true, endTimestamp: now });
    case 'fail':
      return migrationState({ completed: true, failed: true, endTimestamp: now });
    case 'finish':
      return finished(vmi, now);
  }
}

const migrationState = (state: MigrationState): HandlerChange => ({
  status: { migrationState: state },
});

const STARTED = ['LiveMigratable', 'StorageLiveMigratable', 'Ready'];

const startedGuest = ({ spec, status }: Vmi, now: string): Record<string, unknown> => ({
  phase: 'Running',
  conditions: [
    ...(status?.conditions ?? []).filter(({ type }) => !STARTED.includes(type)),
    ...STARTED.map((type) => ({ type, status: 'True', lastTransitionTime: now })),
  ],
  interfaces: spec.networks.map(({ name }) => ({ name, ipAddress: POD_IP, mac: '02:00:00:00:00:01' })),
  migrationMethod: 'BlockMigration',
  selinuxContext: 'none',
});

function finished({ metadata, status = {} }: Vmi, now: string): HandlerChange {
  const nodeName = status.migrationState?.targetNode ?? '';
  const wasOutdated = metadata.labels?.[LABELS.outdated] !== undefined;
  return {
    metadata: {
      labels: { [LABELS.nodeName]: nodeName, ...(wasOutdated ? { [LABELS.outdated]: null } : {}) },
    },
    status: {
      nodeName,
      ...(status.evacuationNodeName === undefined ? {} : { evacuationNodeName: null }),
      // virt-handler clears it after every migration; the recorded script never did.
      ...(wasOutdated ? { launcherContainerImageVersion: null } : {}),
      migrationState: {
        completed: true,
        endTimestamp: now,
        targetNodeDomainDetected: true,
        targetNodeDomainReadyTimestamp: now,
      },
    },
  };
}
