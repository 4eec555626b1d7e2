import type { LiveWrite, StepDecision } from '../../../functions/live/run/decision.ts';
import type {
  Claim,
  DataVolume,
  MigrationState,
  VirtualMachine,
  Vmi,
  Vmim,
} from '../../../functions/domain/live/kubevirt.ts';
import {
  LIVE_KIND,
  LIVE_KUBEVIRT,
  LIVE_LABEL,
  type LiveReason,
} from '../../../functions/domain/live/names.ts';
import { migrationIdOf, runLabels, vmimName } from '../../../functions/live/run/names.ts';
import { withRecord, type RunRecord } from '../../../functions/live/run/record.ts';
import type {
  HubSide,
  RecordedRun,
  RunSnapshot,
  SourceSide,
  TargetSide,
} from '../../../functions/live/run/snapshot.ts';
import { standbyVm } from '../../../functions/live/on-target/standby-vm.ts';
import { KIND } from '../../../functions/domain/names.ts';
import type { KubernetesObject, Namespace, Pod } from '../../../functions/domain/objects.ts';
import { aNetworkMap, aPlan, aPlanMigration, aRecord, aStorageMap, aVm, itsVmi, RUN } from './live.ts';
import { build, metadata, NOW, seconds, type Change } from './object.ts';

const onTarget = (name: string): KubernetesObject['metadata'] => ({
  ...metadata(name),
  namespace: 'target',
  labels: runLabels(RUN),
  creationTimestamp: seconds(0),
});

/** The target namespace, as this plan made it, or another one. */
export const aTargetNamespace = (plan = RUN.plan): Namespace => ({
  ...LIVE_KIND.namespace,
  metadata: { ...metadata('target'), labels: { [LIVE_LABEL.plan]: plan } },
});

/** The launcher of the VM on the source, or of the one on the target. */
export const aLauncherPod = (name = 'source-launcher', phase = 'Running'): Pod => ({
  metadata: metadata(name),
  spec: { containers: [] },
  status: { phase },
});

/** A source VM that runs again only on failure. `requests`: starts and stops that are not done yet. */
export const aRerunningVm = (printableStatus: string, ...requests: string[]): VirtualMachine =>
  aVm((vm) => ({
    ...vm,
    spec: { ...vm.spec, runStrategy: 'RerunOnFailure' },
    status: { printableStatus, stateChangeRequests: requests.map((action) => ({ action })) },
  }));

/** The VM that waits on the target. */
export const aReceiver = (...changes: Change<VirtualMachine>[]): VirtualMachine => {
  const { metadata: own, ...standby } = standbyVm({
    run: RUN,
    record: aRecord(),
    plan: aPlan(),
    networks: aNetworkMap(),
    vm: aVm(),
    vmi: itsVmi(),
  });
  return build<VirtualMachine>(
    { ...standby, metadata: { ...onTarget('web'), ...own, uid: 'uid-of-receiver' } },
    changes,
  );
};

/** Its VMI, which waits for its guest. */
export const aWaitingVmi = (...changes: Change<Vmi>[]): Vmi =>
  build<Vmi>(
    {
      ...KIND.vmi,
      metadata: {
        ...metadata('web'),
        namespace: 'target',
        uid: 'uid-of-target-vmi',
        annotations: { [LIVE_KUBEVIRT.migrationTarget]: 'true' },
        ownerReferences: [{ ...LIVE_KIND.vm, name: 'web', uid: aReceiver().metadata.uid }],
      },
      spec: itsVmi().spec,
      status: { phase: 'WaitingForSync' },
    },
    changes,
  );

/** The guest runs in it, and KubeVirt is done with the migration. */
export const arrived: Change<Vmi> = (vmi) => ({
  ...vmi,
  metadata: { ...vmi.metadata, annotations: {} },
  status: {
    phase: 'Running',
    nodeName: 't-node',
    migrationState: {
      ...OWN_STATE,
      completed: true,
      targetNodeDomainReadyTimestamp: seconds(0),
      targetPod: 'target-launcher',
    },
  },
});

/** The state of the VMI's migration. */
export const migrated =
  (migrationState: MigrationState): Change<Vmi> =>
  (vmi) => ({ ...vmi, status: { ...vmi.status, migrationState } });

/** As the source keeps it of a migration of this run. */
export const OWN_STATE: MigrationState = {
  sourceState: { migrationUID: 'uid-of-sent' },
  targetState: { migrationUID: 'uid-of-received' },
};

/** The source's, of a migration that the target's KubeVirt has not answered (recorded: cross-unreachable). */
export const BEFORE_IT_BEGAN: MigrationState = {
  sourceState: { migrationUID: 'uid-of-sent' },
  targetState: { syncAddress: '127.0.0.1:9999' },
};

const vmim = (side: 'sent' | 'received', phase: string, attempt: number): Vmim => ({
  ...KIND.migration,
  metadata: { ...onTarget(vmimName(RUN, attempt)), uid: `uid-of-${side}` },
  spec: {
    vmiName: 'web',
    [side === 'sent' ? 'sendTo' : 'receive']: { migrationID: migrationIdOf(RUN, attempt) },
  },
  status: { phase },
});

/** The VMIM on the source, as the first attempt made it. */
export const sent = (phase: string, ...changes: Change<Vmim>[]): Vmim =>
  build(vmim('sent', phase, 1), changes);

/** The one on the target, with an address. */
export const received = (phase: string, ...changes: Change<Vmim>[]): Vmim =>
  build(vmim('received', phase, 1), [
    (one) => ({ ...one, status: { ...one.status, synchronizationAddresses: ['10.0.0.1:9185'] } }),
    ...changes,
  ]);

/** Being deleted since so many seconds after NOW. */
export const going =
  (after = 0): (<T extends KubernetesObject>(object: T) => T) =>
  (object) => ({ ...object, metadata: { ...object.metadata, deletionTimestamp: seconds(after) } });

/** A DataVolume of the run on the target. */
export const aDataVolume = (phase: string, ...changes: Change<DataVolume>[]): DataVolume =>
  build<DataVolume>(
    {
      ...LIVE_KIND.dataVolume,
      metadata: onTarget('web-root'),
      spec: {
        source: { blank: {} },
        storage: { storageClassName: 'gold', resources: { requests: { storage: '10Gi' } } },
      },
      status: { phase },
    },
    changes,
  );

const CLAIM: Claim = {
  ...LIVE_KIND.claim,
  metadata: { ...metadata('web-root'), namespace: 'vms' },
  spec: { storageClassName: 'fast', resources: { requests: { storage: '10Gi' } } },
  status: { phase: 'Bound' },
};

/** What is different from a run that has just begun. */
export interface Different {
  readonly hub?: Partial<HubSide>;
  readonly source?: Partial<SourceSide>;
  readonly target?: Partial<TargetSide>;
}

const HUB: HubSide = {
  now: NOW,
  cluster: 'hub',
  plan: aPlan(),
  migration: aPlanMigration((one) => ({ ...one, metadata: { ...one.metadata, uid: RUN.migration } })),
  entry: { name: 'web', namespace: 'vms' },
  storage: aStorageMap(),
  networks: aNetworkMap(),
  hooks: [],
  settings: {
    transferMs: undefined,
    sourceMs: 86_400_000,
    allowOverQuota: false,
    localMigration: false,
  },
  stop: undefined,
  status: undefined,
  blockers: [],
};

/** A VM that is about to move: on the target there is only the namespace. */
export const aRun = ({ hub, source, target }: Different = {}): RunSnapshot => ({
  run: RUN,
  hub: { ...HUB, ...hub },
  source: {
    now: NOW,
    cluster: 'source',
    vm: aVm(),
    vmi: itsVmi(),
    vmims: [],
    others: [],
    pods: [aLauncherPod()],
    attachments: [],
    setup: { claims: new Map([['web-root', CLAIM]]), resources: [] },
    ...source,
  },
  target: {
    now: NOW,
    cluster: 'target',
    namespace: { ...LIVE_KIND.namespace, metadata: metadata('target') },
    vm: undefined,
    vmi: undefined,
    vmims: [],
    pods: [],
    setup: { volumes: [], resources: [], quotas: [], claimProperties: new Map() },
    fit: { missing: undefined, isLetIn: false },
    launched: undefined,
    over: '',
    made: undefined,
    ...target,
  },
});

/** The same with this run's record on the source VM. */
export function aRecordedRun(record: RunRecord = aRecord(), different: Different = {}): RecordedRun {
  const run = aRun(different);
  const vm = withRecord(run.source.vm ?? aVm(), record);
  return { ...run, record, source: { ...run.source, vm } };
}

/** The Migration shows for so many seconds that the VM waits for this. */
export const showing = (reason: LiveReason, since: number): Partial<HubSide> => ({
  status: {
    ...{ name: 'web', namespace: 'vms', phase: 'Waiting', pipeline: [] },
    conditions: [
      {
        ...{ type: 'Blocked', status: 'True', category: 'Warn', reason, message: 'why' },
        lastTransitionTime: seconds(-since),
      },
    ],
  },
});

/** With other fields. */
export const recorded = (different: Partial<RunRecord>): RunRecord =>
  aRecord((record) => ({ ...record, ...different }));

/** The VM and the VMI that the attempts are for. */
const RECEIVING = { receiver: aReceiver().metadata.uid, receiverVmi: aWaitingVmi().metadata.uid };

/** The first attempt: the VM on the target waits, and its VMIM too. */
export const firstAttempt = (different: Different = {}, record: Partial<RunRecord> = {}): RecordedRun =>
  aRecordedRun(recorded({ attempt: 1, ...RECEIVING, ...record }), {
    ...different,
    source: { setup: undefined, ...different.source },
    target: {
      setup: undefined,
      vm: aReceiver(),
      vmi: aWaitingVmi(),
      vmims: [received('WaitingForSync')],
      ...different.target,
    },
  });

/** A decision in one line: what it writes where, or why it waits or fails. */
export function summary(
  decision: StepDecision | { kind: 'ended'; as: string; reason: string; leftovers: readonly string[] },
): string {
  if (decision.kind === 'done') return 'done';
  if (decision.kind === 'write') return decision.writes.map(writeText).join(', ');
  if (decision.kind !== 'ended') return `${decision.kind} ${decision.reason}`;
  const left = decision.leftovers.length === 0 ? '' : `, left: ${decision.leftovers.join(', ')}`;
  return `${decision.as} ${decision.reason}${left}`;
}

const writeText = ({ verb, on, object }: LiveWrite): string =>
  `${verb} ${object.kind ?? ''} ${object.metadata.name} on ${on}`;

/** The record that a decision writes. */
export function writtenRecord(decision: StepDecision): RunRecord | undefined {
  const [write] = decision.kind === 'write' ? decision.writes : [];
  const content = (write?.object as KubernetesObject | undefined)?.metadata.annotations?.[
    'live.mtq.kubevirt.io/run'
  ];
  return content === undefined ? undefined : (JSON.parse(content) as RunRecord);
}
