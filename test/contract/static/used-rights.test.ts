import { describe, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { rightsProblems } from '../../rights/rights.ts';
import type { UsedRight } from '../../support/environment/rights-used.ts';

describe('the comparison of granted with used rights', () => {
  const role = (kind: string, rules: object[]): KubernetesObject =>
    ({ kind, metadata: { name: 'some', namespace: 'mtq-system' }, rules }) as unknown as KubernetesObject;
  const binding = (kind: string, roleKind: string): KubernetesObject =>
    ({
      kind,
      metadata: { name: 'some', namespace: 'mtq-system' },
      roleRef: { kind: roleKind, name: 'some' },
      subjects: [{ kind: 'ServiceAccount', name: 'mtq-lower', namespace: 'mtq-system' }],
    }) as unknown as KubernetesObject;
  const objects = [
    role('ClusterRole', [
      { apiGroups: [''], resources: ['resourcequotas', 'resourcequotas/status'], verbs: ['update'] },
    ]),
    binding('ClusterRoleBinding', 'ClusterRole'),
    role('Role', [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['own'], verbs: ['get'] }]),
    binding('RoleBinding', 'Role'),
  ];
  const use = (verb: string, resource: string, more: Partial<UsedRight> = {}): UsedRight => ({
    account: 'mtq-lower',
    verb,
    apiGroup: '',
    resource,
    ...more,
  });
  const SECRET = use('get', 'secrets', { namespace: 'mtq-system', name: 'own' });
  const ALL = [use('update', 'resourcequotas'), use('update', 'resourcequotas/status'), SECRET];

  test.each<[string, UsedRight[], string[]]>([
    ['all of it is used, and nothing else', ALL, []],
    [
      'a subresource is a right of its own',
      [use('update', 'resourcequotas'), SECRET],
      ['granted, and no call used it: mtq-lower update resourcequotas/status'],
    ],
    [
      'by another account is not by this one',
      [...ALL.slice(1), use('update', 'resourcequotas', { account: 'mtq-raise' })],
      [
        'granted, and no call used it: mtq-lower update resourcequotas',
        'asked for, but not granted: mtq-raise update resourcequotas',
      ],
    ],
    [
      'another name than the rule is about',
      [...ALL.slice(0, 2), { ...SECRET, name: 'other' }],
      [
        'granted, and no call used it: mtq-lower get secrets (own)',
        'asked for, but not granted: mtq-lower get secrets (other)',
      ],
    ],
    [
      'no resource at all',
      [...ALL, use('get', '/openapi/v3')],
      ['asked for, but not granted: mtq-lower get /openapi/v3'],
    ],
  ])('%s', (_, used, want) => {
    expect(rightsProblems(objects, used)).toEqual(want);
  });
});
