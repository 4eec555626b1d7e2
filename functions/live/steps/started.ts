import { migrationKnownBy } from '../guest/cut-over.ts';
import { isUp } from '../guest/proofs.ts';
import { sourceStopped } from '../guest/source-stopped.ts';
import { LIMIT_MS, transferSeconds } from '../run/deadlines.ts';
import { DONE, fail, waitUntil, write, type StepDecision, type Wait } from '../run/decision.ts';
import type { VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import { LIVE_KIND, LIVE_LABEL, LIVE_REASON } from '../../domain/live/names.ts';
import { fingerprintOf } from '../on-target/edits.ts';
import { TYPES_HIDDEN } from '../on-target/resources.ts';
import { recordOf, strategyOf, withRecord, type RunRecord } from '../run/record.ts';
import type { RecordedRun, RunSnapshot, SourceSetup } from '../run/snapshot.ts';
import { waitingSince, waitAtMost } from '../run/waiting-since.ts';

/** Writes the record on the source VM, before anything else is written on either cluster; then creates the namespace on the target. */
export function decide(snapshot: RunSnapshot): StepDecision {
  const { source, run } = snapshot;
  const { vm, vmi } = source;
  if (vm === undefined) return fail(LIVE_REASON.sourceGone, 'the VM is not on the source');
  const state = recordOf(vm, run);
  if (state.kind === 'ours') return begun({ ...snapshot, record: state.record, source: { ...source, vm } });
  const runStrategy = strategyOf(vm);
  const isGoing = vm.metadata.deletionTimestamp !== undefined;
  if (runStrategy === undefined || vmi === undefined || !isUp(vmi) || isGoing)
    return fail(LIVE_REASON.sourceStopped, 'the VM does not run on the source: only a VM that runs can move');
  const record = newRecord(snapshot, { vm, vmi, runStrategy });
  return write('recording the run on the VM', {
    verb: 'replace',
    on: 'source',
    object: withRecord(vm, record),
  });
}

/**
 * Ends the run of a VM that stops before anything of it is made. Once there is an attempt, the steps of its VMIMs ask that: they know what is
 * on the target by then.
 */
const begun = (snapshot: RecordedRun): StepDecision =>
  snapshot.record.attempt > 0 ? DONE : (sourceStopped(snapshot) ?? inNamespace(snapshot, snapshot.record));

interface Running {
  readonly vm: VirtualMachine;
  readonly vmi: Vmi;
  readonly runStrategy: RunRecord['runStrategy'];
}

function newRecord({ hub, source, target }: RunSnapshot, { vm, vmi, runStrategy }: Running): RunRecord {
  const { name, namespace = '', uid } = hub.migration.metadata;
  const before = migrationKnownBy(vmi);
  const { transferMs } = hub.settings;
  return {
    v: 1,
    migration: { namespace, name, uid },
    hub: hub.cluster,
    vm: vm.metadata.uid,
    vmi: vmi.metadata.uid,
    ...(before === undefined ? {} : { before }),
    runStrategy,
    target: {
      cluster: target.cluster,
      namespace: hub.plan.spec.targetNamespace,
      name: hub.entry.targetName || vm.metadata.name,
    },
    startedAt: new Date(hub.now).toISOString(),
    transferSeconds:
      transferMs === undefined
        ? transferSeconds(vmi, [...(source.setup?.claims.values() ?? [])])
        : transferMs / 1_000,
    attempt: 0,
    fingerprint: fingerprintOf(vm),
    hooks: [],
    marks: [],
  };
}

/**
 * Creates the namespace. Several VMs need the same one, so it has the label of the plan alone, and stays. From the first attempt on the VM
 * is in it, whose own deletion ends the run.
 */
function inNamespace({ hub, source, target, run }: RunSnapshot, record: RunRecord): StepDecision {
  const [hidden] = source.setup?.forbidden ?? [];
  if (hidden !== undefined)
    return waitAtMost(LIMIT_MS.refused, hub, forbiddenOnSource(hidden, source.vm?.metadata.namespace ?? ''));
  const { namespace } = target;
  const { namespace: name } = record.target;
  if (namespace === undefined)
    return write(`creating the namespace ${name} on the target`, {
      verb: 'create',
      on: 'target',
      object: { ...LIVE_KIND.namespace, metadata: { name, labels: { [LIVE_LABEL.plan]: run.plan } } },
    });
  if (namespace.metadata.deletionTimestamp === undefined)
    return target.setup?.isForbidden === true
      ? waitAtMost(LIMIT_MS.refused, hub, forbidden(name, 'target'))
      : DONE;
  return waitUntil(
    { now: hub.now, until: waitingSince(hub, LIVE_REASON.receiverPending) + LIMIT_MS.namespace },
    { reason: LIVE_REASON.receiverPending, message: `the namespace ${name} on the target is being deleted` },
    LIVE_REASON.receiverFailed,
  );
}

type Refused = Pick<Wait, 'reason' | 'message'>;

const forbidden = (namespace: string, side: 'source' | 'target'): Refused => ({
  reason: LIVE_REASON.refused,
  message:
    `Secrets and ConfigMaps of namespace ${namespace} on the ${side} must be readable, since the VM names some: ` +
    `kubectl apply -n ${namespace} -k config/components/live-migration/namespace`,
});

const forbiddenOnSource = (
  hidden: NonNullable<SourceSetup['forbidden']>[number],
  namespace: string,
): Refused =>
  hidden === 'of namespace'
    ? forbidden(namespace, 'source')
    : { reason: LIVE_REASON.refused, message: TYPES_HIDDEN };
