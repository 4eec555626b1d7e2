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
import { KUBEVIRT, REASON } from '../names.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { vmmrqName } from '../vmmrq-name.ts';
import { assess, type Assessment } from './assessment.ts';

const ENOUGH = giving({ 'requests.cpu': '9', 'requests.memory': '9Gi' });

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
      draining: new Set(['node1']),
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
    expect(verdictsOf(assessed({ ...only, draining: new Set() }))).toEqual([
      `mig0 NoFit ${REASON.purposeNotServed}`,
      `mig1 NoFit ${REASON.purposeNotServed}`,
    ]);
  });

  test('says what is to be done about a migration that it gives nothing to', () => {
    const messages = (different: Partial<NamespaceSnapshot>): string[] =>
      assessed({ ...only, ...different }).verdicts.map(({ message }) => message);
    // After `kubectl uncordon`.
    expect(messages({ draining: new Set() })).toEqual([
      expect.stringMatching(
        /^it evacuates node node1, which is not drained any more: cancel that \(virtctl evacuate-cancel vmi vm0, then delete the migration\), or cordon the node again; no VMMRQ of the namespace gives to migrations of purpose UserRequested; ResourceQuota quota lacks /,
      ),
      expect.stringMatching(
        /^no VMMRQ of the namespace gives to migrations of purpose UserRequested: give to it in a VMMRQ; ResourceQuota quota lacks /,
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
      /^no VMMRQ of the namespace gives to migrations of purpose UserRequested: /,
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
  const messageOf = (different: Partial<NamespaceSnapshot>): string | undefined =>
    assessed({ migrations: [evacuation], ...different }).verdicts[0]?.message;
  const SMALL = [aVmmrq(giving({ 'requests.cpu': '1m' }))];
  const node = (state: 'uncordoned' | 'gone'): Partial<NamespaceSnapshot> => ({
    draining: undefined,
    undrained: new Map([['node1', state]]),
  });

  test.each<[string, Partial<NamespaceSnapshot>, RegExp]>([
    ['no VMMRQ', { vmmrqs: [] }, /^the namespace has no Virtual/],
    ['one that gives too little', { vmmrqs: SMALL }, /^ResourceQuota quota lacks .* too little/],
  ])('%s: its message says so too', (_, different, begins) => {
    for (const [state, canceled] of [
      [{ draining: new Set<string>() }, CANCEL],
      [node('uncordoned'), CANCEL],
      [node('gone'), GONE],
    ] as const) {
      const message = messageOf({ ...different, ...state });
      expect(message).toMatch(begins);
      expect(message?.endsWith(`; ${canceled}`)).toBe(true);
    }
    expect(messageOf({ ...different, draining: undefined })).not.toContain('drained');
    expect(messageOf({ ...different, draining: new Set(['node1']) })).not.toContain('drained');
  });

  test('none for its purpose: a node that is gone cannot be cordoned', () => {
    const different = { vmmrqs: [ENOUGH(aClusterVmmrq())], draining: new Set<string>() };
    const undrained = new Map([['node1', 'gone'] as const]);
    expect(messageOf({ ...different, undrained })?.startsWith(`${GONE}; no VMMRQ`)).toBe(true);
  });

  test('not where the descheduler has made it', () => {
    const migrations = [withPriority('system-maintenance')(evacuation)];
    expect(messageOf({ vmmrqs: [], migrations, ...node('uncordoned') })).not.toContain('drained');
  });

  test('not where a raise lets it through', () => {
    expect(messageOf({ vmmrqs: [aVmmrq()], ...node('uncordoned') })).not.toContain('drained');
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
    const result = assessed({ vmmrqs: [ENOUGH(aVmmrq())], draining: undefined });
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
  expect(first?.message).toMatch(/requests\.cpu=5m too little/);
});
