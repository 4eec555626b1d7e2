/** virt-controller's next action for a VMI that waits for a guest from another cluster, or whose guest has left (facts/cross-cluster.md E). Pure. */
import type { Condition } from '../../../../functions/domain/objects.ts';
import { VMI_FINALIZER, VMI_FINALIZER_OLD } from '../objects/names.ts';
import { isOver } from '../objects/pods.ts';
import type { LauncherPod, Vmi } from '../objects/types.ts';
import { toScheduling } from '../vmi-controller/scheduling.ts';
import { enter, phaseOf, type VmiDecision, type VmiView } from '../vmi-controller/view.ts';
import { isDecentralized, isReceiver, sideIn } from './sides.ts';
import { migratedVolumesOf } from './volumes.ts';

/** It has no pod until a migration brings one. After a failure it waits again. */
export function receiveGuest(view: VmiView): VmiDecision | undefined {
  const { vmi } = view;
  if (!isReceiver(vmi)) return undefined;
  switch (phaseOf(vmi)) {
    case '':
      return { do: 'patch', merge: waiting(view) };
    case 'WaitingForSync':
      return fillVolumes(view) ?? whenPodIsThere(view);
    case 'Scheduling':
    case 'Scheduled':
      return isLost(view)
        ? { do: 'patch', merge: { status: enter(vmi, 'WaitingForSync', view.now) } }
        : undefined;
    default:
      return undefined;
  }
}

function waiting({ vmi, now }: VmiView): Record<string, unknown> {
  const finalizers = vmi.metadata.finalizers?.map((name) =>
    name === VMI_FINALIZER_OLD ? VMI_FINALIZER : name,
  );
  const ready = notReady(undefined, now);
  return {
    metadata: { finalizers },
    status: { ...enter(vmi, 'WaitingForSync', now), conditions: [ready] },
  };
}

function fillVolumes({ vmi, claims }: VmiView): VmiDecision | undefined {
  const migratedVolumes = migratedVolumesOf(vmi, claims, 'destination');
  if (vmi.status?.migratedVolumes !== undefined || migratedVolumes.length === 0) return undefined;
  return { do: 'patch', merge: { status: { migratedVolumes } } };
}

/** The pod of a migration that has failed is not one to wait for. */
function whenPodIsThere(view: VmiView): VmiDecision | undefined {
  const hasFailed = view.vmi.status?.migrationState?.completed === true;
  return view.current === undefined || hasFailed ? undefined : toScheduling(view);
}

const isLost = ({ vmi, current }: VmiView): boolean => {
  const { completed, failed } = vmi.status?.migrationState ?? {};
  return current === undefined || (completed === true && failed === true);
};

/** The guest runs elsewhere: the VMI has succeeded as soon as its launcher has, if KubeVirt still knows that it went to another cluster. */
export function whenGuestHasLeft({ vmi, launchers, now }: VmiView): VmiDecision | undefined {
  const launcher = launcherOn(vmi, launchers);
  const isSource = phaseOf(vmi) === 'Running' && sideIn(vmi) === 'source';
  if (!isSource || launcher === undefined || !isOver(launcher)) return undefined;
  // A launcher that failed is that of a VMI that failed, wherever its guest is (recorded: cross-rerunonfailure-target-away).
  if (launcher.status?.phase === 'Failed') return undefined;
  if (isThrough(vmi, launcher)) return { do: 'patch', merge: { status: enter(vmi, 'Succeeded', now) } };
  // Where the restart of a synchronization controller made it forget, the VMI stays Running without a guest (C7.3).
  return readiness({ vmi, launchers, now }) ?? { do: 'wait' };
}

const isThrough = (vmi: Vmi, { status }: LauncherPod): boolean =>
  vmi.status?.migrationState?.completed === true && isDecentralized(vmi) && status?.phase === 'Succeeded';

/** The launcher on the VMI's node; the one that lives, where the target of a local migration has come and gone there. */
function launcherOn({ status }: Vmi, launchers: readonly LauncherPod[]): LauncherPod | undefined {
  const there = launchers.filter(({ spec }) => spec.nodeName === status?.nodeName);
  return there.find((pod) => !isOver(pod)) ?? there.at(-1);
}

type Seen = Pick<VmiView, 'vmi' | 'launchers' | 'now'>;

/** The condition Ready where the launcher is gone, going or new. virt-handler says when the guest runs. */
export function readiness({ vmi, launchers, now }: Seen): VmiDecision | undefined {
  const conditions = vmi.status?.conditions ?? [];
  const launcher = isReceiver(vmi) ? launchers.at(-1) : launcherOn(vmi, launchers);
  const wanted = notReady(launcher, now, phaseOf(vmi));
  const known = conditions.find(({ type }) => type === 'Ready');
  if (wanted === undefined || known === undefined || known.reason === wanted.reason) return undefined;
  const others = conditions.filter((one) => one !== known);
  const { resourceVersion } = vmi.metadata;
  return {
    do: 'patch',
    merge: { metadata: { resourceVersion }, status: { conditions: [...others, wanted] } },
  };
}

const READY: Readonly<Record<string, string>> = {
  PodNotExists: 'virt-launcher pod has not yet been scheduled',
  PodTerminating: 'virt-launcher pod is terminating',
  GuestNotRunning: 'Guest VM is not reported as running',
};

function notReady(launcher: LauncherPod | undefined, now: string, phase = ''): Condition | undefined {
  const reason = reasonOf(launcher, phase);
  if (reason === undefined) return undefined;
  return {
    type: 'Ready',
    status: 'False',
    reason,
    message: READY[reason] ?? '',
    lastProbeTime: now,
    lastTransitionTime: now,
  };
}

function reasonOf(launcher: LauncherPod | undefined, phase: string): string | undefined {
  if (launcher === undefined) return 'PodNotExists';
  if (isOver(launcher) || launcher.metadata.deletionTimestamp !== undefined) return 'PodTerminating';
  return phase === 'Running' ? undefined : 'GuestNotRunning';
}
