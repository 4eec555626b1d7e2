import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { LiveCondition, Plan } from '../../../functions/domain/live/forklift.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import {
  HOOKS,
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  STORAGE_MAPS,
} from '../../../functions/kubernetes/live-resources.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { objectsOf, render } from '../../cluster/controlplane/kustomize.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { apiRequests, type ApiAnswer, type ApiRequest } from '../../support/environment/api-request.ts';
import {
  aHook,
  aHost,
  aNetworkMap,
  aPlan,
  aPlanMigration,
  aProvider,
  aStorageMap,
} from '../../support/builders/live.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { installForkliftKinds } from '../../support/live/crossing.ts';

const NAMESPACE = 'tenant';

let controlPlane: ControlPlane;
let admin: Cluster;
let request: (what: ApiRequest) => Promise<ApiAnswer>;

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig);
  request = apiRequests(controlPlane.adminKubeconfig);
  await installForkliftKinds(admin);
  await admin.create(NAMESPACES, { metadata: { name: NAMESPACE } });
});

afterAll(async () => {
  await controlPlane.stop();
});

/** A dry run as kubectl's, which refuses fields that a schema does not keep. */
const attempt = (type: ResourceType, spec: unknown): Promise<ApiAnswer> =>
  request({
    method: 'POST',
    path: `${pathOf(type)}?dryRun=All&fieldValidation=Strict`,
    body: { apiVersion: type.apiVersion, kind: type.kind, metadata: { name: 'attempt' }, spec },
  });

const pathOf = ({ apiVersion, plural }: ResourceType): string =>
  `/apis/${apiVersion}/namespaces/${NAMESPACE}/${plural}`;

const named = (name: string): object => ({ namespace: NAMESPACE, name });
const PLAN = aPlan().spec;
const [VM] = PLAN.vms;

/** As `oc get plan -o yaml` of Forklift's (facts/cross-cluster.md §A1), with the fields that have no effect on live migrations. */
const FORKLIFTS_PLAN = {
  ...PLAN,
  archived: false,
  deleteGuestConversionPod: false,
  deleteVmOnFailMigration: true,
  description: 'the web servers',
  diskBus: 'virtio',
  enableNestedVirtualization: true,
  migrateSharedDisks: true,
  preserveClusterCpuModel: true,
  preserveStaticIPs: true,
  pvcNameTemplate: '{{.VmName}}-disk-{{.DiskIndex}}',
  pvcNameTemplateUseGenerateName: true,
  runPreflightInspection: true,
  serviceAccount: 'hooks',
  targetAffinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } },
  },
  targetLabels: { 'example.com/moved': 'true' },
  targetNodeSelector: { disk: 'fast' },
  targetPowerState: 'auto',
  transferNetwork: named('transfer'),
  useCompatibilityMode: true,
  vms: [
    {
      hooks: [
        { hook: named('before'), step: 'PreHook' },
        { hook: named('after'), step: 'PostHook' },
      ],
      id: 'b2a5b1d6-9d2c-4b7c-8c39-7ab19bd0c3a1',
      instanceType: 'u1.large',
      luks: {},
      name: 'web',
      namespace: 'vms',
      rootDisk: 'disk0',
      targetName: 'web-1',
    },
    { id: 'a-uid', luks: {} },
  ],
  warm: false,
};

describe('accepted', () => {
  test.each<[string, ResourceType, unknown]>([
    ['a plan', PLANS, PLAN],
    ['a plan with all that Forklift’s have', PLANS, FORKLIFTS_PLAN],
    [
      'a plan whose references say more',
      PLANS,
      { ...PLAN, provider: { ...PLAN.provider, source: { ...named('source'), uid: 'u', kind: 'Provider' } } },
    ],
    ['a migration', PLAN_MIGRATIONS, aPlanMigration().spec],
    [
      'a migration with fields that have no effect, and a canceled VM',
      PLAN_MIGRATIONS,
      { plan: named('plan'), cutover: '2026-01-01T00:00:00Z', cancel: [{ id: 'u' }, { ...VM }] },
    ],
    ['a provider', PROVIDERS, aProvider().spec],
    ['the provider of the own cluster', PROVIDERS, aHost().spec],
    ['the provider of the own cluster, with an empty secret', PROVIDERS, { ...aHost().spec, secret: {} }],
    ['a provider with settings', PROVIDERS, { ...aProvider().spec, settings: { submariner: 'true' } }],
    ['a provider by its address', PROVIDERS, { ...aProvider().spec, url: 'https://[2001:db8::1]:6443' }],
    ['a storage map', STORAGE_MAPS, aStorageMap().spec],
    [
      'a storage map with modes, by id, and with a plugin',
      STORAGE_MAPS,
      {
        ...aStorageMap().spec,
        map: [
          {
            source: { id: 'u' },
            destination: { storageClass: 'gold', volumeMode: 'Block', accessMode: 'ReadWriteMany' },
            offloadPlugin: { vsphereXcopyConfig: { secretRef: 's', storageVendorProduct: 'ontap' } },
          },
        ],
      },
    ],
    ['a storage map without entries', STORAGE_MAPS, { ...aStorageMap().spec, map: [] }],
    ['a network map', NETWORK_MAPS, aNetworkMap().spec],
    [
      'a network map by id and by namespace/name, one of them ignored',
      NETWORK_MAPS,
      {
        ...aNetworkMap().spec,
        map: [
          { source: { id: 'u' }, destination: { type: 'ignored' } },
          { source: { name: 'vms/blue', type: 'multus' }, destination: { type: 'pod' } },
        ],
      },
    ],
    ['a hook', HOOKS, aHook().spec],
    [
      'a hook that is its image',
      HOOKS,
      { image: 'quay.io/example/hook:1', deadline: 0, serviceAccount: 'hooks' },
    ],
    ['a hook with line breaks in its playbook', HOOKS, { image: 'i', playbook: 'LSBob3N0\nczogYWxsCg==\n' }],
  ])('%s', async (_what, type, spec) => {
    expect(await attempt(type, spec)).toMatchObject({ code: 201, warnings: '', body: { spec } });
  });
});

/** Fields of a spec without which Forklift's CRDs refuse it (facts/cross-cluster.md §A1). */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  Plan: ['provider', 'targetNamespace', 'map', 'vms'],
  Migration: ['plan'],
  Provider: ['secret'],
  StorageMap: ['provider', 'map'],
  NetworkMap: ['provider', 'map'],
};

test('config/samples/live is accepted as it is, by Forklift’s CRDs too', async () => {
  const migration = objectsOf(readFileSync('config/samples/live/migration.yaml', 'utf8'));
  const types = [PLANS, PLAN_MIGRATIONS, PROVIDERS, STORAGE_MAPS, NETWORK_MAPS];
  const codes = new Map<string, number>();
  for (const object of [...(await render('config/samples/live')), ...migration]) {
    const type = types.find(({ kind }) => kind === object.kind);
    if (type === undefined) continue;
    const { spec = {} } = object as { spec?: object };
    expect(Object.keys(spec)).toEqual(expect.arrayContaining([...(REQUIRED[type.kind] ?? [])]));
    const { code } = await attempt(type, spec);
    codes.set(`${type.kind} ${object.metadata.name}`, code);
  }
  expect([...codes].toSorted()).toEqual([
    ['Migration web-1', 201],
    ['NetworkMap networks', 201],
    ['Plan web', 201],
    ['Provider here', 201],
    ['Provider there', 201],
    ['StorageMap storage', 201],
  ]);
});

const without = (spec: object, ...fields: readonly string[]): object =>
  Object.fromEntries(Object.entries(spec).filter(([field]) => !fields.includes(field)));
const withVm = (vm: object): object => ({ ...PLAN, vms: [vm] });

describe('refused, with what to do', () => {
  const PROVIDERS_MISSING = 'needs provider.source and provider.destination';
  const MAPS_MISSING = 'needs map.network and map.storage: create a NetworkMap and a StorageMap';
  const REFERENCE_MISSING = "needs the VM's name (and namespace), or its id (the VM's uid)";
  const entry = (spec: object, ...map: readonly object[]): object => ({ ...spec, map });

  test.each<[string, ResourceType, unknown, string]>([
    [
      'a plan without a type, which is cold',
      PLANS,
      without(PLAN, 'type'),
      'type must be live: nothing runs here',
    ],
    ['a warm plan', PLANS, { ...PLAN, type: 'warm' }, 'Install Forklift for cold and warm migrations'],
    ['a plan of an unknown type', PLANS, { ...PLAN, type: 'hot' }, 'supported values: "live"'],
    ['a plan without providers', PLANS, without(PLAN, 'provider'), PROVIDERS_MISSING],
    ['a plan with one provider', PLANS, { ...PLAN, provider: { source: named('a') } }, PROVIDERS_MISSING],
    ['a plan without maps', PLANS, without(PLAN, 'map'), MAPS_MISSING],
    ['a plan with one map', PLANS, { ...PLAN, map: { network: named('networks') } }, MAPS_MISSING],
    ['a plan with a map without a name', PLANS, { ...PLAN, map: { ...PLAN.map, storage: {} } }, MAPS_MISSING],
    [
      'a plan without a target namespace',
      PLANS,
      without(PLAN, 'targetNamespace'),
      'needs targetNamespace, the namespace that the VMs move to',
    ],
    [
      'a target namespace that is no name',
      PLANS,
      { ...PLAN, targetNamespace: 'Tenant A' },
      'must be the name of a namespace, such as tenant-a',
    ],
    ['a plan without VMs', PLANS, { ...PLAN, vms: [] }, 'needs at least one VM in vms'],
    ['a VM without name and id', PLANS, withVm({ namespace: 'vms' }), REFERENCE_MISSING],
    ['a VM with an empty id', PLANS, withVm({ id: '' }), REFERENCE_MISSING],
    [
      'a target name that is no name',
      PLANS,
      withVm({ ...VM, targetName: 'Web_1' }),
      'must be the name of a VM, such as web-1',
    ],
    [
      'a hook for another step',
      PLANS,
      withVm({ ...VM, hooks: [{ step: 'Started', hook: named('hook') }] }),
      'supported values: "PreHook", "PostHook"',
    ],
    ['a migration of nothing', PLAN_MIGRATIONS, {}, 'needs plan, the name and namespace of the Plan to run'],
    [
      'a cancel of nothing',
      PLAN_MIGRATIONS,
      { plan: named('plan'), cancel: [{}] },
      `${REFERENCE_MISSING}, as in the plan`,
    ],
    [
      'a provider of another type',
      PROVIDERS,
      { type: 'vsphere' },
      'type must be openshift, which is any Kubernetes',
    ],
    ['a provider without a type', PROVIDERS, {}, 'type must be openshift'],
    [
      'a provider without a secret',
      PROVIDERS,
      without(aProvider().spec, 'secret'),
      "needs secret, the name of a Secret in the provider's namespace",
    ],
    [
      'a provider by http',
      PROVIDERS,
      { ...aProvider().spec, url: 'http://api.example.com' },
      'must be the https URL of an API server',
    ],
    [
      'a provider by a name',
      PROVIDERS,
      { ...aProvider().spec, url: 'source' },
      'must be the https URL of an API server',
    ],
    ['a map without providers', STORAGE_MAPS, without(aStorageMap().spec, 'provider'), PROVIDERS_MISSING],
    [
      'a storage map without a map',
      STORAGE_MAPS,
      without(aStorageMap().spec, 'map'),
      'needs map, with an entry for each',
    ],
    [
      'a storage entry of nothing',
      STORAGE_MAPS,
      entry(aStorageMap().spec, { destination: { storageClass: 'gold' } }),
      'needs source.name, the storage class of disks on the source',
    ],
    [
      'a storage entry to nothing',
      STORAGE_MAPS,
      entry(aStorageMap().spec, { source: { name: 'fast' } }),
      'needs destination.storageClass',
    ],
    [
      'a network entry of nothing',
      NETWORK_MAPS,
      entry(aNetworkMap().spec, { source: {}, destination: { type: 'pod' } }),
      'needs as source either type pod, or the namespace and name of a NetworkAttachmentDefinition',
    ],
    [
      'a network entry to nothing',
      NETWORK_MAPS,
      entry(aNetworkMap().spec, { source: { type: 'pod' } }),
      'needs destination.type, which is pod, multus or ignored',
    ],
    [
      'a network entry to a network without a namespace',
      NETWORK_MAPS,
      entry(aNetworkMap().spec, { source: { type: 'pod' }, destination: { type: 'multus', name: 'green' } }),
      'a multus destination needs the name and namespace',
    ],
    ['a hook without an image', HOOKS, { playbook: 'LQ==' }, 'needs image, the image to run'],
    [
      'a hook with a plain playbook',
      HOOKS,
      { image: 'i', playbook: '- hosts: all' },
      'must be base64: base64 -w0',
    ],
    ['a hook that ends before it begins', HOOKS, { image: 'i', deadline: -1 }, 'greater than or equal to 0'],
  ])('%s', async (_what, ...[type, spec, message]) => {
    const answer = await attempt(type, spec);
    expect(answer.code).toBe(422);
    expect(answer.body['message']).toContain(message);
  });
});

const condition = (type: string): LiveCondition => ({
  type,
  status: 'True',
  category: 'Advisory',
  durable: true,
  message: 'in words',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

describe('a plan whose migration runs', () => {
  let plan: Plan;
  const put = async (spec: Partial<Plan['spec']>): Promise<ApiAnswer> =>
    request({
      method: 'PUT',
      path: `${pathOf(PLANS)}/executing?dryRun=All`,
      body: { ...plan, spec: { ...plan.spec, ...spec } },
    });
  const set = async (...types: readonly string[]): Promise<void> => {
    const status = { conditions: types.map(condition) };
    ({ object: plan } = await admin.replace(PLANS, { ...plan, status }, { subresource: 'status' }));
  };

  beforeAll(async () => {
    ({ object: plan } = await admin.create(PLANS, {
      metadata: { name: 'executing', namespace: NAMESPACE },
      spec: PLAN,
    }));
    await set('Ready', 'Executing');
  });

  test.each<[string, Partial<Plan['spec']>]>([
    ['another VM', { vms: [...PLAN.vms, { name: 'other', namespace: 'vms' }] }],
    ['another name for a VM', { vms: [{ ...PLAN.vms[0], targetName: 'other' }] }],
    ['another target namespace', { targetNamespace: 'other' }],
    ['another map', { map: { ...PLAN.map, storage: named('other') } }],
    ['another provider', { provider: { ...PLAN.provider, source: named('other') } }],
  ])('does not take %s', async (_what, spec) => {
    const answer = await put(spec);
    expect(answer.code).toBe(422);
    expect(answer.body['message']).toContain(
      'cannot change. Wait for its end, or cancel it in spec.cancel of the Migration',
    );
  });

  test('can be archived and described', async () => {
    expect(await put({ archived: true, description: 'going' })).toMatchObject({ code: 200 });
  });

  test('takes all of it when the migration has ended', async () => {
    await set('Ready', 'Failed');
    expect(await put({ targetNamespace: 'other', vms: [{ id: 'u' }] })).toMatchObject({ code: 200 });
  });
});

test('a migration keeps its plan, and takes VMs to cancel', async () => {
  const { object } = await admin.create(PLAN_MIGRATIONS, {
    metadata: { name: 'run', namespace: NAMESPACE },
    spec: aPlanMigration().spec,
  });
  const put = (spec: object): Promise<ApiAnswer> =>
    request({ method: 'PUT', path: `${pathOf(PLAN_MIGRATIONS)}/run`, body: { ...object, spec } });
  const other = await put({ plan: named('other') });
  expect(other.code).toBe(422);
  expect(other.body['message']).toContain('plan is immutable. Create another Migration');
  expect(await put({ plan: object.spec.plan, cancel: [{ name: 'web', namespace: 'vms' }] })).toMatchObject({
    code: 200,
  });
});

test.each<[string, ResourceType, object]>([
  ['plan', PLANS, PLAN],
  ['migration', PLAN_MIGRATIONS, aPlanMigration().spec],
  ['provider', PROVIDERS, aProvider().spec],
  ['storage map', STORAGE_MAPS, aStorageMap().spec],
  ['network map', NETWORK_MAPS, aNetworkMap().spec],
  ['hook', HOOKS, aHook().spec],
])(
  'the status of a %s is apart from its spec, and keeps what it does not know',
  async (_kind, type, spec) => {
    const status = { conditions: [{ ...condition('Ready'), more: 1 }], later: { version: [1] } };
    const metadata = { name: 'separate', namespace: NAMESPACE };
    const { object } = await admin.create(type, { metadata, spec, status } as never);
    expect(object).toMatchObject({ spec });
    expect(object).not.toHaveProperty('status');
    const changed = { ...object, spec: {}, status };
    const written = await admin.replace(type, changed, { subresource: 'status' });
    expect(written.object).toMatchObject({ spec, status });
  },
);

describe('kubectl get', () => {
  const READY = [condition('Ready')];
  const STANDING = { progress: '62%', message: 'web: in words' };
  const COLUMNS = { PROGRESS: '62%', MESSAGE: 'web: in words' };

  test.each<[string, ResourceType, object, object, object]>([
    [
      'a plan that has failed',
      PLANS,
      PLAN,
      { conditions: [...READY, condition('Failed')], migration: STANDING },
      { READY: 'True', EXECUTING: null, SUCCEEDED: null, FAILED: 'True', ...COLUMNS },
    ],
    [
      'a plan that runs',
      PLANS,
      PLAN,
      { conditions: [condition('Executing')] },
      { READY: null, EXECUTING: 'True', SUCCEEDED: null, FAILED: null, PROGRESS: null, MESSAGE: null },
    ],
    [
      'a migration that runs',
      PLAN_MIGRATIONS,
      aPlanMigration().spec,
      { conditions: [...READY, condition('Running')], ...STANDING },
      { READY: 'True', RUNNING: 'True', SUCCEEDED: null, FAILED: null, ...COLUMNS },
    ],
    [
      'a migration that has succeeded',
      PLAN_MIGRATIONS,
      aPlanMigration().spec,
      { conditions: [condition('Succeeded')] },
      { READY: null, RUNNING: null, SUCCEEDED: 'True', FAILED: null, PROGRESS: null, MESSAGE: null },
    ],
    [
      'a provider',
      PROVIDERS,
      aProvider().spec,
      {
        phase: 'Ready',
        conditions: [...READY, condition('ConnectionTestSucceeded'), condition('InventoryCreated')],
      },
      {
        TYPE: 'openshift',
        STATUS: 'Ready',
        READY: 'True',
        CONNECTED: 'True',
        INVENTORY: 'True',
        URL: 'https://source.example.com:6443',
      },
    ],
    ['a storage map', STORAGE_MAPS, aStorageMap().spec, { conditions: READY }, { READY: 'True' }],
    ['a network map', NETWORK_MAPS, aNetworkMap().spec, {}, { READY: null }],
    [
      'a hook',
      HOOKS,
      aHook().spec,
      { conditions: READY },
      { Ready: 'True', Image: 'quay.io/example/runner:1' },
    ],
  ])('%s', async (what, ...[type, spec, status, columns]) => {
    const name = what.replaceAll(' ', '-');
    const { object } = await admin.create(type, { metadata: { name, namespace: NAMESPACE }, spec } as never);
    await admin.replace(type, { ...object, status } as never, { subresource: 'status' });
    const { AGE, Age, Name, ...others } = await table(type, name);
    expect(others).toEqual(columns);
    expect([Name, AGE ?? Age]).toEqual([name, expect.stringMatching(/^\d+s$/)]);
  });
});

interface Table {
  columnDefinitions: { name: string }[];
  rows: { cells: unknown[] }[];
}

/** The table that `kubectl get` requests and prints, by column. */
async function table(type: ResourceType, name: string): Promise<Record<string, unknown>> {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const { body } = await request({ path: `${pathOf(type)}/${name}`, accept });
  const { columnDefinitions, rows } = body as unknown as Table;
  return Object.fromEntries(columnDefinitions.map((column, index) => [column.name, rows[0]?.cells[index]]));
}
