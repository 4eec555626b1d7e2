import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type {
  ClusterVmmrq,
  Condition,
  Given,
  KubernetesObject,
  ResourceQuota,
  Vmmrq,
  VmmrqStatus,
} from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import {
  CLUSTER_VMMRQS,
  NAMESPACES,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { apiRequests, type ApiAnswer, type ApiRequest } from '../../support/environment/api-request.ts';
import { CRDS as ANY_CRDS } from '../../cluster/served.ts';

interface Crd extends KubernetesObject {
  spec: { versions: [{ schema: { openAPIV3Schema: Schema } }] };
}

interface Schema {
  properties?: Record<string, Schema>;
  [keyword: string]: unknown;
}

const CRDS = ANY_CRDS as ResourceType<Crd>;
const TENANT = 'tenant-a';
const PATH = `/apis/mtq.kubevirt.io/v1alpha1/namespaces/${TENANT}/virtualmachinemigrationresourcequotas`;
const CLUSTER_PATH = `/apis/mtq.kubevirt.io/v1alpha1/${CLUSTER_VMMRQS.plural}`;
const TIMEOUT_MS = 20_000;

let controlPlane: ControlPlane;
let admin: Cluster;
let request: (what: ApiRequest) => Promise<ApiAnswer>;

/** Creates VMMRQs under a schema as loose as the incumbent's, then replaces it with our CRD. */
beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig);
  request = apiRequests(controlPlane.adminKubeconfig);
  const crds = (await render('config/crd')) as Crd[];
  const crdOf = ({ plural }: ResourceType): Crd => {
    const found = crds.find(({ metadata }) => metadata.name === `${plural}.mtq.kubevirt.io`);
    if (found === undefined) throw new Error(`config/crd has no CRD of ${plural}`);
    return found;
  };
  const ours = crdOf(VMMRQS);
  await admin.create(CRDS, crdOf(CLUSTER_VMMRQS));
  await admin.create(CRDS, incumbents(ours));
  await admin.create(NAMESPACES, { metadata: { name: TENANT } });
  await until(async () => (await request({ path: PATH })).code === 200);
  for (const [name, spec] of Object.entries(STORED_BEFORE)) {
    expect(await create(spec, { name })).toMatchObject({ code: 201 });
  }

  const { object } = await admin.get(CRDS, { name: ours.metadata.name });
  await admin.replace(CRDS, { ...object, spec: ours.spec });
  await until(async () => (await create({}, { query: 'dryRun=All' })).code === 422);
  await until(async () => (await request({ path: CLUSTER_PATH })).code === 200);
});

afterAll(async () => {
  await controlPlane.stop();
});

const STORED_BEFORE = {
  typical: { additionalMigrationResources: { 'requests.memory': '5Gi', 'limits.cpu': '2', pods: 1 } },
  empty: {},
  negative: { additionalMigrationResources: { 'requests.memory': '-1Gi' } },
};

describe('what is given', () => {
  test.each<[string, Record<string, unknown>]>([
    ['amounts as in a ResourceQuota', { 'requests.memory': '5Gi', cpu: '500m', 'limits.cpu': '1e3' }],
    ['a whole number', { pods: 1 }],
    ['nothing of a resource', { pods: '0' }],
    ['extended resources and hugepages', { 'requests.example.com/gpu': 1, 'hugepages-2Mi': '1Gi' }],
    ['a key that pods do not charge (the verdict tells)', { 'requests.storage': '1Gi', 'count/pods': '2' }],
  ])('%s: accepted', async (_what, additionalMigrationResources) => {
    expect(await create({ additionalMigrationResources })).toMatchObject({ code: 201 });
  });

  const NOT_NEGATIVE = 'must be a quantity that is not negative, such as 2, 500m or 4Gi';
  const KEYS = 'every key must be the name of a resource as in a ResourceQuota';
  const RESOURCES = 'spec.additionalMigrationResources';
  const MANY = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`example.com/r${index}`, 1]));

  test.each<[string, Record<string, unknown>, string]>([
    ['a negative quantity', { cpu: '-1m' }, `${RESOURCES}[cpu]: Invalid value: "-1m": ${NOT_NEGATIVE}`],
    ['a negative whole number', { pods: -1 }, `${RESOURCES}[pods]: Invalid value: -1: ${NOT_NEGATIVE}`],
    ['no quantity', { memory: '5 GB' }, `${RESOURCES}[memory]: Invalid value: "5 GB": ${NOT_NEGATIVE}`],
    ['an empty text', { memory: '' }, `${RESOURCES}[memory]: Invalid value: "": ${NOT_NEGATIVE}`],
    ['a fraction without quotes', { cpu: 1.5 }, `${RESOURCES}.cpu in body must be of type integer,string`],
    ['an endless number', { cpu: '9'.repeat(33) }, `${RESOURCES}.cpu: Too long: may not be more than 32`],
    ['no resource', {}, `${RESOURCES}: Invalid value: must name at least one resource, such as`],
    ['a key with a space', { 'requests memory': '1Gi' }, `${RESOURCES}: Invalid value: ${KEYS}`],
    ['a key without a name', { 'example.com/': 1 }, `${RESOURCES}: Invalid value: ${KEYS}`],
    ['too many keys', MANY, `${RESOURCES}: Too many: 101: must have at most 100 items`],
  ])('%s: refused', async (_what, additionalMigrationResources, message) => {
    const answer = await create({ additionalMigrationResources });
    expect(answer.code).toBe(422);
    expect(answer.body['message']).toContain(message);
  });

  test('empty: refused', async () => {
    const answer = await create({});
    expect(answer.code).toBe(422);
    expect(answer.body['message']).toContain('must say what is given, by additionalMigrationResources');
  });

  test.each(['0%', '5%', '30%', '100%'])(
    '%s of each quota, with a raise policy: accepted',
    async (percentage) => {
      const given = { additionalMigrationPercentage: percentage };
      expect(await create(given)).toMatchObject({ code: 201 });
      const both = {
        ...given,
        additionalMigrationResources: { pods: 1 },
        raisePolicy: 'Exact',
        allowReceive: true,
      };
      expect(await create(both)).toMatchObject({ code: 201 });
    },
  );

  test.each<[string, Record<string, unknown>, string]>([
    ['more than all', { additionalMigrationPercentage: '101%' }, 'additionalMigrationPercentage'],
    ['a part of a percent', { additionalMigrationPercentage: '1.5%' }, 'additionalMigrationPercentage'],
    ['less than nothing', { additionalMigrationPercentage: '-1%' }, 'additionalMigrationPercentage'],
    ['a number', { additionalMigrationPercentage: 30 }, 'additionalMigrationPercentage'],
    ['two signs', { additionalMigrationPercentage: '30%%' }, 'additionalMigrationPercentage'],
    ['a policy of its own', { raisePolicy: 'Some' }, 'raisePolicy'],
    ['a word where it is yes or no', { allowReceive: 'sometimes' }, 'allowReceive'],
  ])('%s: refused', async (_what, more, field) => {
    const answer = await create({ additionalMigrationResources: { pods: 1 }, ...more });
    expect(answer.code).toBe(422);
    expect(answer.body['message']).toContain(`spec.${field}`);
  });
});

const amounts = { additionalMigrationResources: { 'requests.memory': '5Gi', pods: 1 } };
const createShared = (spec: object): Promise<ApiAnswer> =>
  request({
    method: 'POST',
    path: `${CLUSTER_PATH}?dryRun=All`,
    body: {
      apiVersion: CLUSTER_VMMRQS.apiVersion,
      kind: CLUSTER_VMMRQS.kind,
      metadata: { name: 'shared' },
      spec: { namespaceSelector: {}, ...spec },
    },
  });

describe('the selector of a cluster-wide VMMRQ', () => {
  const NAME = 'kubernetes.io/metadata.name';
  test.each<[string, object]>([
    ['of all namespaces', {}],
    ['by labels', { matchLabels: { [NAME]: 'tenant-a', 'team_1.x': '', T: 'A-b_c.9' } }],
    ['by expressions', { matchExpressions: [{ key: NAME, operator: 'In', values: ['a', ''] }] }],
    ['by a label that is absent', { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] }],
  ])('%s: accepted', async (_what, namespaceSelector) => {
    expect(await createShared({ ...amounts, namespaceSelector })).toMatchObject({ code: 201 });
  });

  const one = (expression: object): object => ({ matchExpressions: [expression] });
  const SELECTOR = 'spec.namespaceSelector';
  const EXPRESSION = `${SELECTOR}.matchExpressions[0]`;
  test.each<[string, object | undefined, string]>([
    ['none', undefined, `${SELECTOR}: Required value`],
    [
      'a key that no label can have',
      { matchLabels: { 'a b': 'c' } },
      'every key must be the name of a label',
    ],
    ['a value that no label can have', { matchLabels: { a: 'b c' } }, `${SELECTOR}.matchLabels.a in body`],
    ['a value that is too long', { matchLabels: { a: 'b'.repeat(64) } }, `${SELECTOR}.matchLabels.a`],
    ['an expression’s key', one({ key: 'a=b', operator: 'Exists' }), `${EXPRESSION}.key in body`],
    ['an empty key', one({ key: '', operator: 'Exists' }), `${EXPRESSION}.key in body`],
    ['an expression’s value', one({ key: 'a', operator: 'In', values: ['-'] }), `${EXPRESSION}.values[0] in`],
    ['In without values', one({ key: 'a', operator: 'In' }), 'In and NotIn need values'],
    ['Exists with values', one({ key: 'a', operator: 'Exists', values: ['b'] }), 'In and NotIn need values'],
    ['another operator', one({ key: 'a', operator: 'Like' }), `${EXPRESSION}.operator: Unsupported value`],
  ])('%s: refused', async (_what, namespaceSelector, message) => {
    const answer = await createShared({ ...amounts, namespaceSelector });
    expect(answer.code).toBe(422);
    expect(answer.body['message']).toContain(message);
  });
});

describe('an unknown field', () => {
  const misspelt = { additionalMigrationResource: { pods: 1 } };
  const oneMore = { additionalMigrationResources: { pods: 1 }, limit: 3 };

  test.each([
    ['misspelt', misspelt, 'spec.additionalMigrationResource'],
    ['one more', oneMore, 'spec.limit'],
  ])('%s: refused with kubectl’s field validation (Strict)', async (_what, spec, field) => {
    const answer = await create(spec, { query: 'dryRun=All&fieldValidation=Strict' });
    expect(answer.code).toBe(400);
    expect(answer.body['message']).toContain(`strict decoding error: unknown field "${field}"`);
  });

  test('is always refused by server-side apply', async () => {
    const body = { ...vmmrq('applied', oneMore) };
    const path = `${PATH}/applied?fieldManager=gitops&dryRun=All`;
    const answer = await request({
      method: 'PATCH',
      path,
      body,
      contentType: 'application/apply-patch+yaml',
    });
    expect(answer.code).toBe(500);
    expect(answer.body['message']).toContain('.spec.limit: field not declared in schema');
  });

  test('is refused even without field validation when it is misspelt, because then nothing is given', async () => {
    const answer = await create(misspelt, { query: 'dryRun=All&fieldValidation=Ignore' });
    expect(answer.code).toBe(422);
  });

  test('is named in a warning without field validation when it is additional', async () => {
    const { code, warnings } = await create(oneMore);
    expect(code).toBe(201);
    expect(warnings).toContain('unknown field \\"spec.limit\\"');
  });
});

describe('VMMRQs from the time of the incumbent', () => {
  const report: VmmrqStatus = {
    creationTime: null,
    additionalMigrationResources: { pods: '1' },
    migrationsToBlockingResourceQuotas: { 'migration-1': ['compute'] },
    originalBlockingResourceQuotas: [
      { name: 'compute', spec: { hard: { pods: '10' }, scopes: ['NotTerminating'] } },
    ],
  };

  test.each(Object.keys(STORED_BEFORE))('%s: unchanged, and accepts the incumbent’s status', async (name) => {
    const { object } = await admin.get(VMMRQS, { namespace: TENANT, name });
    expect(object.spec).toEqual(STORED_BEFORE[name as keyof typeof STORED_BEFORE]);

    const status = { ...report, conditions: [condition('Ready', 'Ready')] };
    const written = await admin.replace(VMMRQS, { ...object, status }, { subresource: 'status' });
    expect(written.object.status).toEqual(status);
  });
});

describe('status', () => {
  test('does not change with the spec, and the spec does not change with it', async () => {
    const spec = { additionalMigrationResources: { pods: 1 } };
    const created = await admin.create(VMMRQS, {
      ...vmmrq('separate', spec),
      status: { conditions: [condition('Ready', 'Ready')] },
    } as unknown as Vmmrq);
    expect(created.object.status).toBeUndefined();

    const { object } = await admin.replace(
      VMMRQS,
      {
        ...created.object,
        spec: { additionalMigrationResources: { pods: '2' } },
        status: { conditions: [condition('Ready', 'Ready')] },
      },
      { subresource: 'status' },
    );
    expect(object.spec).toEqual(spec);
    expect(object.status?.conditions).toHaveLength(1);
    expect(object.metadata.generation).toBe(1);
  });

  test('has one condition of each type', async () => {
    const created = await admin.create(VMMRQS, {
      ...vmmrq('twice', { additionalMigrationResources: { pods: '1' } }),
    } as Vmmrq);
    const conditions = [condition('Ready', 'Ready'), condition('Ready', 'Other')];
    const write = admin.replace(
      VMMRQS,
      { ...created.object, status: { conditions } },
      { subresource: 'status' },
    );
    await expect(write).rejects.toMatchObject({ code: 422, message: expect.stringContaining('Duplicate') });
  });
});

test('what a cluster-wide VMMRQ gave is refused where it is incomplete', async () => {
  const spec = { namespaceSelector: {}, ...amounts };
  const { object } = await admin.create(CLUSTER_VMMRQS, { metadata: { name: 'incomplete' }, spec });
  const incomplete = { ...object, status: { given: [{ namespace: 'tenant-b' }] } } as ClusterVmmrq;
  await expect(admin.replace(CLUSTER_VMMRQS, incomplete, { subresource: 'status' })).rejects.toMatchObject({
    code: 422,
  });
});

describe('kubectl', () => {
  test('get shows the allowance, the waiting migrations and the reason (F45)', async () => {
    const { object } = await admin.create(VMMRQS, {
      ...vmmrq('shown', { additionalMigrationResources: { pods: 1, 'requests.memory': '5Gi' } }),
    } as Vmmrq);
    await admin.replace(
      VMMRQS,
      {
        ...object,
        status: {
          migrationsToBlockingResourceQuotas: { 'migration-1': ['compute', 'memory'] },
          conditions: [condition('Ready', 'Ready'), condition('Blocking', 'NotEnough')],
        },
      },
      { subresource: 'status' },
    );
    expect(await table('shown')).toEqual({
      Name: 'shown',
      CPU: null,
      Memory: '5Gi',
      Percentage: null,
      'Limits CPU': null,
      'Limits Memory': null,
      State: 'NotEnough',
      Ready: 'True',
      Age: expect.stringMatching(/^\d+s$/),
    });
  });

  test('get shows when a cluster-wide VMMRQ gave something last, and to whom', async () => {
    const spec = { namespaceSelector: {}, ...amounts };
    const { object } = await admin.create(CLUSTER_VMMRQS, { metadata: { name: 'shown' }, spec });
    const fresh = await table('shown', CLUSTER_PATH);
    expect(fresh).toMatchObject({ CPU: null, Memory: '5Gi', To: null });
    const one: Given = {
      at: new Date().toISOString(),
      namespace: 'tenant-b',
      quota: 'compute',
      amounts: { pods: '1' },
      migrations: ['mig0'],
    };
    const given = [one, { ...one, namespace: 'tenant-c' }];
    const written = await admin.replace(
      CLUSTER_VMMRQS,
      { ...object, status: { given } },
      { subresource: 'status' },
    );
    expect(written.object).toMatchObject({ status: { given }, metadata: { generation: 1 } });
    expect(await table('shown', CLUSTER_PATH)).toMatchObject({
      'Last Given': expect.stringMatching(/^\d+s$/),
      To: 'tenant-b',
    });
  });

  test('get works for a new VMMRQ, before any function has seen it', async () => {
    await create({ additionalMigrationResources: { cpu: '500m', 'limits.cpu': 1 } }, { name: 'new' });
    expect(await table('new')).toMatchObject({ CPU: '500m', Memory: null, 'Limits CPU': '1', State: null });
  });

  test('knows the short names, and lists VMMRQs in "all"', async () => {
    const { body } = await request({ path: '/apis/mtq.kubevirt.io/v1alpha1' });
    expect(body['resources']).toContainEqual(
      expect.objectContaining({
        name: VMMRQS.plural,
        singularName: 'virtualmachinemigrationresourcequota',
        shortNames: ['vmmrq', 'vmmrqs'],
        categories: ['all'],
        namespaced: true,
      }),
    );
  });
});

test('config/samples is accepted as it is', async () => {
  for (const object of await render('config/samples')) {
    const type = [RESOURCE_QUOTAS, VMMRQS, CLUSTER_VMMRQS].find(({ kind }) => kind === object.kind);
    // The namespace already exists.
    if (type !== undefined) await admin.create<ResourceQuota | Vmmrq>(type, object as ResourceQuota);
  }
  const { items } = await admin.list(VMMRQS, { namespace: TENANT });
  expect(items.map(({ metadata }) => metadata.name)).toContain('migrations');
});

const vmmrq = (name: string, spec: unknown): object => ({
  apiVersion: VMMRQS.apiVersion,
  kind: VMMRQS.kind,
  metadata: { name, namespace: TENANT },
  spec,
});

/** A dry run with a unique name, unless the caller sets one. */
async function create(
  spec: unknown,
  { name, query = 'dryRun=All' }: { name?: string; query?: string } = {},
): Promise<ApiAnswer> {
  const path = name === undefined ? `${PATH}?${query}` : PATH;
  return request({ method: 'POST', path, body: vmmrq(name ?? 'attempt', spec) });
}

const condition = (type: string, reason: string): Condition => ({
  type,
  status: 'True',
  reason,
  message: 'in words',
  lastTransitionTime: '2026-01-01T00:00:00.123Z',
});

interface Table {
  columnDefinitions: { name: string }[];
  rows: { cells: unknown[] }[];
}

/** The table that `kubectl get` requests and prints, by column. */
async function table(name: string, of = PATH): Promise<Record<string, unknown>> {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const { body } = await request({ path: `${of}/${name}`, accept });
  const { columnDefinitions, rows } = body as unknown as Table;
  return Object.fromEntries(columnDefinitions.map((column, index) => [column.name, rows[0]?.cells[index]]));
}

/** Our schema made as loose as the incumbent's: the same fields, no required ones, no rules. */
function incumbents(ours: Crd): Crd {
  const loose = structuredClone(ours);
  allowUnknown(loose.spec.versions[0].schema.openAPIV3Schema);
  return loose;
}

function allowUnknown(schema: Schema): void {
  for (const keyword of ['required', 'maxProperties', 'maxLength', 'x-kubernetes-validations']) {
    // The keys of a list stay required, because a list map needs them.
    if (!(keyword === 'required' && schema.properties?.['lastTransitionTime'] !== undefined)) {
      Reflect.deleteProperty(schema, keyword);
    }
  }
  for (const child of Object.values(schema.properties ?? {})) allowUnknown(child);
  for (const child of [schema['items'], schema['additionalProperties']]) {
    if (typeof child === 'object' && child !== null) allowUnknown(child as Schema);
  }
}

/** The API server uses a new or changed CRD only a moment after it has accepted it. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  while (!(await isSo())) await sleep(50, undefined, { signal: deadline });
}
