/** virt-controller's next action for a VMI (fields from test/recorded). Pure: values in, a decision out. */
import type { Condition, ResourceQuota } from '../../../functions/domain/objects.ts';
import { hotplugVolumes } from './attachment-pod.ts';
import { overheadAsQuantity } from './compute-resources.ts';
import { ANNOTATIONS, LABELS, UNPAUSED, VMI_FINALIZER, VMI_FINALIZER_OLD } from './names.ts';
import type { Configuration } from './objects.ts';
import { imageOf, isReady, isOver } from './pods.ts';
import type { Release } from './release.ts';
import type { LauncherPod, Vmi, VmiStatus } from './types.ts';
import { reportsOf } from './vmi-reports.ts';

export interface VmiView {
  readonly vmi: Vmi;
  /** Source and targets, ended ones too. */
  readonly launchers: readonly LauncherPod[];
  /** The launcher the guest runs in, or is to run in. */
  readonly current: LauncherPod | undefined;
  /** Attachment pods of `current`. */
  readonly attachments: readonly LauncherPod[];
  /** Attachment pods of launchers that have ended. */
  readonly leftovers: readonly LauncherPod[];
  readonly quotas: readonly ResourceQuota[];
  readonly configuration: Configuration;
  /** Of this virt-controller. */
  readonly release: Release;
  /** RFC 3339. */
  readonly now: string;
}

/** A JSON merge patch of the VMI or of a pod. */
export type Merge = Record<string, unknown>;

export type VmiDecision =
  | { readonly do: 'wait' }
  | { readonly do: 'create-launcher' }
  | { readonly do: 'create-attachment'; readonly launcher: LauncherPod }
  | { readonly do: 'delete-pods'; readonly pods: readonly LauncherPod[] }
  | { readonly do: 'patch'; readonly merge: Merge }
  | {
      readonly do: 'patch-pod';
      readonly pod: LauncherPod;
      readonly merge: Merge;
      readonly subresource?: 'status';
    };

/** The first rule that applies decides. */
export function decideVmi(view: VmiView): VmiDecision {
  for (const rule of RULES) {
    const decision = rule(view);
    if (decision !== undefined) return decision;
  }
  return { do: 'wait' };
}

type Rule = (view: VmiView) => VmiDecision | undefined;

const RULES: readonly Rule[] = [
  whenDeleted,
  whenFinal,
  withoutLauncher,
  toScheduling,
  activePods,
  toScheduled,
  labelLauncher,
  unpauseLauncher,
  nameInterfaces,
  reportsOf,
  attachVolumes,
  detachLeftovers,
];

const phaseOf = ({ status }: Vmi): string => status?.phase ?? '';

function whenDeleted({ vmi, launchers }: VmiView): VmiDecision | undefined {
  if (vmi.metadata.deletionTimestamp === undefined) return undefined;
  const toDelete = launchers.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (toDelete.length > 0) return { do: 'delete-pods', pods: toDelete };
  if (launchers.length > 0) return { do: 'wait' };
  const own = [VMI_FINALIZER, VMI_FINALIZER_OLD];
  const others = vmi.metadata.finalizers?.filter((name) => !own.includes(name)) ?? [];
  return others.length === vmi.metadata.finalizers?.length
    ? { do: 'wait' }
    : { do: 'patch', merge: { metadata: { finalizers: others } } };
}

function whenFinal({ vmi, current, now }: VmiView): VmiDecision | undefined {
  if (['Succeeded', 'Failed'].includes(phaseOf(vmi))) return { do: 'wait' };
  if (!['Scheduled', 'Running'].includes(phaseOf(vmi)) || current !== undefined) return undefined;
  return { do: 'patch', merge: { status: enter(vmi, 'Failed', now) } };
}

function withoutLauncher({ vmi, current, now }: VmiView): VmiDecision | undefined {
  if (current !== undefined) return undefined;
  if (phaseOf(vmi) === '' && vmi.metadata.annotations?.[ANNOTATIONS.createMigrationTarget] === 'true') {
    return { do: 'patch', merge: { status: enter(vmi, 'WaitingForSync', now) } };
  }
  return ['', 'Pending'].includes(phaseOf(vmi)) ? { do: 'create-launcher' } : { do: 'wait' };
}

/** The first launcher was refused: the VMI waits, and says so once. */
export function whenRefused(vmi: Vmi, message: string, now: string): Merge | undefined {
  if (phaseOf(vmi) !== '') return undefined;
  const synchronized: Condition = {
    type: 'Synchronized',
    status: 'False',
    reason: 'FailedCreate',
    message: `failed to create virtual machine pod: ${message}`,
    lastTransitionTime: now,
  };
  return { status: { ...enter(vmi, 'Pending', now), conditions: [synchronized] } };
}

function toScheduling({ vmi, current, configuration, release, now }: VmiView): VmiDecision | undefined {
  if (!['', 'Pending'].includes(phaseOf(vmi)) || current === undefined) return undefined;
  const ready: Condition = {
    type: 'Ready',
    status: 'False',
    reason: 'GuestNotRunning',
    message: 'Guest VM is not reported as running',
    lastProbeTime: now,
    lastTransitionTime: now,
  };
  const finalizers = vmi.metadata.finalizers?.map((name) =>
    name === VMI_FINALIZER_OLD ? VMI_FINALIZER : name,
  );
  const status = {
    ...enter(vmi, 'Scheduling', now),
    activePods: { [current.metadata.uid]: '' },
    conditions: [ready],
    guestOSInfo: {},
    launcherContainerImageVersion: imageOf(current),
    memory: { memoryOverhead: overheadAsQuantity({ vmi, configuration, release }) },
    runtimeUser: 0,
  };
  return { do: 'patch', merge: { metadata: { finalizers }, status } };
}

/** A pod is active from its creation; its node follows in a version of its own. */
function activePods({ vmi, launchers, current }: VmiView): VmiDecision | undefined {
  const known = vmi.status?.activePods ?? {};
  const wanted = launchers.map(({ metadata: { uid }, spec }): [string, string] => [
    uid,
    uid in known ? (spec.nodeName ?? '') : '',
  ]);
  const gone = Object.keys(known).filter((uid) => !launchers.some(({ metadata }) => metadata.uid === uid));
  const changes = [
    ...wanted.filter(([uid, node]) => known[uid] !== node),
    ...gone.map((uid) => [uid, null] as const),
  ];
  if (changes.length === 0) return undefined;
  const qosClass = vmi.status?.qosClass ?? current?.status?.qosClass;
  const status = { activePods: Object.fromEntries<string | null>(changes), qosClass };
  return { do: 'patch', merge: { status } };
}

function toScheduled({ vmi, current, now }: VmiView): VmiDecision | undefined {
  if (phaseOf(vmi) !== 'Scheduling' || current === undefined) return undefined;
  if (!isReady(current)) return { do: 'wait' };
  const nodeName = current.spec.nodeName ?? '';
  const status = {
    ...enter(vmi, 'Scheduled', now),
    nodeName,
    interfaces: vmi.spec.networks.map(({ name }) => ({ name, podInterfaceName: 'eth0' })),
    migrationTransport: 'Unix',
    volumeStatus: vmi.spec.volumes
      .filter((volume) => !hotplugVolumes(vmi).includes(volume))
      .map(({ name }) => ({ name, target: '' })),
  };
  return { do: 'patch', merge: { metadata: { labels: { [LABELS.nodeName]: nodeName } }, status } };
}

function labelLauncher({ vmi, current }: VmiView): VmiDecision | undefined {
  const nodeName = vmi.status?.nodeName;
  if (current === undefined || nodeName === undefined) return undefined;
  if (current.metadata.labels?.[LABELS.nodeName] === nodeName) return undefined;
  return { do: 'patch-pod', pod: current, merge: { metadata: { labels: { [LABELS.nodeName]: nodeName } } } };
}

/** The readiness gate of the launcher; of a migration's target only when the guest has arrived. */
function unpauseLauncher({ vmi, current, now }: VmiView): VmiDecision | undefined {
  if (current === undefined || vmi.status?.nodeName === undefined) return undefined;
  const conditions = current.status?.conditions ?? [];
  if (conditions.some(({ type }) => type === UNPAUSED)) return undefined;
  const unpaused: Condition = {
    type: UNPAUSED,
    status: 'True',
    reason: 'NotPaused',
    message: 'the virtual machine is not paused',
    lastProbeTime: now,
    lastTransitionTime: now,
  };
  const merge = { status: { conditions: [...conditions, unpaused] } };
  return { do: 'patch-pod', pod: current, merge, subresource: 'status' };
}

/** virt-handler's report of the interfaces does not know the pod's names. */
function nameInterfaces({ vmi }: VmiView): VmiDecision | undefined {
  const interfaces = vmi.status?.interfaces ?? [];
  if (interfaces.every(({ podInterfaceName }) => podInterfaceName !== undefined)) return undefined;
  const named = interfaces.map((one) => ({ ...one, podInterfaceName: 'eth0' }));
  return { do: 'patch', merge: { status: { interfaces: named } } };
}

function attachVolumes({ vmi, current, attachments }: VmiView): VmiDecision | undefined {
  const volumes = hotplugVolumes(vmi);
  if (phaseOf(vmi) !== 'Running' || current === undefined || volumes.length === 0) return undefined;
  const [attachment] = attachments;
  if (attachment === undefined) return { do: 'create-attachment', launcher: current };
  const attachPodName = attachment.metadata.name;
  const known = vmi.status?.volumeStatus ?? [];
  const attached = volumes.map(({ name }) => ({ name, target: '', hotplugVolume: { attachPodName } }));
  const before = known.filter(({ hotplugVolume }) => hotplugVolume !== undefined);
  if (
    before.length === attached.length &&
    before.every((one) => one.hotplugVolume?.attachPodName === attachPodName)
  ) {
    return undefined;
  }
  const others = known.filter(({ hotplugVolume }) => hotplugVolume === undefined);
  return { do: 'patch', merge: { status: { volumeStatus: [...others, ...attached] } } };
}

function detachLeftovers({ leftovers }: VmiView): VmiDecision | undefined {
  const pods = leftovers.filter((pod) => !isOver(pod));
  return pods.length === 0 ? undefined : { do: 'delete-pods', pods };
}

const enter = (
  vmi: Vmi,
  phase: string,
  now: string,
): Pick<VmiStatus, 'phase' | 'phaseTransitionTimestamps'> => ({
  phase,
  phaseTransitionTimestamps: [
    ...(vmi.status?.phaseTransitionTimestamps ?? []),
    { phase, phaseTransitionTimestamp: now },
  ],
});
