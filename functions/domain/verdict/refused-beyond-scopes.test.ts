import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  podSpec,
  receiving,
  refusedAt,
} from '../../../test/support/builders/kubevirt.ts';
import { createdAt, named } from '../../../test/support/builders/object.ts';
import { aFailure, exceeded } from '../../../test/support/builders/pod-rejection.ts';
import { aQuota, hard, scoped, used } from '../../../test/support/builders/quota.ts';
import { aSnapshot, aVmmrq, giving, RULES } from '../../../test/support/builders/snapshot.ts';
import type { ResourceQuota, ScopeSelectorTerm } from '../objects.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { assess } from './assessment.ts';

const full = (name: string, term: ScopeSelectorTerm, age = -3_600): ResourceQuota =>
  aQuota(
    named(name),
    createdAt(age),
    hard({ pods: '1' }),
    used({ pods: '1' }),
    scoped({ scopeSelector: { matchExpressions: [term] } }),
  );
const ofClass = (name: string, age?: number): ResourceQuota =>
  full(name, { scopeName: 'PriorityClass', operator: 'In', values: [name] }, age);
const ofAffinity = full('affinity', { scopeName: 'CrossNamespacePodAffinity', operator: 'Exists' });
const asked = [aMigration(createdAt(-600), refusedAt(-5))];
const receiver = [aMigration(createdAt(-600), refusedAt(-5), receiving('x'))];
const vmmrqs = [
  {
    ...aVmmrq(giving({ pods: '1' })),
    spec: { additionalMigrationResources: { pods: '1' }, allowReceive: true },
  },
];

const raisedBy = (refusing: string, different: Partial<NamespaceSnapshot>): string[] =>
  assess(
    aSnapshot({
      migrations: asked,
      vmmrqs,
      events: [aFailure(exceeded(refusing, 'pods=1'))],
      ...different,
    }),
    RULES,
  ).quotas.map(({ name }) => name);

describe('a quota whose scopes the source pod does not match, and that has refused the target', () => {
  test.each<[string, string, Partial<NamespaceSnapshot>]>([
    ['by a default class that is newer than the VM', 'low', { quotas: [ofClass('low')] }],
    [
      'by another default class than that of the source',
      'low',
      { quotas: [ofClass('low')], pods: [aLauncher('vm0', podSpec({ priorityClassName: 'standard' }))] },
    ],
    ['that receives', 'low', { quotas: [ofClass('low')], migrations: receiver, pods: [] }],
    ['by an affinity', 'affinity', { quotas: [ofAffinity], migrations: receiver, pods: [] }],
  ])('is raised: %s', (_, name, different) => {
    expect(raisedBy(name, different)).toEqual([name]);
  });

  test.each<[string, string, Partial<NamespaceSnapshot>]>([
    ['another one has refused it', 'other', { quotas: [ofClass('low'), ofClass('other')] }],
    ['it was created after the refusal', 'low', { quotas: [ofClass('low', -1)] }],
  ])('is left alone where %s', (_, refusing, different) => {
    expect(raisedBy(refusing, different)).not.toContain('low');
  });
});
