import { isFinal } from '../../domain/migration.ts';
import { isOverdue, withoutFinalizers } from '../guest/abort.ts';
import { LIMIT_MS } from '../run/deadlines.ts';
import { DONE, wait, write, type LiveWrite, type StepDecision } from '../run/decision.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import type { Vmim } from '../../domain/live/kubevirt.ts';
import type { RunSnapshot } from '../run/snapshot.ts';

/**
 * Deletes the VMIMs that are left; the VM on the target, and the objects that it uses, stay. A VMIM that KubeVirt does not remove has
 * nothing to do any more: the guest has arrived, and the source VM is off.
 */
export function decide({ source, target }: Pick<RunSnapshot, 'source' | 'target'>): StepDecision {
  const left = [
    ...source.vmims.map((object) => ({ on: 'source' as const, object })),
    ...target.vmims.map((object) => ({ on: 'target' as const, object })),
  ];
  if (left.length === 0) return DONE;
  const due = left.filter(({ object }) => object.metadata.deletionTimestamp === undefined);
  if (due.length > 0)
    return write('deleting the VMIMs', ...due.map((each): LiveWrite => ({ verb: 'delete', ...each })));
  const sides = { source, target };
  const stuck = left.filter(
    ({ on, object }) =>
      (isFinal(object) && !isNamed(on, object, sides[on])) ||
      isOverdue(object, sides[on], isFinal(object) ? LIMIT_MS.stuckVmim : LIMIT_MS.undo),
  );
  if (stuck.length === 0) return wait(LIVE_REASON.cleaningUp, 'waiting until KubeVirt has removed the VMIMs');
  return write(
    'taking the finalizers of the VMIMs away, which KubeVirt does not remove',
    ...stuck.map(({ on, object }): LiveWrite => ({ verb: 'replace', on, object: withoutFinalizers(object) })),
  );
}

/**
 * Whether the VMI's state names the VMIM. KubeVirt removes its own finalizer only while it does (recorded:
 * cross-rerunonfailure-source-fails), and clears the names of a VMI whose guest has arrived (recorded: cross-sides-cleared-next-crash).
 */
const isNamed = (
  on: 'source' | 'target',
  { metadata }: Vmim,
  { vmi }: Pick<RunSnapshot['source'], 'vmi'>,
): boolean => vmi?.status?.migrationState?.[`${on}State`]?.migrationUID === metadata.uid;
