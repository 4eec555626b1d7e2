import { LIMIT_MS } from '../run/deadlines.ts';
import { describeName } from '../run/describe.ts';
import { wait, write, type StepDecision, type Wait } from '../run/decision.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { HELD, withOwnersStrategy, withRecord, withStrategy } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { otherOwners } from './other-owners.ts';
import { writtenAt } from './proofs.ts';

/**
 * Sets a source VM of RerunOnFailure to Manual while it moves; undefined if that is not needed. KubeVirt starts such a VM again as soon as
 * its launcher fails, also once its guest is on the target, and even if the target cannot be read then (recorded:
 * cross-rerunonfailure-target-away). A VM of another strategy waits for the end of the migration. A Manual one keeps its VMI as it ended.
 */
export function hold(run: RecordedRun): StepDecision | undefined {
  const { vm } = run.source;
  const { record } = run;
  if (vm.spec.runStrategy !== HELD.from) return undefined;
  return (
    waitForOwner(run) ??
    write(`setting the VM ${describeName(vm)} on the source to ${HELD.to} while it moves`, {
      verb: 'replace',
      on: 'source',
      object: withRecord(withStrategy(vm, HELD.to), {
        ...(withOwnersStrategy(vm, record) ?? record),
        held: true,
      }),
    })
  );
}

/** Records the strategy that an owner has given the VM while it moves: its copy does not have it, and the halt takes it away. */
export function noteStrategy({ source: { vm }, record }: RecordedRun): StepDecision | undefined {
  const noted = withOwnersStrategy(vm, record);
  if (noted === undefined) return undefined;
  const message = `recording that the runStrategy of the VM ${describeName(vm)} was changed on the source`;
  return write(message, { verb: 'replace', on: 'source', object: withRecord(vm, noted) });
}

/** Waits a while where an owner has undone that, so that two writers make no storm; undefined if none has, or long ago. */
function waitForOwner({ source: { vm, now }, record }: RecordedRun): Wait | undefined {
  if (record.held !== true || now - writtenAt(vm) >= LIMIT_MS.haltAgain) return undefined;
  const owners = otherOwners(vm);
  const by = owners === '' ? '' : ` by the field manager ${owners}`;
  return wait(
    LIVE_REASON.sourceSetBack,
    `the VM ${describeName(vm)} on the source, which is ${HELD.to} while it moves, was set back to ${HELD.from}${by}, by which KubeVirt ` +
      'may run it beside the one on the target: have that writer leave its runStrategy alone until the move has ended',
  );
}
