import { shown } from '../../domain/foreign-text.ts';
import { DNS_LABEL } from '../../domain/dns-name.ts';
import { differencesOf } from '../on-target/differences.ts';
import { findingOf, type Finding, type Problem } from '../../domain/live/conditions.ts';
import { cpuProblems } from './cpu.ts';
import { LIVE_ANNOTATION, LIVE_CONDITION, LIVE_LABEL } from '../../domain/live/names.ts';
import type { PlanView } from './plan-view.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { isNoSecret, resourceProblems, resourcesOf, TYPES_HIDDEN } from '../on-target/resources.ts';
import { movedToOf } from '../guest/moved-to.ts';
import { movedBy } from '../guest/vm-in-use.ts';
import { podNetworks, unmappedNetworks } from '../on-target/standby-vm.ts';
import { fixedDisks, neededVolumes, storageEntryOf } from '../on-target/volumes.ts';
import { candidatesOf, isFree, labelOf, type Candidate } from './candidates.ts';
import { identityFindings } from './identities.ts';

/** Problems of the plan's VMs: one condition for each kind, with the VMs that have it. */
export function vmFindings(view: PlanView): Finding[] {
  const { plan, sourceCluster } = view;
  const unnamed = plan.spec.vms.filter(({ id = '', name = '' }) => id === '' && name === '');
  const references = findingOf(unnamed.map(labelOf), {
    type: LIVE_CONDITION.vmRefNotValid,
    reason: 'NotSet',
    message: 'Either `ID` or `Name` required.',
    suggestion: 'Name each VM of spec.vms.',
  });
  if (sourceCluster === undefined) return references;
  const candidates = candidatesOf(view);
  return [
    ...references,
    ...identityFindings(view, candidates),
    ...CHECKS_OF_ALL.flatMap((check) => checked(check, candidates, view)),
    ...CHECKS_OF_FREE.flatMap((check) => checked(check, candidates.filter(isFree), view)),
  ];
}

/** A kind of problem. Its texts name the parts of a VM that have it; a text is '' if the VM has no such part. */
interface Check extends Problem {
  readonly problemsOf: (candidate: Candidate, view: PlanView) => readonly string[];
}

const checked = (
  { problemsOf, ...text }: Check,
  candidates: readonly Candidate[],
  view: PlanView,
): Finding[] =>
  findingOf(
    candidates.flatMap((candidate) =>
      problemsOf(candidate, view).map((problem) =>
        problem === '' ? candidate.name : `${candidate.name}: ${problem}`,
      ),
    ),
    text,
  );

const when = (isSo: boolean): readonly string[] => (isSo ? [''] : []);

/** Why a VM is not free. Of such a VM no other problem is shown (candidates.ts). */
const CHECKS_OF_ALL: readonly Check[] = [
  {
    type: LIVE_CONDITION.vmInUse,
    reason: 'NotSupported',
    message: 'Another run moves the VM.',
    suggestion: 'Wait for the end of that run, and change nothing of the VM before.',
    problemsOf: ({ vm }) => [movedBy(vm) ?? []].flat(),
  },
  {
    type: LIVE_CONDITION.hasMoved,
    reason: 'NotSupported',
    message: 'VM has moved to another cluster, where its newest data is.',
    suggestion: `If it was started here on purpose: kubectl annotate vm NAME -n NAMESPACE ${LIVE_ANNOTATION.movedTo}-`,
    problemsOf: ({ vm }) => [movedToOf(vm) ?? []].flat(),
  },
];

const CHECKS_OF_FREE: readonly Check[] = [
  {
    type: LIVE_CONDITION.targetNameNotValid,
    reason: 'NotValid',
    message: 'Target VM name does not comply with DNS1123 RFC.',
    suggestion: "Use lower-case letters, digits and '-' in targetName.",
    problemsOf: ({ targetName }) => (DNS_LABEL.test(targetName) ? [] : [targetName]),
  },
  {
    type: LIVE_CONDITION.vmAlreadyExists,
    reason: 'NotUnique',
    message: 'Target VM already exists.',
    suggestion: 'Set targetName in the plan.',
    problemsOf: (candidate, view) => {
      const there = view.targetCluster?.vms.get(candidate.targetName);
      return when(there !== undefined && !isReceiverOf(there, candidate, view));
    },
  },
  {
    type: LIVE_CONDITION.vmNetworksNotMapped,
    reason: 'NotValid',
    message: 'VM has unmapped networks.',
    suggestion: 'Map them to multus networks of the target in the NetworkMap.',
    problemsOf: ({ vm }, { networks }) => (networks === undefined ? [] : unmappedNetworks(vm, networks)),
  },
  {
    type: LIVE_CONDITION.vmPodNetworks,
    reason: 'NotValid',
    message: 'VM has more than one interface mapped to the pod network.',
    suggestion: 'Map all but one of these networks to multus networks of the target.',
    problemsOf: ({ vm }, { networks }) => {
      const onPod = networks === undefined ? [] : podNetworks(vm, networks);
      return onPod.length > 1 ? [`networks ${onPod.join(', ')}`] : [];
    },
  },
  {
    type: LIVE_CONDITION.vmStorageNotMapped,
    reason: 'NotValid',
    message: 'VM has unmapped storage.',
    suggestion: 'Add their storage classes to the StorageMap, by source.name.',
    problemsOf: unmappedStorage,
  },
  {
    type: LIVE_CONDITION.vmPowerState,
    reason: 'NotSupported',
    message: 'VM power state is incompatible with the selected migration type.',
    suggestion: 'Only a VM that runs can move. Those that a run has moved are out of date here.',
    problemsOf: ({ vmi }) => when(vmi?.status?.phase !== 'Running'),
  },
  {
    type: LIVE_CONDITION.vmMigrationType,
    reason: 'NotSupported',
    message: 'VM is incompatible with the selected migration type.',
    suggestion:
      'Change the named disks, and restart the VMs while no run moves them. See also their conditions StorageLiveMigratable, and ' +
      'LiveMigratable of their VMIs.',
    problemsOf: ({ vm, vmi }) => [
      ...fixedDisks(vm),
      ...(vm.status?.conditions ?? [])
        .filter(({ type, status }) => type === 'StorageLiveMigratable' && status !== 'True')
        .map(({ message }) => shown(message)),
      // Volumes that cannot be shared are copied (facts/cross-cluster.md §C4).
      ...(vmi?.status?.conditions ?? [])
        .filter(({ type, status }) => type === 'LiveMigratable' && status === 'False')
        .filter(({ reason }) => reason !== 'DisksNotLiveMigratable')
        .map(({ message }) => shown(message)),
    ],
  },
  {
    type: LIVE_CONDITION.vmRestartRequired,
    reason: 'NotSupported',
    message: 'VM has been changed since it started.',
    suggestion: 'Restart the VMs while no run moves them, or undo the changes.',
    problemsOf: differences('VMRestartRequired'),
  },
  {
    type: LIVE_CONDITION.volumeNotPersisted,
    reason: 'NotSupported',
    message: 'VM has volumes that only its VMI knows.',
    suggestion: 'Add the volumes to the VMs, or remove them.',
    problemsOf: differences('VolumeNotPersisted'),
  },
  {
    type: LIVE_CONDITION.instanceTypeDiffers,
    category: 'Warn',
    reason: 'NotValid',
    message: 'VM has an instance type or a preference that is not known to be the same on the target.',
    suggestion: 'Make them the same, or these VMs will fail.',
    problemsOf: ({ vm }, { instanceTypes }) => {
      const named = instanceTypes.get(vm.metadata.uid);
      if (named === 'hidden') return [TYPES_HIDDEN];
      return named === undefined ? [] : resourceProblems(resourcesOf(vm).filter(isNoSecret), named);
    },
  },
  {
    type: LIVE_CONDITION.resourceNotFound,
    reason: 'NotFound',
    message: 'VM names a Secret or a ConfigMap that is not on the source.',
    suggestion: 'Create it there, or take it out of these VMs.',
    problemsOf: ({ vm }, { missingResources }) => missingResources.get(vm.metadata.uid) ?? [],
  },
  {
    type: LIVE_CONDITION.cpuDiffers,
    category: 'Warn',
    reason: 'NotValid',
    message: 'VM has a CPU that the target does not have, or would have another one there.',
    suggestion: 'Let the VMs name a cpu.model that nodes of both clusters have, or add such nodes.',
    problemsOf: cpuProblems,
  },
  {
    type: LIVE_CONDITION.cpuNotKnown,
    category: 'Warn',
    reason: 'NotSet',
    message: 'VM runs on a node without labels about its CPU, for which KubeVirt of the target waits.',
    suggestion:
      'Let virt-handler label these nodes: see that it runs there, and that no annotation node-labeller.kubevirt.io/skip-node keeps ' +
      'it from that.',
    problemsOf: ({ vm }, { unlabelledNodes }) => {
      const node = unlabelledNodes.get(vm.metadata.uid);
      return node === undefined ? [] : [`node ${node}`];
    },
  },
  {
    type: LIVE_CONDITION.macConflicts,
    reason: 'NotValid',
    message: 'VM has MAC address conflicts.',
    suggestion: 'Give the named VMs of the target other MAC addresses.',
    problemsOf: macConflicts,
  },
];

/** Whether a run of the plan has made the VM on the target for this one. One that it has made for another of its VMs has its name for good. */
const isReceiverOf = (
  { metadata: { labels = {} } }: VirtualMachine,
  { vm }: Candidate,
  { plan }: PlanView,
): boolean => labels[LIVE_LABEL.plan] === plan.metadata.uid && labels[LIVE_LABEL.vm] === vm.metadata.uid;

function unmappedStorage({ vm, claims }: Candidate, { storage }: PlanView): string[] {
  if (storage === undefined) return [];
  return neededVolumes(vm).flatMap(({ volume, name }) => {
    const storageClass = claims.get(name)?.spec.storageClassName ?? '';
    return storageEntryOf(storageClass, storage) === undefined
      ? [`volume ${volume} (storage class ${storageClass || 'unknown'})`]
      : [];
  });
}

function differences(wanted: string): Check['problemsOf'] {
  return ({ vm, vmi }) =>
    vmi === undefined
      ? []
      : differencesOf(vm, vmi)
          .filter(({ kind }) => kind === wanted)
          .map(({ message }) => message);
}

/** MAC addresses of other VMs on the target. Within one cluster the VM itself is there; and the one that waits for its guest has them too. */
function macConflicts(candidate: Candidate, view: PlanView): string[] {
  const { vmi } = candidate;
  const interfaces = vmi?.spec.domain.devices?.interfaces ?? [];
  const addresses = [
    ...interfaces.map(({ macAddress }) => macAddress),
    ...(vmi?.status?.interfaces ?? []).map(({ mac }) => mac),
  ];
  const own = ownNamesThere(candidate, view);
  return [...new Set(addresses)].flatMap((address = '') => {
    // One is enough: any number of VMs may have an address.
    const all = view.targetCluster?.macs.get(address.toLowerCase()) ?? [];
    const other = all.find((each) => !own.includes(each));
    return other === undefined ? [] : [`${address} is ${other}'s too`];
  });
}

/** Names of the VMs on the target that are the VM itself, or are to become it. */
function ownNamesThere(candidate: Candidate, view: PlanView): string[] {
  const { plan, sourceCluster, targetCluster } = view;
  const { name, targetName } = candidate;
  const there = targetCluster?.vms.get(targetName);
  const isThere = there !== undefined && isReceiverOf(there, candidate, view);
  return [
    ...(sourceCluster?.cluster === targetCluster?.cluster ? [name] : []),
    ...(isThere ? [`${plan.spec.targetNamespace}/${targetName}`] : []),
  ];
}
