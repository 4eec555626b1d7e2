import { describe, expect, test } from '@jest/globals';
import { aLauncher, anAttachment, podPhase } from '../../../test/support/builders/kubevirt.ts';
import { aQuota, hard, scoped, used } from '../../../test/support/builders/quota.ts';
import { aVmmrq, giving } from '../../../test/support/builders/snapshot.ts';
import type { Pod, ResourceQuota, Vmmrq } from '../../domain/objects.ts';
import { fitOf, overQuota, runningPodsOf } from './quota.ts';

/** The launcher requests 1005m CPU and 1,412,828,864 bytes. */
const launcher = aLauncher();
const FULL = aQuota(hard({ 'requests.cpu': '2' }), used({ 'requests.cpu': '1500m' }));
const receiving = (given: Record<string, string>, allowReceive = true): Vmmrq =>
  aVmmrq(giving(given), (vmmrq) => ({ ...vmmrq, spec: { ...vmmrq.spec, allowReceive } }));
const MISSING = 'ResourceQuota quota lacks requests.cpu=505m';

test.each<[string, Pod[], string[]]>([
  ['its launcher', [aLauncher('other'), launcher], [launcher.metadata.name]],
  [
    'the pod that attaches its volumes',
    [anAttachment(aLauncher('other')), anAttachment(launcher), launcher],
    [launcher.metadata.name, anAttachment(launcher).metadata.name],
  ],
  ['a launcher that does not run', [aLauncher('vm0', podPhase('Succeeded')), anAttachment(launcher)], []],
])('of the pods of a namespace, what runs a VM: %s', (_what, pods, wanted) => {
  const vmi = { metadata: { uid: 'uid-of-vm0' } };
  expect(runningPodsOf(vmi, pods).map(({ metadata }) => metadata.name)).toEqual(wanted);
});

describe('fitOf', () => {
  test.each<[string, ResourceQuota[], Vmmrq[], { missing: string | undefined; isLetIn: boolean }]>([
    ['no quota', [], [], { missing: undefined, isLetIn: false }],
    [
      'a quota with room',
      [aQuota(hard({ 'requests.cpu': '4' }))],
      [],
      { missing: undefined, isLetIn: false },
    ],
    ['a full one', [FULL], [], { missing: MISSING, isLetIn: false }],
    ['a VMMRQ that gives enough', [FULL], [receiving({ cpu: '1' })], { missing: MISSING, isLetIn: true }],
    [
      'a VMMRQ that gives too little',
      [FULL],
      [receiving({ cpu: '500m' })],
      { missing: MISSING, isLetIn: false },
    ],
    [
      'a VMMRQ for other migrations',
      [FULL],
      [receiving({ cpu: '1' }, false)],
      { missing: MISSING, isLetIn: false },
    ],
    [
      'a full quota for other pods',
      [{ ...FULL, ...scoped({ scopes: ['Terminating'] })(FULL) }],
      [],
      { missing: undefined, isLetIn: false },
    ],
  ])('%s', (_what, ...[quotas, vmmrqs, wanted]) => {
    expect(fitOf({ pods: [launcher], claims: [] }, { quotas, vmmrqs })).toEqual(wanted);
  });
});

test.each<[string, ResourceQuota[], string]>([
  ['no quota', [], ''],
  ['as much as it may', [aQuota(hard({ pods: '2' }), used({ pods: '2' }))], ''],
  ['one too many', [aQuota(hard({ pods: '2' }), used({ pods: '3' }))], 'ResourceQuota quota lacks pods=1'],
  [
    'also while its quota is raised',
    [{ ...aQuota(hard({ pods: '2' })), status: { hard: { pods: '3' }, used: { pods: '3' } } }],
    'ResourceQuota quota lacks pods=1',
  ],
  [
    'what no pod is charged for',
    [aQuota(hard({ 'count/secrets': '2' }), used({ 'count/secrets': '3' }))],
    '',
  ],
])('a namespace with %s', (_what, quotas, wanted) => {
  expect(overQuota(quotas)).toBe(wanted);
});
