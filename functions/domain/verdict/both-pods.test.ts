import { describe, expect, test } from '@jest/globals';
import { aLauncher, anAttachment } from '../../../test/support/builders/kubevirt.ts';
import { named } from '../../../test/support/builders/object.ts';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import { aSnapshot, aVmmrq, forPurposes, giving, RULES } from '../../../test/support/builders/snapshot.ts';
import type { Vmmrq } from '../objects.ts';
import { assess, type Assessment } from './assessment.ts';

/** The launchers of a VM with hotplugged volumes, which needs two more; there is room for one more pod, and for no more CPU. */
const pods = [aLauncher(), anAttachment(aLauncher())];
const quotas = [
  aQuota(named('cpu'), hard({ 'requests.cpu': '3' }), used({ 'requests.cpu': '3' })),
  aQuota(named('pods'), hard({ pods: '3' }), used({ pods: '2' })),
];
const assessed = (...vmmrqs: Vmmrq[]): Assessment => assess(aSnapshot({ pods, quotas, vmmrqs }), RULES);
const BOTH =
  'ResourceQuota cpu lacks requests.cpu=1015m; ResourceQuota pods lacks pods=1 for it and the pod that attaches its hotplugged volumes';
const namesIn = ({ verdicts }: Assessment): (readonly string[])[] =>
  verdicts.map(({ blocking }) => blocking.map(({ quota }) => quota.name));

describe('what a migration with two pods to come lacks', () => {
  test.each<[string, Vmmrq[]]>([
    ['without a VMMRQ', []],
    ['where the VMMRQ gives too little for the second pod', [aVmmrq(giving({ 'requests.cpu': '2' }))]],
    ['where no VMMRQ gives to it', [aVmmrq(forPurposes('Evacuation'))]],
  ])('is said of both, and both quotas are named: %s', (_, vmmrqs) => {
    const assessment = assessed(...vmmrqs);
    expect(assessment.verdicts.map(({ message }) => message)).toEqual([expect.stringContaining(BOTH)]);
    expect(namesIn(assessment)).toEqual([['cpu', 'pods']]);
  });

  test('is raised for the first pod alone', () => {
    const assessment = assessed(aVmmrq(giving({ 'requests.cpu': '2', pods: '1' })));
    expect(assessment.quotas.map(({ name, need }) => [name, need])).toEqual([
      ['cpu', { 'requests.cpu': '1005m' }],
    ]);
    expect(namesIn(assessment)).toEqual([['cpu']]);
  });
});
