/**
 * The allowed differences between a reproduced history and the recorded one, each with its reason. Any other difference
 * is a defect of the stand-in.
 */

/** Texts that vary between runs, replaced by the same text on both sides. */
export const REPLACED: readonly { what: RegExp; by: string; reason: string }[] = [
  { what: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, by: '<time>', reason: 'when it was' },
  {
    what: /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC/g,
    by: '<time>',
    reason: 'when it was, as Go prints it',
  },
  {
    what: /(vm0|mig0|kubevirt-[a-z-]+-[a-z0-9]{5})\.[0-9a-f]{14,}/g,
    by: '$1.<nanoseconds>',
    reason: 'events are named by the nanosecond',
  },
  {
    what: /(kubevirt-(?:evacuation|workload-update))-[a-z0-9]{5}/g,
    by: '$1-<random>',
    reason: 'automated migrations are named by generateName',
  },
  {
    what: /registry\.(?:invalid|example)/g,
    by: '<registry>',
    reason: 'of the launcher images: it exists nowhere',
  },
  {
    what: /virt-launcher-vm0-[a-z0-9]{5}/g,
    by: 'virt-launcher-vm0-<refused>',
    reason:
      'the name of a pod that was refused: random, another in every attempt (source and target have theirs)',
  },
  {
    what: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g,
    by: '<uid>',
    reason: 'UIDs of the quota, of events and of the firmware (those of VMI, VMIM and pods have names)',
  },
  { what: /10\.8\.\d+\.\d+/g, by: '<pod ip>', reason: 'the nodes give pods random addresses' },
  {
    what: /"--qemu-timeout","\d+s"/g,
    by: '"--qemu-timeout","<random>"',
    reason: 'KubeVirt spreads it at random',
  },
];

/** Fields left out on both sides. `kind`: of this kind only; a path is dotted, from the object. */
export const LEFT_OUT: readonly { kind?: string; path: string; reason: string }[] = [
  { path: 'metadata.resourceVersion', reason: 'counts all writes of the cluster' },
  { path: 'metadata.managedFields', reason: 'cut from the recordings' },
  { kind: 'Event', path: 'involvedObject.resourceVersion', reason: 'counts all writes of the cluster' },
  {
    kind: 'VirtualMachineInstance',
    path: 'metadata.generation',
    reason: 'counts the versions; two of the real ones are sometimes one (compare the recordings)',
  },
];

/**
 * status.activePods has a pod with an empty node until the VMI controller has seen its binding. In one of the four
 * recordings it saw the binding at once.
 */
export const isUnboundActivePod = (path: string, value: unknown): boolean =>
  path.startsWith('status.activePods.') && value === '';

/**
 * The versions of a pod, and of a VMI before its migration, are compared field by field (which values, in which order),
 * not version by version: kubelet, virt-handler and the controllers write the same object at the same time, and the
 * recordings differ among themselves in whose write came first (the condition virtual-machine-unpaused before or after
 * Running; the label nodeName before or after the annotation migration-target-ready-timestamp) and in whether two
 * writes became one version.
 */
export const WRITTEN_BY_SEVERAL = ['Pod', 'VirtualMachineInstance'] as const;

/**
 * Left out too where a drain and an upgrade are compared: fields that differ because of the recorder, not of virt-controller.
 */
export const LEFT_OUT_OF_MAINTENANCE: readonly { kind: string; path: string; reason: string }[] = [
  {
    kind: 'VirtualMachineInstanceMigration',
    path: 'metadata.labels.kubevirt.io/vmi-name',
    reason: "virt-api's, which the recorder's script added in a later version",
  },
  {
    kind: 'VirtualMachineInstanceMigration',
    path: 'metadata.finalizers',
    reason: "virt-api's, which the recorder's script added in a later version",
  },
  ...[
    ['status.evacuationNodeName', "virt-handler clears it; the recorder's script did not"],
    ['status.launcherContainerImageVersion', 'see activePods'],
    ['status.conditions', 'see activePods: EvictionRequested'],
    ['metadata.labels.kubevirt.io/outdatedLauncherImage', 'see activePods'],
    [
      'status.activePods',
      "the recorder's virt-controller wrote no running VMI but at a migration: neither this, which it does in history-*, nor the rest",
    ],
  ].map(([path = '', reason = '']) => ({ kind: 'VirtualMachineInstance', path, reason })),
  ...[
    ['metadata.labels.kubevirt.io/outdatedLauncherImage', "a copy of the VM's label: see activePods"],
    ['spec.containers.0.args.27', 'useEmulation was not set in this recording (--allow-emulation)'],
    ...['limits', 'requests'].flatMap((list) =>
      ['kvm', 'vhost-net'].map((device) => [
        `spec.containers.0.resources.${list}.devices.kubevirt.io/${device}`,
        'useEmulation was not set in this recording',
      ]),
    ),
  ].map(([path = '', reason = '']) => ({ kind: 'Pod', path, reason })),
];
