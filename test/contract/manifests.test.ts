import { describe, expect, test } from '@jest/globals';
import { API_SERVERS, CONDITION, GROUP, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { VMMRQS } from '../../functions/kubernetes/resources.ts';
import { STEP_NAMES } from '../../functions/runtime/settings.ts';
import { objects, ofKind } from './rendered.ts';

describe('every object', () => {
  const CLUSTER_SCOPED = [
    'Namespace',
    'CustomResourceDefinition',
    'ClusterRole',
    'ClusterRoleBinding',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ValidatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
  ];

  test('is in our namespace, or belongs to no namespace, except the roles to read the API servers', () => {
    const namespaced = objects.filter(({ kind = '' }) => !CLUSTER_SCOPED.includes(kind));
    const elsewhere = namespaced.filter(({ metadata }) => metadata.namespace !== SYSTEM_NAMESPACE);
    expect(elsewhere.map(({ kind, metadata }) => `${kind ?? ''} ${metadata.namespace ?? ''}`)).toEqual([
      `Role ${API_SERVERS.slices.namespace}`,
      `Role ${API_SERVERS.leases.namespace}`,
      `RoleBinding ${API_SERVERS.slices.namespace}`,
      `RoleBinding ${API_SERVERS.leases.namespace}`,
    ]);
    const clusterScoped = objects.filter(({ kind = '' }) => CLUSTER_SCOPED.includes(kind));
    expect(clusterScoped.filter(({ metadata }) => metadata.namespace !== undefined)).toEqual([]);
  });

  test('has the label part-of', () => {
    for (const { metadata } of objects) {
      expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/part-of': 'managed-tenant-quota' });
    }
  });

  test('has the same image, if any', () => {
    const images = [...JSON.stringify(objects).matchAll(/"image":"([^"]*)"/g)].map(([, image]) => image);
    expect(images).toHaveLength(STEP_NAMES.length + 1);
    expect(new Set(images).size).toBe(1);
  });
});

test('the CRD matches the code’s types, and documents every condition', () => {
  const [crd] = ofKind('CustomResourceDefinition');
  expect(crd?.metadata.name).toBe(`${VMMRQS.plural}.${GROUP}`);
  expect(crd?.spec).toMatchObject({
    group: GROUP,
    names: { kind: VMMRQS.kind, plural: VMMRQS.plural },
    versions: [{ name: VMMRQS.apiVersion.split('/')[1] }],
  });
  expect(JSON.stringify(crd)).toContain(`"description":"${Object.values(CONDITION).join(', ')}."`);
});
