import { describe, expect, test } from '@jest/globals';
import { aMigration, inPhase, withCondition } from '../../test/support/builders/kubevirt.ts';
import {
  aLock,
  aNamespace,
  anExpiredLock,
  lockedBy,
  lockedUnreadably,
} from '../../test/support/builders/namespace.ts';
import { beingDeleted, labelled, named, NOW } from '../../test/support/builders/object.ts';
import { aQuota, raisedBy } from '../../test/support/builders/quota.ts';
import { aClusterVmmrq, aSnapshot, aVmmrq, giving, RULES } from '../../test/support/builders/snapshot.ts';
import { LABEL, REASON } from '../../functions/domain/names.ts';
import { assess } from '../../functions/domain/verdict/assessment.ts';
import { renderStatus } from './render.ts';
import { reportOf, waitingNamespaces, type StatusInput } from './report.ts';

type Different = Partial<Omit<StatusInput, 'state'>> & { readonly state?: Partial<StatusInput['state']> };

const input = ({ state, ...different }: Different = {}): StatusInput => ({
  state: { vmmrqs: [], clusterVmmrqs: [], migrations: [], locked: [], now: NOW, ...state },
  namespaces: [aNamespace()],
  raised: [],
  verdicts: new Map(),
  ...different,
});
const textOf = (different: Different, isWide = false): string[] =>
  renderStatus(reportOf(input(different)), { sheet: { paint: (_, text) => text, isWide }, now: NOW }).map(
    (line) => line.replaceAll(/ {3,}/g, ' | '),
  );

const TOKEN = '0123456789abcdef';
const locked = (lock = aLock({ token: TOKEN })): Different => ({
  state: { locked: [lockedBy(lock)(aNamespace())], vmmrqs: [aVmmrq()] },
});
const tooLittle = [aVmmrq(giving({ 'requests.cpu': '1m' }))];
const verdicts = new Map([['tenant', assess(aSnapshot({ vmmrqs: tooLittle }), RULES).verdicts]]);

describe('a namespace', () => {
  test('without a lock, a raise or a waiting migration is not shown', () => {
    expect(textOf({})).toEqual([]);
  });

  test('that only a cluster-wide VMMRQ selects is counted', () => {
    const clusterVmmrqs = [aClusterVmmrq()];
    expect(textOf({ state: { clusterVmmrqs } })).toEqual([
      'CLUSTER-WIDE | PURPOSES | NAMESPACES',
      'drains | Evacuation,WorkloadUpdate | 1',
    ]);
  });

  test('that alone is asked for does not change how many a cluster-wide VMMRQ selects', () => {
    const namespaces = [aNamespace(), named('other')(aNamespace())];
    const state = { vmmrqs: [aVmmrq()], clusterVmmrqs: [aClusterVmmrq()] };
    const lines = textOf({ state, namespaces, namespace: 'other' });
    expect(lines).toEqual(['CLUSTER-WIDE | PURPOSES | NAMESPACES', 'drains | Evacuation,WorkloadUpdate | 2']);
  });

  test('names all VMMRQs in force', () => {
    expect(textOf({ state: { vmmrqs: [aVmmrq()], clusterVmmrqs: [aClusterVmmrq()] } }).slice(3)).toEqual([
      'NAMESPACE | VMMRQS | LOCK | RAISED | WAITING',
      'tenant | vmmrq,cvmmrq/drains | <none> | <none> | 0',
    ]);
  });

  test.each<[string, Different, string]>([
    ['a live lock', locked(), '01234567 for 5s, 25s left'],
    ['an expired lock', locked(anExpiredLock({ token: TOKEN })), '01234567 for 31s, expired'],
    [
      'an unreadable lock',
      { state: { locked: [lockedUnreadably()(aNamespace())], vmmrqs: [aVmmrq()] } },
      'unreadable',
    ],
  ])('shows %s', (_, different, text) => {
    expect(textOf(different)[1]).toBe(`tenant | vmmrq | ${text} | <none> | 0`);
    const wide = text.replace('01234567', TOKEN);
    expect(textOf(different, true)[1]).toBe(`tenant | vmmrq | ${wide} | <none> | 0`);
  });

  test('shows raised quotas, also without a readable grant', () => {
    const raised = [aQuota(raisedBy(aVmmrq())), aQuota(named('other'), labelled(LABEL.raised))];
    expect(textOf({ raised })[1]).toBe('tenant | <none> | <none> | quota,other | 0');
    expect(textOf({ raised }, true)[1]).toMatch(
      / \| quota\(requests.cpu=\d+m,requests.memory=3.37Gi\),other \| /,
    );
  });

  test('shows what waits, for what, and why', () => {
    const lines = textOf({ state: { vmmrqs: tooLittle }, verdicts });
    expect(lines).toEqual([
      'NAMESPACE | VMMRQS | LOCK | RAISED | WAITING',
      'tenant | vmmrq | <none> | <none> | 1',
      '',
      'NAMESPACE | MIGRATION | VERDICT | MISSING',
      `tenant | mig0 | ${REASON.notEnough} | quota: requests.cpu=605m, requests.memory=748Mi`,
    ]);
    expect(textOf({ verdicts }, true).at(-1)).toMatch(
      / \| ResourceQuota quota lacks .* Ask the admin of a named VMMRQ /,
    );
  });
});

describe('a migration may wait in', () => {
  test.each<[string, StatusInput['state']['migrations'], string[]]>([
    ['the namespace of a refused one', [aMigration()], ['tenant']],
    [
      'that of one without a condition: a refused attachment pod has none',
      [aMigration(withCondition())],
      ['tenant'],
    ],
    ['none where it runs', [aMigration(inPhase('Running'))], []],
    ['none of one that is cancelled', [aMigration(beingDeleted())], []],
  ])('%s', (_, migrations, namespaces) => {
    expect([...waitingNamespaces({ migrations })]).toEqual(namespaces);
  });
});
