import { describe, expect, test } from '@jest/globals';
import { API_SERVERS, CONDITION, GROUP, PURPOSES, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { MAX_GIVEN, MAX_GIVEN_TO } from '../../functions/domain/quota/given.ts';
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
      // Of the guard, and of `raise`.
      `Role ${API_SERVERS.slices.namespace}`,
      `Role ${API_SERVERS.slices.namespace}`,
      `Role ${API_SERVERS.leases.namespace}`,
      `RoleBinding ${API_SERVERS.slices.namespace}`,
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
  spec: {
    versions: {
      schema: { openAPIV3Schema: Schema & { properties: { spec: { properties: Properties } } } };
      additionalPrinterColumns: Column[];
    }[];
  };
}
type Properties = Readonly<Record<string, object>>;

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
}

const isOneValue = (schema: Schema | undefined): boolean =>
  schema?.['x-kubernetes-int-or-string'] === true ||
  ['string', 'integer', 'boolean'].includes(schema?.type ?? '');

interface Column {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly priority?: number;
}

const crdOf = (plural: string): Crd => {
  const crd = ofKind('CustomResourceDefinition').find(
    ({ metadata }) => metadata.name === `${plural}.${GROUP}`,
  );
  return found(crd, `CRD ${plural}`) as unknown as Crd;
};

const schemaOf = (plural: string): Schema =>
  found(crdOf(plural).spec.versions[0], 'version').schema.openAPIV3Schema;

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

test('both kinds of VMMRQ have the same fields and rules, but for the selector', () => {
  const { namespaceSelector, ...others } = specOf(CLUSTER_VMMRQS.plural);
  expect(namespaceSelector).toBeDefined();
  expect(withoutDescriptions(others)).toEqual(withoutDescriptions(specOf(VMMRQS.plural)));
});

test('the CRD of cluster-wide VMMRQs bounds what its status lists as the code does', () => {
  const { given } = schemaOf(CLUSTER_VMMRQS.plural).properties?.['status']?.properties ?? {};
  expect(given?.maxItems).toBe(MAX_GIVEN);
  expect(given?.items?.properties?.['migrations']?.maxItems).toBe(MAX_GIVEN_TO);
});

describe('kubectl get shows', () => {
  const columnsOf = (plural: string): readonly Column[] =>
    crdOf(plural).spec.versions.flatMap(({ additionalPrinterColumns }) => additionalPrinterColumns);

  const COLUMNS: readonly [string, string, readonly string[]][] = [
    [VMMRQS.kind, VMMRQS.plural, ['CPU', 'Memory', 'State', 'Age']],
    [CLUSTER_VMMRQS.kind, CLUSTER_VMMRQS.plural, ['CPU', 'Memory', 'Percentage', 'Last Given', 'To', 'Age']],
    [PROGRESSES.kind, PROGRESSES.plural, ['Subject', 'Done', 'Blocked', 'Reason', 'State', 'Age']],
  ];
  test.each(COLUMNS)('of a %s what matters, and the rest with -o wide', (_, plural, want) => {
    const shown = columnsOf(plural).filter(({ priority = 0 }) => priority === 0);
    expect(shown.map(({ name }) => name)).toEqual(want);
  });

  /** The schema at `.status.given[0].at`, or at `.spec.amounts['cpu']`; undefined: there is no such field. */
  const schemaAt = (plural: string, jsonPath: string): Schema | undefined =>
    jsonPath
      .slice(1)
      .split(/\.(?![^[]*\])/)
      .reduce<Schema | undefined>((schema, step) => {
        const [name = ''] = step.split('[');
        const found = schema?.properties?.[name];
        if (step === name) return found;
        return step.includes("['") ? found?.additionalProperties : found?.items;
      }, schemaOf(plural));

  test.each(COLUMNS)('of a %s fields that it has', (_, plural) => {
    for (const { name, type, jsonPath } of columnsOf(plural)) {
      if (jsonPath === '.metadata.creationTimestamp') continue;
      const schema = schemaAt(plural, jsonPath);
      // A list or an object would be printed as JSON.
      expect([name, isOneValue(schema)]).toEqual([name, true]);
      if (type !== 'string')
        expect([name, schema?.format === 'date-time' ? 'date' : schema?.type]).toEqual([name, type]);
    }
  });
});
