import { expect, test } from '@jest/globals';
import { aLauncher, aMigration, aVmi, ofVm } from '../../../test/support/builders/kubevirt.ts';
import { beingDeleted, named } from '../../../test/support/builders/object.ts';
import { aSnapshot, RULES } from '../../../test/support/builders/snapshot.ts';
import { REASON } from '../names.ts';
import { assess } from './assessment.ts';

test('a migration of a VMI that is being deleted is not blocked, and delays no other', () => {
  const vm1 = { ...aVmi(), metadata: { ...aVmi().metadata, name: 'vm1', uid: 'uid-of-vm1' } };
  const { verdicts, migrations } = assess(
    aSnapshot({
      migrations: [aMigration(), aMigration(named('mig1'), ofVm('vm1'))],
      pods: [aLauncher(), aLauncher('vm1')],
      vmis: new Map([
        ['vm0', beingDeleted()(aVmi())],
        ['vm1', vm1],
      ]),
    }),
    RULES,
  );
  expect(verdicts.map(({ reason, message }) => [reason, message])).toEqual([
    [REASON.vmiGone, 'the VMI vm0 is being deleted'],
    [REASON.fitsWithRaise, expect.any(String)],
  ]);
  expect(migrations.map(({ name }) => name)).toEqual(['mig1']);
});
