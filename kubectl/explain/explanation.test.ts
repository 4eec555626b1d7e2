import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  anAttachment,
  aVmi,
  inPhase,
  ofVm,
} from '../../test/support/builders/kubevirt.ts';
import { annotated, named } from '../../test/support/builders/object.ts';
import { aQuota, scoped } from '../../test/support/builders/quota.ts';
import {
  aClusterVmmrq,
  aSnapshot,
  aView,
  aVmmrq,
  giving,
  RULES,
} from '../../test/support/builders/snapshot.ts';
import { ADVICE } from '../../functions/domain/advice.ts';
import { ANNOTATION, REASON } from '../../functions/domain/names.ts';
import type { NamespaceSnapshot } from '../../functions/domain/snapshot.ts';
import { assess } from '../../functions/domain/verdict/assessment.ts';
import { explain, type Explanation } from './explanation.ts';
import { plainExplanation, renderExplanation } from './render.ts';

const explained = (different: Partial<NamespaceSnapshot> = {}, migration = aMigration()): Explanation =>
  explain(migration, aSnapshot(different), RULES);
/** The figures as with -o json. */
const keysOf = (explanation: Explanation): object => (plainExplanation(explanation) as { keys: object }).keys;
const textOf = (explanation: Explanation, isWide = false): string =>
  renderExplanation(explanation, { paint: (_, text) => text, isWide }).join('\n');

/** Two VMs with migrations; the quota has headroom for half of one. */
const two = (different: Partial<NamespaceSnapshot> = {}): Partial<NamespaceSnapshot> => ({
  migrations: [aMigration(), aMigration(named('mig1'), ofVm('vm1'))],
  pods: [aLauncher('vm0'), aLauncher('vm1')],
  vmis: new Map([
    ['vm0', aVmi('vm0')],
    ['vm1', aVmi('vm1')],
  ]),
  ...different,
});
const SECOND = aMigration(named('mig1'), ofVm('vm1'));

describe('the figures', () => {
  test('are those of each key that the target pod is charged for', () => {
    const { verdict, reason, ...explanation } = explained();
    expect([verdict, reason]).toEqual(['FitsWithRaise', REASON.fitsWithRaise]);
    expect(keysOf({ verdict, reason, ...explanation })).toMatchObject([
      {
        quota: 'quota',
        key: 'pods',
        hard: '10',
        used: '1',
        needed: '1',
        missing: '0',
        given: '0',
        givenBy: [],
      },
      {
        key: 'requests.cpu',
        hard: '1405m',
        used: '1005m',
        earlier: '0',
        needed: '1005m',
        missing: '605m',
        given: '1200m',
        givenBy: [{ vmmrq: 'vmmrq', amount: '1200m' }],
      },
      { key: 'requests.memory', missing: '783683264', given: '1500Mi' },
    ]);
  });

  test('name what earlier migrations take first', () => {
    expect(keysOf(explained(two(), SECOND))).toMatchObject([
      { key: 'pods', earlier: '1', missing: '0' },
      { key: 'requests.cpu', earlier: '1005m', missing: '1610m' },
      {},
    ]);
  });

  test('are there while KubeVirt has no slot for it', () => {
    const view = aView({ left: { cluster: 0, node: 2, nodes: {} } });
    const explanation = explained({ view });
    expect(explanation).toMatchObject({ verdict: 'Waiting', reason: REASON.parallelLimit });
    expect(explanation.keys).toHaveLength(3);
  });

  test('include the attachment pod that follows', () => {
    const source = aLauncher();
    const pods = [source, anAttachment(source)];
    expect(keysOf(explained({ pods }))).toMatchObject([{ needed: '2' }, { needed: '1015m' }, {}]);
  });

  test('leave out a quota that does not count the pod', () => {
    const quotas = [aQuota(), aQuota(named('other'), scoped({ scopes: ['BestEffort'] }))];
    expect(explained({ quotas }).keys.map(({ quota }) => quota)).toEqual(['quota', 'quota', 'quota']);
  });

  test('name each VMMRQ that gives, and none that does not give to it', () => {
    const twice = [aVmmrq(), aVmmrq(named('second'), giving({ 'requests.cpu': '100m' }))];
    const explanation = explained({ vmmrqs: [...twice, aClusterVmmrq()], nodes: new Map() });
    expect(explanation.vmmrqs).toEqual([
      { name: 'vmmrq', gives: true },
      { name: 'second', gives: true },
      { name: 'cvmmrq/drains', gives: false },
    ]);
    expect(keysOf(explanation)).toMatchObject([
      {},
      {
        given: '1300m',
        givenBy: [
          { vmmrq: 'vmmrq', amount: '1200m' },
          { vmmrq: 'second', amount: '100m' },
        ],
      },
      {},
    ]);
  });
});

/** The plugin gives the verdict of the functions, for every state of the namespace. */
test.each<[string, Partial<NamespaceSnapshot>, number]>([
  ['a raise helps', {}, 3],
  ['no VMMRQ', { vmmrqs: [] }, 3],
  ['too little', { vmmrqs: [aVmmrq(giving({ 'requests.cpu': '1m' }))] }, 3],
  ['the namespace opts out', { namespace: annotated(ANNOTATION.skip, 'true')(aSnapshot().namespace) }, 0],
  ['the guard’s incumbent', { view: aView({ incumbent: 'the incumbent is installed' }) }, 0],
  ['the VM is gone', { vmis: new Map() }, 0],
  ['no source pod', { pods: [] }, 0],
  ['two migrations', two(), 3],
])('the verdict is that of the functions: %s', (_, different, keys) => {
  const snapshot = aSnapshot(different);
  const [decided] = assess(snapshot, RULES).verdicts;
  const explanation = explain(aMigration(), snapshot, RULES);
  expect(explanation).toMatchObject({
    verdict: decided?.verdict,
    reason: decided?.reason,
    message: decided?.message,
  });
  expect(explanation.keys).toHaveLength(keys);
});

describe('the text', () => {
  test('has the verdict, what to do, and the table', () => {
    expect(textOf(explained({ vmmrqs: [aVmmrq(giving({ 'requests.cpu': '600m' }))] })).split('\n')).toEqual([
      'Migration:  tenant/mig0 (VMI vm0, Pending)',
      'Verdict:    NotEnough',
      expect.stringMatching(/^ {12}ResourceQuota quota lacks requests.cpu=605m/),
      `To free it: ${ADVICE.NotEnough}`,
      'VMMRQs:     vmmrq (gives)',
      '',
      'QUOTA   KEY               HARD     USED     NEEDED   MISSING   GIVEN',
      'quota   pods              10       1        1        0         0',
      'quota   requests.cpu      1405m    1005m    1005m    605m      600m',
      'quota   requests.memory   1.91Gi   1.32Gi   1.32Gi   748Mi     0',
    ]);
  });

  test('has exact amounts, and who gives what, where everything is asked for', () => {
    const of = explained({ vmmrqs: [aVmmrq(giving({ 'requests.cpu': '600m' }))] });
    expect(textOf(of, true).split('\n').slice(-4)).toEqual([
      'QUOTA   KEY               HARD         USED         EARLIER   NEEDED       MISSING     GIVEN   BY',
      'quota   pods              10           1            0         1            0           0',
      'quota   requests.cpu      1405m        1005m        0         1005m        605m        600m    vmmrq',
      'quota   requests.memory   2041974464   1412828864   0         1412828864   783683264   0',
    ]);
  });

  test.each([
    ['Running', 'no quota refuses it, as far as KubeVirt shows'],
    ['Succeeded', 'it has ended: Succeeded'],
  ])('of a migration in phase %s has no table', (phase, message) => {
    const migration = aMigration(inPhase(phase));
    expect(textOf(explained({ migrations: [migration] }, migration)).split('\n')).toEqual([
      `Migration:  tenant/mig0 (VMI vm0, ${phase})`,
      'Verdict:    NothingBlocked',
      `            ${message}`,
    ]);
  });
});
