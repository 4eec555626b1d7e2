import { REASON, type Reason } from './names.ts';

/** The advice of reasons after which there is nothing to do: the cycle goes on, or is complete. Nothing is appended to the message. */
export const NO_ACTION = '';

/** What to do about each reason: one imperative sentence. The type makes a reason without an entry a compile error. */
export const ADVICE: Readonly<Record<Reason, string>> = {
  [REASON.nothingBlocked]: NO_ACTION,
  [REASON.vmiGone]: NO_ACTION,
  [REASON.noSourcePod]: NO_ACTION,
  [REASON.launcherLeftOver]: 'Delete the launcher pod that does not run the VM, or make its node answer.',
  [REASON.sizeUnknown]: 'Wait: the next refusal shows the size.',
  [REASON.parallelLimit]:
    "Wait, or ask the cluster's admin to increase KubeVirt's parallel migration limits.",
  [REASON.backOff]: "Wait, or ask the VMMRQ's admin to change it: that retries at once.",
  [REASON.lockBudgetSpent]: 'Fix why the last attempt failed, and wait.',
  [REASON.alreadyLocked]: NO_ACTION,
  [REASON.afterOthers]: NO_ACTION,
  [REASON.statusUnknown]: "If this lasts, ask the cluster's admin to check kube-controller-manager.",
  [REASON.noVmmrq]:
    "Ask the cluster's admin for a VirtualMachineMigrationResourceQuota in this namespace, or free quota.",
  [REASON.notEnough]: 'Ask the admin of a named VMMRQ to give what is too little, or free quota.',
  [REASON.notRecounted]: "If this lasts, ask the cluster's admin to check kube-controller-manager.",
  [REASON.tooManyQuotas]: 'Merge quotas.',
  [REASON.receiveNotAllowed]: "Free quota, or ask the VMMRQ's admin to set allowReceive: true.",
  [REASON.purposeNotServed]: "Free quota, or ask the VMMRQ's admin to give to this purpose.",
  [REASON.nodeNotDrained]: 'Cancel the evacuation as the message says.',
  [REASON.volumeQuota]: "Ask the cluster's admin to increase the quota's named key.",
  [REASON.migrationQuota]:
    "Delete ended migrations, or ask the cluster's admin to increase the quota's named key.",
  [REASON.clusterQuota]: "Ask the cluster's admin to increase that quota.",
  [REASON.mustSpecify]:
    "Ask the cluster's admin to set these values by a LimitRange, or drop their quota keys.",
  [REASON.noCoveringQuota]: "Ask the cluster's admin for a ResourceQuota whose scopes cover the pod.",
  [REASON.limitRange]: "Change the LimitRange or the VM's size.",
  [REASON.podSecurity]: "Change the namespace's Pod Security level or the VM.",
  [REASON.podRefused]: 'Fix what the message names.',
  [REASON.refusedByPolicy]:
    "Ask the cluster's admin to let our service accounts (mtq-system) through the named policy.",
  [REASON.dryRunFirst]: NO_ACTION,
  [REASON.reservedNamespace]: 'Move the VMs to another namespace, or free quota.',
  [REASON.skipped]: 'Remove the annotation, or free quota.',
  [REASON.incumbentPresent]:
    "Ask the cluster's admin to remove kubevirt/managed-tenant-quota: never run both.",
  [REASON.namespaceTerminating]: NO_ACTION,
  [REASON.fits]: NO_ACTION,
  [REASON.fitsWithRaise]: NO_ACTION,
  [REASON.grantWithoutLock]: NO_ACTION,
  [REASON.functionsSilent]: 'Check why the named functions do not start.',
  [REASON.locked]: NO_ACTION,
  [REASON.notOurLock]: NO_ACTION,
  [REASON.lockExpired]: 'Check that the functions and the Broker run.',
  [REASON.noProof]:
    'Check the guard, the named API server, and other policies that refuse ResourceQuotas by mtq-raise.',
  [REASON.fenced]: NO_ACTION,
  [REASON.raised]: NO_ACTION,
  [REASON.stillWaiting]: NO_ACTION,
  [REASON.admitted]: NO_ACTION,
  [REASON.ended]: NO_ACTION,
  [REASON.raisedButNotAdmitted]: "Fix what the VMI's Events name.",
  [REASON.notTried]: 'Check virt-controller and the guard.',
  [REASON.kubevirtAway]: 'Check virt-controller.',
  [REASON.undone]: "Find out which controller writes the quota's status so often.",
  [REASON.viewUnavailable]: 'Check that the guard is ready.',
  [REASON.freshRefusal]: NO_ACTION,
  [REASON.slotFree]: NO_ACTION,
  [REASON.charged]: NO_ACTION,
  [REASON.lowered]: NO_ACTION,
  [REASON.notRestored]: NO_ACTION,
  [REASON.unlocked]: NO_ACTION,
  [REASON.reported]: NO_ACTION,
};

/** The advice for a reason as a part of a sentence: " (fix what the VMI's Events name)"; '' where there is none. */
export function adviceInside(reason: string): string {
  const advice = adviceFor(reason);
  return advice === NO_ACTION ? '' : ` (${advice.charAt(0).toLowerCase()}${advice.slice(1, -1)})`;
}

/** A stored reason may be one that this version does not know. */
function adviceFor(reason: string): string {
  const known: Readonly<Record<string, string>> = ADVICE;
  return Object.hasOwn(known, reason) ? (known[reason] ?? NO_ACTION) : NO_ACTION;
}

/** A message followed by the advice for its reasons, each once and in their order. */
export function withAdvice(message: string, reasons: readonly string[]): string {
  const advice = new Set(reasons.map(adviceFor));
  advice.delete(NO_ACTION);
  if (advice.size === 0) return message;
  const end = message.includes('\n') ? '\n' : /[.…]$/.test(message) ? ' ' : '. ';
  return message + end + [...advice].join(' ');
}
