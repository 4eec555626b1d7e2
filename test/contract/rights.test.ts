import { describe, expect, test } from '@jest/globals';
import { GROUP, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { CLUSTER_VMMRQS, PROGRESSES, VMMRQS } from '../../functions/kubernetes/resources.ts';
import { objects, ofKind, nameOf, bindings, grantedTo } from './rendered.ts';

describe('rights', () => {
  test('every process has a service account, and there are no others', () => {
    const accounts = ofKind('ServiceAccount').map(({ metadata }) => metadata.name);
    expect(accounts.sort()).toEqual(Object.values(SERVICE_ACCOUNT).sort());
  });

  test('every binding names an existing role and an existing account', () => {
    const roles = [...ofKind('ClusterRole'), ...ofKind('Role')].map(nameOf);
    const accounts = ofKind('ServiceAccount').map(nameOf);
    for (const { roleRef, subjects = [] } of bindings()) {
      expect(roles).toContain(`${roleRef?.kind ?? ''} ${roleRef?.name ?? ''}`);
      for (const { kind, name, namespace } of subjects) {
        expect(accounts).toContain(`${kind} ${name}`);
        expect(namespace).toBe(SYSTEM_NAMESPACE);
      }
    }
  });

  test('no role has wildcard rights', () => {
    expect(JSON.stringify(objects.map(({ rules }) => rules ?? []))).not.toContain('"*"');
  });

  test('each process may write only these resources', () => {
    const writers: Record<string, string[]> = {};
    for (const process of Object.keys(SERVICE_ACCOUNT) as (keyof typeof SERVICE_ACCOUNT)[]) {
      for (const right of grantedTo(process).filter((granted) => !/^(get|list|watch) /.test(granted))) {
        (writers[right] ??= []).push(process);
      }
    }
    expect(writers).toEqual({
      'update namespaces': ['lock', 'raise', 'unlock', 'guard'],
      'update resourcequotas/status': ['raise', 'lower', 'guard'],
      'create resourcequotas': ['raise'],
      'patch virtualmachineinstancemigrations.kubevirt.io': ['feasibility', 'lower'],
      [`update ${VMMRQS.plural}/status.${GROUP}`]: ['feasibility'],
      [`update ${CLUSTER_VMMRQS.plural}/status.${GROUP}`]: ['raise'],
      'patch events': ['feasibility', 'lock'],
      'create events': ['feasibility', 'lock', 'lower', 'progress', 'guard'],
      [`create ${PROGRESSES.plural}.${GROUP}`]: ['progress'],
      [`delete ${PROGRESSES.plural}.${GROUP}`]: ['progress'],
      [`update ${PROGRESSES.plural}/status.${GROUP}`]: ['progress'],
      'update validatingwebhookconfigurations.admissionregistration.k8s.io (mtq-guard)': ['guard'],
      'update secrets (mtq-guard-certs)': ['guard'],
    });
  });

  test('secrets are read and written in our own namespace only', () => {
    expect(ofKind('ClusterRole').filter((role) => JSON.stringify(role.rules).includes('secrets'))).toEqual(
      [],
    );
  });

  test('the break-glass role exists, and no binding grants it', () => {
    expect(
      ofKind('ClusterRole').find(({ metadata }) => metadata.name === 'managed-tenant-quota-break-glass')
        ?.rules,
    ).toEqual([
      { apiGroups: [GROUP], resources: ['locks'], verbs: ['override'] },
      { apiGroups: [''], resources: ['events'], verbs: ['create'] },
    ]);
    expect(bindings().map(({ roleRef }) => roleRef?.name)).not.toContain('managed-tenant-quota-break-glass');
  });

  test('viewers of a namespace see its VMMRQs, and no role of tenants may write one', () => {
    const prefix = 'rbac.authorization.k8s.io/aggregate-to-';
    const aggregated = ofKind('ClusterRole').flatMap(({ metadata, rules = [] }) =>
      Object.keys(metadata.labels ?? {})
        .filter((label) => label.startsWith(prefix))
        .map((label) => [metadata.name, label.slice(prefix.length), rules.map(({ verbs }) => verbs)]),
    );
    expect(aggregated).toEqual([['managed-tenant-quota-vmmrq-view', 'view', [['get', 'list', 'watch']]]]);
  });

  test('the role to read drains and upgrades of the whole cluster exists, and no binding grants it', () => {
    const role = 'managed-tenant-quota-mprog-view';
    expect(ofKind('ClusterRole').find(({ metadata }) => metadata.name === role)?.rules).toEqual([
      {
        apiGroups: [GROUP],
        resources: [PROGRESSES.plural, `${PROGRESSES.plural}/status`],
        verbs: ['get', 'list', 'watch'],
      },
    ]);
    expect(bindings().map(({ roleRef }) => roleRef?.name)).not.toContain(role);
  });

  test.each([VMMRQS, CLUSTER_VMMRQS])(
    'the role to write a $kind exists, and no binding grants it: the administrator decides',
    ({ plural }) => {
      const edits = ofKind('ClusterRole').filter(({ rules = [] }) =>
        rules.some(({ resources, verbs }) => resources.includes(plural) && verbs.includes('create')),
      );
      const short = plural.startsWith('cluster') ? 'cvmmrq' : 'vmmrq';
      const role = `managed-tenant-quota-${short}-edit`;
      expect(edits.map(({ metadata }) => metadata.name)).toEqual([role]);
      expect(edits.flatMap(({ rules = [] }) => rules.flatMap(({ resources }) => resources))).toEqual([
        plural,
      ]);
      expect(bindings().map(({ roleRef }) => roleRef?.name)).not.toContain(role);
    },
  );
});
