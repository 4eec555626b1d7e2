import { describe, expect, test } from '@jest/globals';
import { CONDITION, GROUP, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { VMMRQS } from '../../functions/kubernetes/resources.ts';
import { STEP_NAMES } from '../../functions/runtime/settings.ts';
import { objects, ofKind } from './rendered.ts';

describe('all of it', () => {
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

  test('is in our namespace, or belongs to no namespace', () => {
    for (const { kind = '', metadata } of objects) {
      const wanted = CLUSTER_SCOPED.includes(kind) ? undefined : SYSTEM_NAMESPACE;
      expect([kind, metadata.name, metadata.namespace]).toEqual([kind, metadata.name, wanted]);
    }
  });

  test('says what it is part of', () => {
    for (const { metadata } of objects) {
      expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/part-of': 'managed-tenant-quota' });
    }
  });

  test('has one image', () => {
    const images = [...JSON.stringify(objects).matchAll(/"image":"([^"]*)"/g)].map(([, image]) => image);
    expect(images).toHaveLength(STEP_NAMES.length + 1);
    expect(new Set(images).size).toBe(1);
  });
});

test('the CRD is what the code reads and writes, and tells of every condition', () => {
  const [crd] = ofKind('CustomResourceDefinition');
  expect(crd?.metadata.name).toBe(`${VMMRQS.plural}.${GROUP}`);
  expect(crd?.spec).toMatchObject({
    group: GROUP,
    names: { kind: VMMRQS.kind, plural: VMMRQS.plural },
    versions: [{ name: VMMRQS.apiVersion.split('/')[1] }],
  });
  expect(JSON.stringify(crd)).toContain(`"description":"${Object.values(CONDITION).join(', ')}."`);
});
