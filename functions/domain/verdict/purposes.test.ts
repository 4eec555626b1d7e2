import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  aVmi,
  ofVm,
  onNode,
  podPhase,
  withPriority,
} from '../../../test/support/builders/kubevirt.ts';
import { annotated, createdAt, labelled, named } from '../../../test/support/builders/object.ts';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import {
  aClusterVmmrq,
  aSnapshot,
  aVmmrq,
  forPurposes,
  giving,
  RULES,
} from '../../../test/support/builders/snapshot.ts';
import { ADVICE, withAdvice } from '../advice.ts';
import { KUBEVIRT, REASON } from '../names.ts';
import type { NodeState } from '../snapshot.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { vmmrqName } from '../vmmrq-name.ts';
import { assess, type Assessment } from './assessment.ts';
import type { Verdict } from './verdict.ts';

const ENOUGH = giving({ 'requests.cpu': '9', 'requests.memory': '9Gi' });

const node1 = (state: NodeState): Pick<NamespaceSnapshot, 'nodes'> => ({
  nodes: new Map([['node1', state]]),
});

/** node1 is drained: vm0 is evacuated, and a user migrates vm1. Every quota is full. */
const assessed = (different: Partial<NamespaceSnapshot> = {}): Assessment =>
  assess(
    aSnapshot({
      migrations: [
        aMigration(annotated(KUBEVIRT.evacuation, 'node1')),
        aMigration(named('mig1'), ofVm('vm1')),
      ],
      pods: [aLauncher('vm0'), aLauncher('vm1')],
      vmis: new Map([
        ['vm0', aVmi('vm0')],
        ['vm1', aVmi('vm1')],
      ]),
      quotas: [aQuota(hard({ 'requests.cpu': '2010m' }), used({ 'requests.cpu': '2010m' }))],
      ...node1('draining'),
      ...different,
    }),
    RULES,
  );

const verdictsOf = ({ verdicts }: Assessment): string[] =>
  verdicts.map(({ migration, verdict, reason }) => `${migration.name} ${verdict} ${reason}`);
const namesOf = ({ migrations, vmmrqs }: Assessment): object => ({
  migrations: migrations.map(({ name, purpose }) => `${name} ${purpose ?? '-'}`),
  vmmrqs: vmmrqs.map(vmmrqName),
});

describe('a cluster-wide VMMRQ without purposes', () => {
  const only = { vmmrqs: [ENOUGH(aClusterVmmrq())] };

  test('lets an evacuation through, and not a user’s migration', () => {
    const result = assessed(only);
    expect(verdictsOf(result)).toEqual([
      `mig0 FitsWithRaise ${REASON.fitsWithRaise}`,
      `mig1 NoFit ${REASON.purposeNotServed}`,
    ]);
    expect(namesOf(result)).toEqual({ migrations: ['mig0 Evacuation'], vmmrqs: ['cvmmrq/drains'] });
  });

  test('gives nothing to an evacuation from a node that is not drained', () => {
    expect(verdictsOf(assessed({ ...only, ...node1('uncordoned') }))).toEqual([
      `mig0 NoFit ${REASON.nodeNotDrained}`,
      `mig1 NoFit ${REASON.purposeNotServed}`,
    ]);
  });

  test('says what is to be done about a migration that it gives nothing to', () => {
    const messages = (different: Partial<NamespaceSnapshot>): string[] =>
      assessed({ ...only, ...different }).verdicts.map(({ message }) => message);
    // After `kubectl uncordon`.
    expect(messages(node1('uncordoned'))).toEqual([
      expect.stringMatching(
        /^it evacuates node node1, which is not drained any more: cancel that \(virtctl evacuate-cancel vmi vm0, then delete the migration\), or cordon the node again; no VMMRQ of the namespace gives to migrations of purpose UserRequested; ResourceQuota quota lacks /,
      ),
      expect.stringMatching(
        /^no VMMRQ of the namespace gives to migrations of purpose UserRequested; ResourceQuota quota lacks /,
      ),
    ]);
    // The node is drained, but one of the VM's launchers is on another one.
    const elsewhere = aLauncher(
      'vm0',
      named('elsewhere'),
      onNode('node2'),
      labelled(KUBEVIRT.migrationJobUID, 'new'),
      podPhase('Pending'),
      createdAt(-5),
    );
    const pods = [aLauncher('vm0'), elsewhere, aLauncher('vm1')];
    expect(messages({ pods })[0]).toMatch(
      /^no VMMRQ of the namespace gives to migrations of purpose UserRequested; /,
    );
  });
});

describe('an evacuation of a node that is not drained any more, for which too little is given', () => {
  const CANCEL =
    'it evacuates node node1, which is not drained any more: cancel that (virtctl evacuate-cancel vmi vm0, then delete the migration), ' +
    'or cordon the node again';
  const GONE =
    'it evacuates node node1, which is gone: cancel that (virtctl evacuate-cancel vmi vm0, then delete the migration)';
  const evacuation = aMigration(annotated(KUBEVIRT.evacuation, 'node1'));
  const verdictOf = (different: Partial<NamespaceSnapshot>): Verdict | undefined =>
    assessed({ migrations: [evacuation], ...different }).verdicts[0];
  const SMALL = [aVmmrq(giving({ 'requests.cpu': '1m' }))];

  describe.each<[string, Partial<NamespaceSnapshot>, string]>([
    ['no VMMRQ', { vmmrqs: [] }, 'the namespace has no VirtualMachineMigrationResourceQuota'],
    ['one that gives too little', { vmmrqs: SMALL }, 'ResourceQuota quota lacks'],
    ['none for its purpose', { vmmrqs: [ENOUGH(aClusterVmmrq())] }, 'no VMMRQ of the namespace gives'],
  ])('%s', (_, different, lack) => {
    test.each<[NodeState, string]>([
      ['uncordoned', CANCEL],
      ['gone', GONE],
    ])('%s: the advice is to cancel it, and not to give more', (state, canceled) => {
      const { reason = '', message = '' } = verdictOf({ ...different, ...node1(state) }) ?? {};
      expect(message.startsWith(`${canceled}; ${lack}`)).toBe(true);
      expect(withAdvice('', [reason])).toContain(ADVICE.NodeNotDrained);
    });

    test.each<[string, ReadonlyMap<string, NodeState>]>([
      ['drained', new Map([['node1', 'draining']])],
      ['not known', new Map([['node2', 'uncordoned']])],
    ])('not where the node is %s', (_, nodes) => {
      const { reason, message } = verdictOf({ ...different, nodes }) ?? {};
      expect(reason).not.toBe(REASON.nodeNotDrained);
      expect(message).not.toContain('drained');
    });
  });

  test('not where the descheduler has made it', () => {
    const migrations = [withPriority('system-maintenance')(evacuation)];
    const { message } = verdictOf({ vmmrqs: [], migrations, ...node1('uncordoned') }) ?? {};
    expect(message).not.toContain('drained');
  });

  test('not where a raise lets it through', () => {
    expect(verdictOf({ vmmrqs: [aVmmrq()], ...node1('uncordoned') })?.message).not.toContain('drained');
  });
});

describe('migrations that different VMMRQs give to', () => {
  const both = [ENOUGH(aVmmrq()), ENOUGH(aClusterVmmrq())];

  test('go one set after the other, each by what is given to all of it', () => {
    const result = assessed({ vmmrqs: both });
    expect(verdictsOf(result)).toEqual([
      `mig0 FitsWithRaise ${REASON.fitsWithRaise}`,
      `mig1 Waiting ${REASON.afterOthers}`,
    ]);
    expect(namesOf(result)).toEqual({ migrations: ['mig0 Evacuation'], vmmrqs: ['vmmrq', 'cvmmrq/drains'] });
  });

  test('go together where the same VMMRQs give to them', () => {
    const result = assessed({ vmmrqs: [ENOUGH(aVmmrq(forPurposes('Evacuation', 'UserRequested')))] });
    expect(namesOf(result)).toEqual({
      migrations: ['mig0 Evacuation', 'mig1 UserRequested'],
      vmmrqs: ['vmmrq'],
    });
  });

  test('and have no purpose where no VMMRQ depends on it', () => {
    const result = assessed({ vmmrqs: [ENOUGH(aVmmrq())], nodes: new Map() });
    expect(namesOf(result)).toEqual({ migrations: ['mig0 -', 'mig1 -'], vmmrqs: ['vmmrq'] });
  });
});

test('what a VMMRQ for another purpose gives does not count', () => {
  const vmmrqs = [
    aVmmrq(giving({ 'requests.cpu': '1000m' })),
    aVmmrq(named('updates'), giving({ 'requests.cpu': '5m' }), forPurposes('WorkloadUpdate')),
  ];
  const [first] = assessed({ vmmrqs }).verdicts;
  expect(first).toMatchObject({ verdict: 'NoFit', reason: REASON.notEnough });
  expect(first?.message).toMatch(/requests\.cpu=1, which is 5m too little/);
});
