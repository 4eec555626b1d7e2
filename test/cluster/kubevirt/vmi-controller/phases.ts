/** virt-controller's next action for a VMI (fields from test/recorded). Pure: values in, a decision out. */
import type { Condition } from '../../../../functions/domain/objects.ts';
import { hotplugVolumes } from '../objects/attachment-pod.ts';
import { isReceiver } from '../decentralized/sides.ts';
import { readiness, receiveGuest, whenGuestHasLeft } from '../decentralized/vmi-phases.ts';
import {
  ANNOTATIONS,
  LABELS,
  OBSERVED_API_VERSIONS,
  UNPAUSED,
  VM_FINALIZER,
  VMI_FINALIZER,
  VMI_FINALIZER_OLD,
} from '../objects/names.ts';
import { isOver } from '../objects/pods.ts';
import type { Vmi } from '../objects/types.ts';
import { reportsOf } from './reports.ts';
import { toScheduled, toScheduling } from './scheduling.ts';
import { enter, phaseOf, type Merge, type VmiDecision, type VmiView } from './view.ts';

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
  observeVersion,
  whenDeleted,
  whenGuestHasLeft,
  whenFinal,
  receiveGuest,
  withoutLauncher,
  whenLauncherIsThere,
  activePods,
  toScheduled,
  labelLauncher,
  unpauseLauncher,
  nameInterfaces,
  readiness,
  reportsOf,
  attachVolumes,
  detachLeftovers,
];

/** Of a VMI that a VM made; virt-api leaves it on the others. */
function observeVersion({ vmi }: VmiView): VmiDecision | undefined {
  if (vmi.metadata.annotations?.[ANNOTATIONS.latestObserved] !== undefined) return undefined;
  return { do: 'patch', merge: { metadata: { annotations: OBSERVED_API_VERSIONS } } };
}

function whenDeleted(view: VmiView): VmiDecision | undefined {
  const { vmi, launchers } = view;
  if (vmi.metadata.deletionTimestamp === undefined) return undefined;
  const toDelete = launchers.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (toDelete.length > 0) return { do: 'delete-pods', pods: toDelete };
  return launchers.length > 0 ? { do: 'wait' } : (released(view) ?? readiness(view) ?? { do: 'wait' });
}

/** Without its pods it may go; a VM that made it has its own finalizer. */
function released({ vmi, hasOwner }: VmiView): VmiDecision | undefined {
  const own = [VMI_FINALIZER, VMI_FINALIZER_OLD, ...(hasOwner ? [] : [VM_FINALIZER])];
  const others = vmi.metadata.finalizers?.filter((name) => !own.includes(name)) ?? [];
  if (others.length === (vmi.metadata.finalizers ?? []).length) return undefined;
  return { do: 'patch', merge: { metadata: { finalizers: others } } };
}

function whenFinal(view: VmiView): VmiDecision | undefined {
  const { vmi, current, launchers, now } = view;
  if (['Succeeded', 'Failed'].includes(phaseOf(vmi))) {
    const left = launchers.length === 0 ? released(view) : undefined;
    return left ?? readiness(view) ?? { do: 'wait' };
  }
  if (!['Scheduled', 'Running'].includes(phaseOf(vmi)) || current !== undefined || isReceiver(vmi))
    return undefined;
  return { do: 'patch', merge: { status: enter(vmi, 'Failed', now) } };
}

function withoutLauncher({ vmi, current }: VmiView): VmiDecision | undefined {
  if (current !== undefined) return undefined;
  return ['', 'Pending'].includes(phaseOf(vmi)) ? { do: 'create-launcher' } : undefined;
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

function whenLauncherIsThere(view: VmiView): VmiDecision | undefined {
  return ['', 'Pending'].includes(phaseOf(view.vmi)) ? toScheduling(view) : undefined;
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
