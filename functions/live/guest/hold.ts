import { describeName } from '../run/describe.ts';
import { write, type StepDecision } from '../run/decision.ts';
import { HELD, withRecord, withStrategy } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';

/**
 * Sets a source VM of RerunOnFailure to Manual while it moves; undefined if that is not needed. KubeVirt starts such a VM again as soon as
 * its launcher fails, also once its guest is on the target, and even if the target cannot be read then (recorded:
 * cross-rerunonfailure-target-away). A VM of another strategy waits for the end of the migration. A Manual one keeps its VMI as it ended.
 */
export function hold({ source: { vm }, record }: RecordedRun): StepDecision | undefined {
  if (vm.spec.runStrategy !== HELD.from) return undefined;
  return write(`setting the VM ${describeName(vm)} on the source to ${HELD.to} while it moves`, {
    verb: 'replace',
    on: 'source',
    object: withRecord(withStrategy(vm, HELD.to), { ...record, held: true }),
  });
}
