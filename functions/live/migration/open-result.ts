import type { PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { keyOfVersion } from '../../eventing/live-events.ts';
import { isPastCutOver, recordIn } from '../run/record.ts';
import { isSameVm } from '../run/stop.ts';
import { COMPLETED, TRANSFER } from '../steps/itinerary.ts';
import type { MoveResult } from './move-vm.ts';
import type { ReconcileResult } from './start.ts';

/** Returns the result of an open run. A VM that has ended makes room for one that waits for its turn. */
export function resultOfOpen(moved: readonly MoveResult[], { status }: PlanMigration): ReconcileResult {
  const isWaitingForTurn = moved.some(
    ({ decision }) => decision.kind === 'wait' && decision.reason === LIVE_REASON.waitingToStart,
  );
  const hasRoom = moved.some(({ entry, decision }) => {
    const shown = status?.vms?.find((vm) => isSameVm(vm, entry));
    return decision.kind === 'ended' && shown?.completed === undefined;
  });
  const open = moved.filter(({ decision }) => decision.kind !== 'ended' || decision.leftovers.length > 0);
  const message = open.map(({ entry, decision }) => `${entry.name ?? ''}: ${decision.message}`).join('; ');
  const requeue = moved.some(({ requeue: isDue }) => isDue) || (isWaitingForTurn && hasRoom);
  if (requeue) return { message, requeue };
  return { message, requeue, decidedBy: versionsIn(moved), isWithKubeVirt: open.every(isWithKubeVirt) };
}

/**
 * Whether only KubeVirt acts: until the cut-over with both VMIMs made, and once the source VM is off, when it removes and starts. Not in
 * between: the source VM is to be turned off at once.
 */
function isWithKubeVirt({ decision, snapshot }: MoveResult): boolean {
  if (decision.kind !== 'wait') return false;
  const record = snapshot && recordIn(snapshot);
  const isBetween = record !== undefined && isPastCutOver(record) && record.arrivedAt === undefined;
  return decision.step === COMPLETED.name || (decision.step === TRANSFER.name && !isBetween);
}

/** Returns the versions of the objects that are watched, and that the waits were decided by. */
const versionsIn = (moved: readonly MoveResult[]): ReadonlyMap<string, string> =>
  new Map(
    moved
      .flatMap(({ snapshot, decision }) => (decision.kind === 'write' || !snapshot ? [] : [snapshot]))
      .flatMap(({ source, target }) => [
        ...[source.vm, source.vmi, ...source.vmims].map((object) => versionOf(object, source.cluster)),
        ...[target.vm, target.vmi, ...target.vmims, ...(target.setup?.volumes ?? [])].map((object) =>
          versionOf(object, target.cluster),
        ),
      ])
      .flat(),
  );

const versionOf = (object: KubernetesObject | undefined, cluster: string): (readonly [string, string])[] =>
  object === undefined
    ? []
    : [[keyOfVersion({ cluster, uid: object.metadata.uid }), object.metadata.resourceVersion]];
