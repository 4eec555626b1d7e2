import { expect, test } from '@jest/globals';
import { aMigration, aVmi, withPriority } from '../../test/support/builders/kubevirt.ts';
import { annotated, labelled } from '../../test/support/builders/object.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { Migration, VirtualMachineInstance } from '../../functions/domain/objects.ts';
import { outdated } from './observe.ts';

const vmiIn = (phase: string | undefined): VirtualMachineInstance =>
  labelled(KUBEVIRT.outdatedLauncher, '')({ ...aVmi(), status: phase === undefined ? {} : { phase } });

test.each<[string | undefined, string[]]>([
  ['Running', ['vm0']],
  ['Pending', []],
  ['Scheduling', []],
  ['Failed', []],
  [undefined, []],
])(
  'a VMI in phase %s with the label of an outdated launcher, which a user may create it with: %j',
  (phase, wanted) => {
    const facts = {
      vmis: [vmiIn(phase)],
      migrations: new Map<string, never>(),
      more: () => ({ isQueued: false, isLocked: false }),
    };
    expect(outdated(facts).map(({ name }) => name)).toEqual(wanted);
  },
);

/** By the workload updater, for an upgrade or for a change of the VM. */
const byUpdater = annotated(KUBEVIRT.workloadUpdate, '')(aMigration());

test.each<[string, Migration, string[]]>([
  ['of an upgrade', withPriority('system-critical')(byUpdater), ['vm0']],
  ['of a change of the VM', withPriority('user-triggered')(byUpdater), []],
  // Before KubeVirt 1.7 nothing on a migration shows which of both it is (facts/kubevirt.md §3.1).
  ['without a priority', byUpdater, []],
])('a VM without the label counts for an upgrade by a migration %s', (_, migration, wanted) => {
  const migrations = new Map([['tenant/vm0', migration]]);
  const more = (): { isQueued: false; isLocked: false } => ({ isQueued: false, isLocked: false });
  expect(outdated({ vmis: [], migrations, more }).map(({ name }) => name)).toEqual(wanted);
  expect(outdated({ vmis: [vmiIn('Running')], migrations, more }).map(({ name }) => name)).toEqual(['vm0']);
});
