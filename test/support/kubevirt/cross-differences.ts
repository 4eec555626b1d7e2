/**
 * The allowed differences between a migration between two clusters of the stand-ins and the recorded one, each with its reason. Any
 * other difference is a defect of the stand-in.
 */

interface Replaced {
  readonly what: RegExp;
  readonly by: string;
  readonly reason: string;
}

/** Texts that vary between runs, replaced by the same text on both sides. */
export const CROSS_REPLACED: readonly Replaced[] = [
  { what: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, by: '<time>', reason: 'when it was' },
  {
    what: /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC/g,
    by: '<time>',
    reason: 'when it was, as Go prints it',
  },
  {
    what: /virt-launcher-vm0-[a-z0-9]{5}/g,
    by: 'virt-launcher-vm0-<refused>',
    reason: 'a pod that was refused: a random name in every attempt',
  },
  {
    what: /\bm(\d?)-x-([a-z-]+|<namespace of the \w+>)(?=["\\, ])/g,
    by: 'm$1',
    reason: 'the migration ids have the name of the recording, or of the namespace',
  },
  { what: /127\.0\.0\.1:9186|10\.8\.0\.2:9185/g, by: '<target address>', reason: 'another network' },
  { what: /127\.0\.0\.1:9185|10\.8\.0\.1:9185/g, by: '<source address>', reason: 'another network' },
  { what: /(revision-start-vm-.*?-)\d+(?=")/g, by: '$1<generation>', reason: 'see metadata.generation' },
];

interface LeftOut {
  readonly kind?: string;
  /** Dotted, from the object. */
  readonly path: string;
  readonly reason: string;
}

/** By which the script of a stand-in keeps a VMIM until its turn. */
export const KEEPING_FINALIZER = 'test.mtq.kubevirt.io/keep';

/** Fields left out on both sides. */
export const CROSS_LEFT_OUT: readonly LeftOut[] = [
  { path: `metadata.finalizers.${KEEPING_FINALIZER}`, reason: 'an order that no slow machine changes' },
  { path: 'metadata.resourceVersion', reason: 'counts all writes of the cluster' },
  ...['metadata.generation', 'status.desiredGeneration', 'status.observedGeneration'].map((path) => ({
    path,
    reason: "counts writes; the recorder's VM had an empty map, whose loss was one",
  })),
  { path: 'metadata.annotations.kubevirt.io/vm-generation', reason: 'see metadata.generation' },
  { path: 'metadata.managedFields', reason: 'cut from the recordings' },
  { path: 'metadata.generateName', reason: 'cut from the recordings' },
  ...['VirtualMachine', 'VirtualMachineInstance'].map((kind) => ({
    kind,
    path: kind === 'VirtualMachine' ? 'spec.template' : 'spec',
    reason: 'what the user wrote, and no controller changes',
  })),
  {
    kind: 'VirtualMachine',
    path: 'status.volumeSnapshotStatuses',
    reason: 'by another controller, which is not played',
  },
  {
    kind: 'VirtualMachineInstance',
    path: 'status.phaseTransitionTimestamps',
    reason: "the recorder's virt-handler noted Running there; that of history-*, and the stand-in's, did not",
  },
  ...['limits', 'requests'].flatMap((list) =>
    ['kvm', 'vhost-net', 'tun'].map((device) => ({
      kind: 'Pod',
      path: `spec.containers.0.resources.${list}.devices.kubevirt.io/${device}`,
      reason: 'useEmulation was not set in these recordings; requests are by the API server',
    })),
  ),
  {
    kind: 'Pod',
    path: 'status.conditions.PodScheduled',
    reason: 'a pod of the model is on its node from the beginning',
  },
  {
    kind: 'Pod',
    path: 'status.conditions.kubevirt.io/virtual-machine-unpaused',
    reason:
      'a pod that has completed gets it again; the stand-in looks at living launchers (history-* compare it)',
  },
  ...['metadata.deletionTimestamp', 'metadata.deletionGracePeriodSeconds'].map((path) => ({
    kind: 'VirtualMachineInstance',
    path,
    reason:
      'none where both finalizers are gone before the deletion: two controllers take them, in either order',
  })),
  {
    path: 'metadata.annotations.rig/fault',
    reason: "how the recorder's script knew which launcher was to die",
  },
  {
    path: 'metadata.annotations.rig/clears-sides',
    reason: "how the recorder's script knew which virt-handler to play",
  },
  {
    kind: 'VirtualMachine',
    path: 'status.startFailure',
    reason:
      'only of a VM with `running: true`, whose VMI is over and stays; how long KubeVirt waits is not played',
  },
];

/** What the recordings have of pods. */
export const RECORDED_OF_PODS =
  /^(metadata|spec\.(nodeName|nodeSelector|affinity|(containers|initContainers)\.\d+\.(name|image|resources|restartPolicy)($|\.))|status\.(phase|conditions))/;

interface Transient {
  /** Of "<side> <kind> <name> <path>". */
  readonly path: RegExp;
  readonly value: RegExp;
  readonly reason: string;
}

/** Values that count only where they are a line's last: they last as long as one look of a controller, which may miss them. */
export const TRANSIENT: readonly Transient[] = [
  {
    path: / VirtualMachine\S*( \d)?> status\.printableStatus$/,
    value: /^(Stopped|Starting)$/,
    reason: 'a version between two others, where the controller looked in between',
  },
  {
    path: / status\.conditions\.Ready\.reason$/,
    value: /^(VMINotExists|VMIConditionMissing|PodNotExists|PodTerminating|GuestNotRunning)$/,
    reason: 'see printableStatus',
  },
  {
    path: / VirtualMachine(Instance)?\S*( \d)?> status\.conditions\.Ready\.status$/,
    value: /^False$/,
    reason: 'see printableStatus; a VMI may be gone before',
  },
  {
    path: / status\.conditions\.Ready\.message$/,
    value:
      /^(VMI does not exist|VMI is missing the Ready condition|virt-launcher pod (has|is) .*|Guest VM is not .*)$/,
    reason: 'see printableStatus',
  },
  {
    path: / (status\.)?migrationState\.sourcePod$/,
    value: /^<target pod/,
    reason: "KubeVirt's slip at the hand-over: whether it is seen depends on whose write came first",
  },
  {
    path: /(DecentralizedLiveMigrationFailure|decentralizedMigrationBlocked)\.message$/,
    value: /unable to locate VMI/,
    reason: "after one side's VMIM is gone, until the other side has seen it",
  },
  {
    path: /(DecentralizedLiveMigrationFailure|decentralizedMigrationBlocked)\.message$/,
    value: /connection refused/,
    reason: 'during a restart, only where the other side calls just then',
  },
  {
    path: /(DecentralizedLiveMigrationFailure|decentralizedMigrationBlocked)\.(type|status|reason)$/,
    value: /./,
    reason: 'always the same; its message says whether it lasted',
  },
];

interface Exception {
  readonly history: string;
  /** Of "<side> <kind> <name> <path>", or of an event. */
  readonly what: RegExp;
  readonly reason: string;
}

const ON_A_NODE = /^target .*(nodeName|NodeName|activePods|(source|target)Node)/;

export const EXCEPTIONS: readonly Exception[] = [
  {
    history: 'cancel-blocked-recovered',
    what: /<source send2>|VMI is not eligible for migration|^source .* Migration failed due to being canceled/,
    reason: 'it was deleted 8 ms after its creation: how far the controllers came is chance',
  },
  {
    history: 'source-fails',
    what: /<source send> (metadata\.(deletion|finalizers)|status\.migrationState)/,
    reason: 'how far it comes before its VMI is gone is chance: see untilGoneOrKept',
  },
  ...['next-crash-on-target', 'next-crash-after-local-migration'].flatMap((history) => [
    {
      history,
      what: /^target .*(migrationState\.(mode|targetNodeAddress|targetDirectMigrationNodePorts)|<target local> status\.synchronizationAddresses)/,
      reason: 'of a migration within the cluster, which history-* compare',
    },
    {
      history,
      what: ON_A_NODE,
      reason: 'the nodes of the pods after the first: the model has one for each kind of launcher',
    },
  ]),
  {
    history: 'sides-cleared-next-crash',
    what: ON_A_NODE,
    reason: 'the nodes of the pods after the first: the model has one for each kind of launcher',
  },
  {
    history: 'sides-cleared-next-crash',
    what: /<target receive> status\.migrationState|^source .*Deleted virtual machine pod/,
    reason:
      'whether it is copied before virt-handler clears both sides, and whether a pod is deleted twice, is chance',
  },
  {
    history: 'sync-controller-loses-lease-vmim-deleted',
    what: /(DecentralizedLiveMigrationFailure|decentralizedMigrationBlocked)\.message/,
    reason: 'whether the source calls once more after the restart is chance',
  },
  {
    history: 'rerunonfailure-source-fails',
    what: /<source send> status\.conditions\.migrationAbortRequested|^source .*FailedMigration/,
    reason: 'whether KubeVirt looks at the VMIM before there is another VMI is chance: it is Failed then too',
  },
  {
    history: 'rerunonfailure-target-away',
    what: /^source VirtualMachineInstance <source VirtualMachineInstance 2> status\.(phase|conditions)/,
    reason: 'the end of a guest whose VMI is deleted while it runs is not played',
  },
  {
    history: 'sync-controller-loses-lease',
    what: /DecentralizedLiveMigrationFailure|decentralizedMigrationBlocked|<source send> metadata\.deletion/,
    reason: 'whether the source calls again, and frees its VMIM, before its VMI is gone is chance',
  },
];

/** Events and conditions that come of lost races. */
export const isNoise = (text: string): boolean =>
  /the server rejected our request|client connection is closing|FailedHandOver|FailedDelete|FailedCreate/.test(
    text,
  );
