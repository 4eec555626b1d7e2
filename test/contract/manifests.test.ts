import { describe, expect, test } from '@jest/globals';
import { API_SERVERS, CONDITION, GROUP, PURPOSES, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { MAX_RESERVATIONS } from '../../functions/domain/total/reservation.ts';
import { BLOCKED_BY } from '../../functions/domain/progress/names.ts';
import { BUCKETS } from '../../functions/domain/progress/progress-object.ts';
import { CLUSTER_VMMRQS, PROGRESSES, VMMRQS } from '../../functions/kubernetes/resources.ts';
import { STEP_NAMES } from '../../functions/runtime/settings.ts';
import { found, objects, ofKind } from './rendered.ts';

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

interface Crd {
  spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: Properties } } } } }[] };
}
type Properties = Readonly<Record<string, object>>;

const crdOf = (plural: string): Crd => {
  const crd = ofKind('CustomResourceDefinition').find(
    ({ metadata }) => metadata.name === `${plural}.${GROUP}`,
  );
  return found(crd, `CRD ${plural}`) as unknown as Crd;
};

/** The properties of `spec`. */
const specOf = (plural: string): Properties =>
  crdOf(plural).spec.versions[0]?.schema.openAPIV3Schema.properties.spec.properties ?? {};

const withoutDescriptions = (schema: object): unknown =>
  JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === 'description' ? undefined : value)));

describe.each([VMMRQS, CLUSTER_VMMRQS, PROGRESSES])(
  'the CRD of $kind',
  ({ apiVersion, kind, plural, namespaced }) => {
    test('matches the code’s types', () => {
      expect(crdOf(plural).spec).toMatchObject({
        group: GROUP,
        scope: namespaced ? 'Namespaced' : 'Cluster',
        names: { kind, plural },
        versions: [{ name: apiVersion.split('/')[1] }],
      });
    });
  },
);

describe.each([VMMRQS, CLUSTER_VMMRQS])('the CRD of $kind', ({ plural }) => {
  test('knows every purpose', () => {
    expect(specOf(plural)['purposes']).toMatchObject({ items: { enum: PURPOSES } });
  });
});

test('the CRD of drains and upgrades documents what blocks one', () => {
  const text = JSON.stringify(crdOf(PROGRESSES.plural));
  expect(text).toContain(`(${Object.values(BLOCKED_BY).join(', ')})`);
  expect(text).toContain(`"enum":${JSON.stringify(BUCKETS)}`);
});

test('the CRD of VMMRQs documents every condition', () => {
  expect(JSON.stringify(crdOf(VMMRQS.plural))).toContain(
    `"description":"${Object.values(CONDITION).join(', ')}."`,
  );
});

test('both kinds of VMMRQ have the same fields and rules, but for the selector and the total', () => {
  const { namespaceSelector, total, ...others } = specOf(CLUSTER_VMMRQS.plural);
  expect(namespaceSelector).toBeDefined();
  expect(withoutDescriptions(others)).toEqual(withoutDescriptions(specOf(VMMRQS.plural)));
  const { additionalMigrationResources } = others;
  const asAmounts = JSON.stringify(total).replace('requests.memory: 64Gi', 'requests.memory: 4Gi');
  expect(withoutDescriptions(JSON.parse(asAmounts) as object)).toEqual(
    withoutDescriptions(found(additionalMigrationResources, 'amounts')),
  );
});

test('the CRD of cluster-wide VMMRQs bounds the reservations as the code does', () => {
  expect(JSON.stringify(crdOf(CLUSTER_VMMRQS.plural))).toContain(`"maxItems":${String(MAX_RESERVATIONS)}`);
});
