import { expect, test } from '@jest/globals';
import { aVmi } from '../../test/support/builders/kubevirt.ts';
import { labelled } from '../../test/support/builders/object.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { VirtualMachineInstance } from '../../functions/domain/objects.ts';
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
