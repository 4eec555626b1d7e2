import { describe, expect, test } from '@jest/globals';
import { aLauncher, aMigration, aVmi, ofVm } from '../../../test/support/builders/kubevirt.ts';
import { annotated, createdAt, named, seconds } from '../../../test/support/builders/object.ts';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import {
  aClusterVmmrq,
  aReservation,
  aSnapshot,
  aVmmrq,
  giving,
  RULES,
  withTotal,
} from '../../../test/support/builders/snapshot.ts';
import { KUBEVIRT, REASON, type Reason } from '../names.ts';
import type { AmountList, ClusterVmmrq, Reservation, Vmmrq } from '../objects.ts';
import { assess } from './assessment.ts';
import type { VerdictName } from './verdict.ts';

/** Gives enough for two launchers of 1005m CPU to each namespace, within a total. */
const drains = (total: AmountList, ...reserved: Reservation[]): ClusterVmmrq =>
  withTotal(total, ...reserved)(giving({ 'requests.cpu': '2010m' })(aClusterVmmrq()) as ClusterVmmrq);

/** Evacuations of vm0 and, younger, of vm1, which a full quota refuses. */
const assessed = (vmmrqs: readonly Vmmrq[], vms = 1): { verdicts: string[]; messages: string } => {
  const names = Array.from({ length: vms }, (_, index) => String(index));
  const { verdicts } = assess(
    aSnapshot({
      migrations: names.map((n) =>
        aMigration(
          named(`mig${n}`),
          ofVm(`vm${n}`),
          createdAt(Number(n)),
          annotated(KUBEVIRT.evacuation, 'node1'),
        ),
      ),
      pods: names.map((n) => aLauncher(`vm${n}`)),
      vmis: new Map(names.map((n) => [`vm${n}`, aVmi(`vm${n}`)])),
      quotas: [aQuota(hard({ 'requests.cpu': '2010m' }), used({ 'requests.cpu': '2010m' }))],
      vmmrqs,
      draining: new Set(['node1']),
    }),
    RULES,
  );
  return {
    verdicts: verdicts.map(({ verdict, reason }) => `${verdict} ${reason}`),
    messages: verdicts.map(({ message }) => message).join('\n'),
  };
};

type Want = readonly (readonly [VerdictName, Reason])[];
const FITS = ['FitsWithRaise', REASON.fitsWithRaise] as const;

describe('the total of a cluster-wide VMMRQ', () => {
  const CASES: Record<string, readonly [readonly Vmmrq[], Want, string?]> = {
    'leaves room': [[drains({ cpu: '1005m' })], [FITS]],
    'is less than one migration needs: it will never fit': [
      [drains({ cpu: '1' })],
      [['NoFit', REASON.beyondTotal]],
      'requests.cpu=5m more than cvmmrq/drains gives in all namespaces together',
    ],
    'is used up by other locks': [
      [drains({ cpu: '2' }, aReservation())],
      [['Waiting', REASON.totalReached]],
      'other locks have what cvmmrq/drains gives in all namespaces together; ResourceQuota quota lacks',
    ],
    'leaves room beside other locks': [[drains({ cpu: '2010m' }, aReservation())], [FITS]],
    'is used up by an entry that may be left over: lock finds out': [
      [drains({ cpu: '2' }, aReservation({ until: seconds(-1) }))],
      [FITS],
    ],
    'is of another resource': [[drains({ 'requests.memory': '1' })], [FITS]],
    'does not matter where the namespace’s own VMMRQ is enough': [
      [aVmmrq(giving({ 'requests.cpu': '1005m' })), drains({ cpu: '1' }, aReservation())],
      [FITS],
    ],
  };
  test.each(Object.entries(CASES))('%s', (_, [vmmrqs, want, message = '']) => {
    const { verdicts, messages } = assessed(vmmrqs);
    expect(verdicts).toEqual(want.map((each) => each.join(' ')));
    expect(messages).toContain(message);
  });

  const OF_TWO: Record<string, readonly [Vmmrq, Want]> = {
    'for both': [drains({ cpu: '2010m' }), [FITS, FITS]],
    'for one at a time': [drains({ cpu: '2' }), [FITS, ['Waiting', REASON.afterOthers]]],
    'for one, beside another lock': [
      drains({ cpu: '2010m' }, aReservation()),
      [FITS, ['Waiting', REASON.totalReached]],
    ],
  };
  test.each(Object.entries(OF_TWO))('of two migrations is enough %s', (_, [vmmrq, want]) => {
    expect(assessed([vmmrq], 2).verdicts).toEqual(want.map((each) => each.join(' ')));
  });
});
