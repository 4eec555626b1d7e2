import { isFinal } from '../../domain/migration.ts';
import { LIVE_KUBEVIRT, LIVE_REASON } from '../../domain/live/names.ts';
import type { Vmi, Vmim } from '../../domain/live/kubevirt.ts';
import { KIND } from '../../domain/names.ts';
import { runsOnTarget } from '../guest/cut-over.ts';
import { isDownByNextCrashThere, receiverOf } from '../guest/proofs.ts';
import { LIMIT_MS } from '../run/deadlines.ts';
import { DONE, wait, write, type NewObject, type StepDecision } from '../run/decision.ts';
import { localVmimName, runLabels } from '../run/names.ts';
import { withRecord } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { waitingSince } from '../run/waiting-since.ts';

/**
 * Migrates the VM once within the target, if the plan's destination has the setting, and only where the VMI has the state by which KubeVirt
 * halts it at its next crash: the hand-over of such a migration clears that (recorded: cross-next-crash-after-local-migration). It comes
 * after the VMIMs of the move are gone, whose finalizer KubeVirt removes only while the VMI's state names them. It is tried once, and its
 * failure is none of the run's: the VM has moved.
 */
export function decide(run: RecordedRun): StepDecision {
  const { local } = run.target;
  if (run.record.local === true) return local === undefined ? DONE : end(run, local);
  return mayBegin(run) && isDue(run) ? begin(run) : DONE;
}

const mayBegin = ({ hub }: RecordedRun): boolean =>
  hub.settings.localMigration &&
  hub.status?.completed === undefined &&
  hub.stop === undefined &&
  hub.refused === undefined;

const isDue = (run: RecordedRun): boolean =>
  receiverOf(run) !== undefined &&
  runsOnTarget(run.target) &&
  isDownByNextCrashThere(run.target) &&
  isMigratable(run.target.vmi);

/** Whether KubeVirt can migrate the VMI. Disks that only one node can use stay where they are. */
const isMigratable = (vmi: Vmi | undefined): boolean =>
  (vmi?.status?.conditions ?? []).every(({ type, status }) => type !== 'LiveMigratable' || status === 'True');

/**
 * Records first that it is tried, so that no late call creates a VMIM once the run has ended. After a crash in between it is not tried; a
 * refusal is no reason to wait.
 */
const begin = ({ source: { vm }, record, run }: RecordedRun): StepDecision =>
  write(
    'migrating the VM within the target, by which KubeVirt forgets the state of the move',
    { verb: 'replace', on: 'source', object: withRecord(vm, { ...record, local: true }) },
    { verb: 'create', on: 'target', isOptional: true, object: vmimOf({ record, run }) },
  );

const vmimOf = ({ record: { target }, run }: Pick<RecordedRun, 'record' | 'run'>): NewObject =>
  ({
    ...KIND.migration,
    metadata: {
      name: localVmimName(run),
      namespace: target.namespace,
      labels: runLabels(run),
      // Without another node that has room for it, it ends soon.
      annotations: { [LIVE_KUBEVIRT.unschedulableTimeout]: '60' },
    },
    spec: { vmiName: target.name },
  }) as never;

/** Waits for the end of the VMIM, and deletes it then, or when its time is over: one that waits keeps the node from being drained. */
function end(run: RecordedRun, local: Vmim): StepDecision {
  const { hub, record } = run;
  if (local.metadata.deletionTimestamp !== undefined || hub.refused !== undefined) return DONE;
  const isCopying = local.status?.phase === 'Running';
  const limitMs = isCopying ? Math.max(LIMIT_MS.local, record.transferSeconds * 1_000) : LIMIT_MS.local;
  const isLate = hub.now - waitingSince(hub, LIVE_REASON.migratingLocally) >= limitMs;
  if (isFinal(local) || isLate)
    return write('deleting the VMIM of the migration within the target', {
      verb: 'delete',
      on: 'target',
      object: local,
    });
  return wait(
    LIVE_REASON.migratingLocally,
    'the VM has moved; waiting until KubeVirt has migrated it once within the target',
  );
}
