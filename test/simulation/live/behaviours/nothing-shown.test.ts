import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type {
  LiveCondition,
  NetworkMap,
  Plan,
  PlanMigration,
  Provider,
  StorageMap,
  VmStatus,
} from '../../../../functions/domain/live/forklift.ts';
import type { VirtualMachine, Volume } from '../../../../functions/domain/live/kubevirt.ts';
import { LIVE_ANNOTATION, LIVE_FINALIZER } from '../../../../functions/domain/live/names.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import type { ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import {
  DATA_VOLUMES,
  HOOKS,
  NETWORK_ATTACHMENTS,
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  SECRETS,
  STORAGE_CLASSES,
  STORAGE_MAPS,
  VIRTUAL_MACHINES,
  WHOLE_VMIS,
} from '../../../../functions/kubernetes/live-resources.ts';
import type { Right } from '../../../../functions/live/plan/rights-needed.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../../functions/kubernetes/resources.ts';
import {
  aHook,
  aHost,
  aNetworkMap,
  aPlan,
  aPlanMigration,
  aProvider,
  aStorageMap,
  aVm,
  itsVmi,
  TOM,
} from '../../../support/builders/live.ts';
import { seconds } from '../../../support/builders/object.ts';
import { ModelledRun } from '../world/modelled-run.ts';

/** The user writes objects in this namespace, where only Secrets are hidden from that user. */
const OWN = 'tenant';
/** The user has no right there. */
const THERE = 'vault';
const ASSET = { namespace: THERE, name: 'asset' };
const MALLORY = JSON.stringify({ user: 'mallory', groups: [] });
/** In everything there whose name the user does not write. */
const SECRET = 'classified';
const MAC = '52:54:00:00:00:01';

/** What the user writes. */
interface Written {
  readonly plan: Plan['spec'];
  readonly storage: StorageMap['spec'];
  readonly networks: NetworkMap['spec'];
  readonly provider: Provider['spec'];
  readonly migration: PlanMigration['spec'];
  /** VMs that an earlier run of the Plan has moved, for another user. */
  readonly moved: readonly VmStatus[];
}

const own = (name: string): { namespace: string; name: string } => ({ namespace: OWN, name });
const HERE = { source: own('here'), destination: own('here') };
const MINE = { namespace: OWN, name: 'mine' };
/** Mounts a Secret. */
const MOUNTING = { namespace: OWN, name: 'mounting' };
/** The user may only create VMs and their disks there. */
const LANDING = 'landing';

const written = (): Written => ({
  plan: {
    ...aPlan().spec,
    provider: HERE,
    map: { network: own('own'), storage: own('own') },
    targetNamespace: OWN,
    vms: [MINE],
  },
  storage: { ...aStorageMap().spec, provider: HERE },
  networks: { provider: HERE, map: [{ source: { type: 'pod' }, destination: { type: 'pod' } }] },
  provider: { type: 'openshift', url: '' },
  migration: { plan: own('own') },
  moved: [],
});

/** Each reference of each kind, to something of the other namespace. */
const REFERENCES: Readonly<Record<string, (to: Written, vm: string) => Partial<Written>>> = {
  'Plan: source': ({ plan }) => ({ plan: { ...plan, provider: { ...HERE, source: ASSET } } }),
  'Plan: destination': ({ plan }) => ({ plan: { ...plan, provider: { ...HERE, destination: ASSET } } }),
  'Plan: network map': ({ plan }) => ({ plan: { ...plan, map: { ...plan.map, network: ASSET } } }),
  'Plan: storage map': ({ plan }) => ({ plan: { ...plan, map: { ...plan.map, storage: ASSET } } }),
  'Plan: hook': ({ plan }) => ({
    plan: { ...plan, vms: plan.vms.map((vm) => ({ ...vm, hooks: [{ step: 'PreHook', hook: ASSET }] })) },
  }),
  'Plan: VM': ({ plan }) => ({ plan: { ...plan, vms: [MINE, ASSET] } }),
  'Plan: VM without a namespace': ({ plan }) => ({ plan: { ...plan, vms: [{ name: ASSET.name }] } }),
  'Plan: VM by its uid': ({ plan }, id) => ({ plan: { ...plan, vms: [{ id }] } }),
  'Plan: VM by namespace and uid': ({ plan }, id) => ({ plan: { ...plan, vms: [{ namespace: THERE, id }] } }),
  'Plan: target namespace': ({ plan }) => ({ plan: { ...plan, targetNamespace: THERE } }),
  'Plan: MAC address of its VM': () => ({}),
  'Plan: Secret that its VM mounts': ({ plan }) => ({
    plan: { ...plan, vms: [MOUNTING], targetNamespace: LANDING },
  }),
  'Plan: VM that has moved': (_to, id) => ({ moved: [{ id, ...ASSET, ...MOVED }] }),
  // Its own map, which no Plan names: a Plan's author may create claims, and so knows the classes.
  'StorageMap: storage classes': ({ plan, storage }) => ({
    plan: { ...plan, map: { ...plan.map, storage: own('another') } },
    storage: {
      ...storage,
      map: [{ source: { name: ASSET.name }, destination: { storageClass: ASSET.name } }],
    },
  }),
  'StorageMap: source': ({ storage }) => ({ storage: { ...storage, provider: { ...HERE, source: ASSET } } }),
  'StorageMap: destination': ({ storage }) => ({
    storage: { ...storage, provider: { ...HERE, destination: ASSET } },
  }),
  'NetworkMap: source': () => ({
    networks: { map: aNetworkMap().spec.map, provider: { ...HERE, source: ASSET } },
  }),
  'NetworkMap: destination': () => ({
    networks: { map: aNetworkMap().spec.map, provider: { ...HERE, destination: ASSET } },
  }),
  'NetworkMap: network of the source': ({ networks }) => ({
    networks: { ...networks, map: [{ source: ASSET, destination: { type: 'pod' } }] },
  }),
  'NetworkMap: network of the target': ({ networks }) => ({
    networks: { ...networks, map: [{ source: { type: 'pod' }, destination: { type: 'multus', ...ASSET } }] },
  }),
  'Provider: Secret': () => ({ provider: { ...aProvider('source').spec, secret: { name: SECRET_NAME } } }),
  'Migration: Plan': () => ({ migration: { plan: ASSET } }),
};
const SECRET_NAME = 'token';
const SUCCEEDED: LiveCondition = {
  ...{ type: 'Succeeded', status: 'True', category: 'Advisory', durable: true },
  lastTransitionTime: seconds(0),
};
const LEFT: LiveCondition = { ...SUCCEEDED, type: 'Failed', items: ['VirtualMachine'] };
const MOVED = {
  ...{ newName: MINE.name, phase: 'Completed', pipeline: [], conditions: [SUCCEEDED] },
  ...{ started: seconds(0), completed: seconds(1) },
};

const create = async (run: ModelledRun, type: ResourceType, object: object, by?: string): Promise<string> => {
  const { metadata, ...rest } = object as KubernetesObject;
  const annotations = by === undefined ? {} : { [LIVE_ANNOTATION.requester]: by };
  const { namespace = OWN, name } = metadata;
  const named = type.namespaced ? { namespace, name } : { name };
  const created = await run.hub.create(type, { ...rest, metadata: { ...named, annotations } });
  return created.object.metadata.uid;
};

const withMac = <T extends { readonly domain: object }>(spec: T): T => ({
  ...spec,
  domain: { ...spec.domain, devices: { interfaces: [{ name: 'default', macAddress: MAC }] } },
});

const withVolumes =
  (volumes: Volume[]) =>
  ({ spec: { template, ...spec }, ...vm }: VirtualMachine): VirtualMachine => ({
    ...vm,
    spec: { ...spec, template: { ...template, spec: { ...template.spec, volumes } } },
  });

const vmAt = (metadata: { namespace: string; name: string }, disk: string): object => {
  const vm = aVm(withVolumes([{ name: disk, dataVolume: { name: disk } }]));
  const spec = withMac(vm.spec.template.spec);
  return { ...vm, metadata, spec: { ...vm.spec, template: { ...vm.spec.template, spec } } };
};

const THINGS: readonly (readonly [ResourceType, object])[] = [
  [PROVIDERS, { ...aHost(), metadata: ASSET }],
  [
    STORAGE_MAPS,
    {
      ...aStorageMap(),
      metadata: ASSET,
      spec: {
        provider: { source: ASSET, destination: ASSET },
        map: [{ source: { name: 'fast' }, destination: { storageClass: `${SECRET}-class` } }],
      },
    },
  ],
  [NETWORK_MAPS, { ...aNetworkMap(), metadata: ASSET }],
  [HOOKS, { ...aHook(), metadata: ASSET, spec: {} }],
  [PLANS, { ...aPlan(), metadata: ASSET, spec: { ...aPlan().spec, archived: true } }],
  [VIRTUAL_MACHINES, vmAt(ASSET, `${SECRET}-disk`)],
  [VIRTUAL_MACHINES, vmAt({ ...MINE, namespace: THERE }, `${SECRET}-disk`)],
  [WHOLE_VMIS, { ...itsVmi(), metadata: ASSET }],
  [STORAGE_CLASSES, { metadata: { name: ASSET.name } }],
  [NETWORK_ATTACHMENTS, { metadata: ASSET }],
  [RESOURCE_QUOTAS, { metadata: { ...ASSET, name: `${SECRET}-quota` }, spec: { hard: { pods: '0' } } }],
  [SECRETS, { metadata: { namespace: OWN, name: SECRET_NAME }, data: { token: SECRET } }],
];

/** The hub with what is there, or as if it had never been. */
async function hubWith(isThere: boolean): Promise<{ run: ModelledRun; vm: string }> {
  const run = await ModelledRun.prepareReady();
  const vm = await fill(run, isThere);
  await create(run, PROVIDERS, aHost('here'), TOM);
  await create(run, VIRTUAL_MACHINES, vmAt(MINE, 'root'));
  const secret = { name: 'secret', secret: { secretName: SECRET_NAME } };
  await create(run, VIRTUAL_MACHINES, { ...aVm(withVolumes([secret])), metadata: MOUNTING });
  const vmi = itsVmi();
  await create(run, WHOLE_VMIS, { ...vmi, metadata: MINE, spec: withMac(vmi.spec) });
  return { run, vm };
}

/** Creates what is there, and deletes it where it is not: the same uids are given. Returns that of the VM. */
async function fill(run: ModelledRun, isThere: boolean): Promise<string> {
  for (const name of [THERE, LANDING]) await create(run, NAMESPACES, { metadata: { name } });
  run.models.hub.server.caches.namespaces.catchUpAll();
  const uids: string[] = [];
  for (const [type, thing] of THINGS) uids.push(await create(run, type, thing, TOM));
  const vm = uids[THINGS.findIndex(([type]) => type === VIRTUAL_MACHINES)] ?? '';
  if (isThere) return vm;
  for (const [type, thing] of THINGS) {
    const { namespace, name } = (thing as KubernetesObject).metadata;
    await run.hub.delete(type, namespace === undefined ? { name } : { namespace, name });
  }
  return vm;
}

/** The user may do everything in the own namespace but read Secrets, and nothing in all namespaces. */
const isForbidden = ({ namespace, resource, verb }: Right, user: string): boolean => {
  if (user !== 'mallory') return false;
  if (namespace === LANDING) return verb !== 'create' || !DISKS_AND_VMS.includes(resource);
  return namespace !== OWN || resource === 'secrets';
};
const DISKS_AND_VMS = ['virtualmachines', 'datavolumes', 'persistentvolumeclaims'];

interface Shown {
  /** The statuses of all Forklift's objects in the user's namespace, by kind and name. */
  readonly statuses: Readonly<Record<string, unknown>>;
  /** What was written there. */
  readonly writes: readonly string[];
}

/** What the statuses tell, and what is written there, once all events have come. */
async function shownBy(fields: readonly string[], { isThere, isAllowed }: Case): Promise<Shown> {
  const { run, vm } = await hubWith(isThere);
  if (!isAllowed) run.forbids = isForbidden;
  const all = fields.reduce<Written>((to, name) => ({ ...to, ...REFERENCES[name]?.(to, vm) }), written());
  const writes = writesThere(run);
  const object = { metadata: own('own') };
  await create(run, STORAGE_MAPS, { ...aStorageMap(), ...object, spec: all.storage }, MALLORY);
  await create(run, NETWORK_MAPS, { ...aNetworkMap(), ...object, spec: all.networks }, MALLORY);
  await create(run, PROVIDERS, { ...aProvider(), ...object, spec: all.provider }, MALLORY);
  await create(run, PLANS, { ...aPlan(), ...object, spec: all.plan }, MALLORY);
  const merge = { status: { migration: { vms: all.moved } } };
  if (all.moved.length > 0) await run.hub.patch(PLANS, own('own'), { merge, subresource: 'status' });
  await create(run, PLAN_MIGRATIONS, { ...aPlanMigration(), ...object, spec: all.migration }, MALLORY);
  for (const kind of ['StorageMap', 'NetworkMap', 'Provider', 'Plan', 'Migration'] as const)
    await run.changed(kind, 'own');
  await run.changed('Provider', 'here');
  await run.resync('Plan', 'own');
  await run.resync('Migration', 'own');
  const statuses = await statusesOf(run, PLANS, PLAN_MIGRATIONS, PROVIDERS, STORAGE_MAPS, NETWORK_MAPS);
  return { statuses, writes };
}

/** Returns the list of what is written there from now on. */
function writesThere({ models }: ModelledRun): readonly string[] {
  const writes: string[] = [];
  models.hub.store.onChange(({ type, kind, object: { metadata } }) => {
    if (metadata.namespace === THERE || metadata.name === SECRET_NAME)
      writes.push(`${type} ${kind} ${metadata.name}`);
  });
  return writes;
}

/** What the statuses tell, and what a run of another user makes, once the user has edited its Plan. */
async function shownByEdit(name: string, { isThere, isAllowed }: Case): Promise<Shown & { made: unknown }> {
  const run = await ModelledRun.start();
  const vm = await fill(run, isThere);
  const { spec } = await run.plan();
  const edit = REFERENCES[name]?.({ ...written(), plan: spec }, vm);
  if (!isAllowed) run.forbids = isForbidden;
  const writes = writesThere(run);
  const annotations = { [LIVE_ANNOTATION.requester]: MALLORY };
  await run.patchPlan({ metadata: { annotations }, spec: edit?.plan ?? {} });
  await run.changed('Plan');
  await run.resync();
  await run.resync('Plan');
  const made = await run.models.destination.admin.list(DATA_VOLUMES, { namespace: 'target' });
  return { statuses: await statusesOf(run, PLANS, PLAN_MIGRATIONS), writes, made: made.items };
}

interface Case {
  readonly isThere: boolean;
  readonly isAllowed: boolean;
}

async function statusesOf(
  { hub }: ModelledRun,
  ...kinds: readonly ResourceType[]
): Promise<Record<string, unknown>> {
  const lists = await Promise.all(kinds.map((type) => hub.list(type, { namespace: OWN })));
  return Object.fromEntries(
    lists.flatMap(({ items }, index) =>
      items.map((object) => [
        `${kinds[index]?.kind ?? ''} ${object.metadata.name}`,
        (object as { readonly status?: unknown }).status,
      ]),
    ),
  );
}

const NAMES = Object.keys(REFERENCES);
const OF_PLANS = NAMES.filter((name) => name.startsWith('Plan: '));

describe('a reference into a namespace where its writer has no rights', () => {
  test.each(NAMES)('tells nothing, and nothing is written there: %s', async (name) => {
    const [present, without] = await Promise.all(
      [true, false].map((isThere) => shownBy([name], { isThere, isAllowed: false })),
    );
    expect(present?.statuses).toEqual(without?.statuses);
    expect(JSON.stringify(present?.statuses)).not.toContain(SECRET);
    expect(present?.writes).toEqual([]);
  });

  test.each(NAMES)(
    'tells what is there to a user with all rights, and only a Provider’s status is written: %s',
    async (name) => {
      const [present, without] = await Promise.all(
        [true, false].map((isThere) => shownBy([name], { isThere, isAllowed: true })),
      );
      expect(present?.statuses).not.toEqual(without?.statuses);
      expect([...new Set(present?.writes)]).toEqual(
        ['Plan: source', 'Plan: destination'].includes(name) ? ['MODIFIED Provider asset'] : [],
      );
    },
  );

  test.each(OF_PLANS)('tells nothing, and nothing is made by it, in a Plan that runs: %s', async (name) => {
    const [present, without] = await Promise.all(
      [true, false].map((isThere) => shownByEdit(name, { isThere, isAllowed: false })),
    );
    expect(present).toEqual(without);
    expect(JSON.stringify(present)).not.toContain(SECRET);
    expect(present?.writes).toEqual([]);
  });

  test.each(['Plan: network map', 'Plan: storage map', 'Plan: hook'])(
    'is applied by a user with all rights, in a Plan that runs: %s',
    async (name) => {
      const [present, without] = await Promise.all(
        [true, false].map((isThere) => shownByEdit(name, { isThere, isAllowed: true })),
      );
      expect(present).not.toEqual(without);
    },
  );

  test('tells nothing, whichever others it comes with', async () => {
    const some = fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(some, async (names) => {
        const present = await shownBy(names, { isThere: true, isAllowed: false });
        const without = await shownBy(names, { isThere: false, isAllowed: false });
        expect(present.statuses).toEqual(without.statuses);
        expect(JSON.stringify(present.statuses)).not.toContain(SECRET);
        expect(present.writes).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a Migration that waits for one of the same Plan in another namespace', () => {
  const STARTED = { started: seconds(0) };

  test.each<[string, PlanMigration['status']]>([
    ['that is about to begin', {}],
    ['that runs', STARTED],
    [
      'that leaves something over',
      { ...STARTED, completed: seconds(1), vms: [{ ...MINE, ...MOVED, conditions: [LEFT] }] },
    ],
  ])('does not name one %s', async (_what, status) => {
    const { run } = await hubWith(true);
    await create(run, PLANS, { ...aPlan(), metadata: own('own'), spec: written().plan }, MALLORY);
    const at = { namespace: THERE, name: `${SECRET}-run` };
    const spec = { plan: own('own') };
    await create(run, PLAN_MIGRATIONS, { metadata: at, spec }, TOM);
    const merge = { metadata: { finalizers: [LIVE_FINALIZER] } };
    await run.hub.patch(PLAN_MIGRATIONS, at, { merge });
    await run.hub.patch(PLAN_MIGRATIONS, at, { merge: { status }, subresource: 'status' });
    await create(run, PLAN_MIGRATIONS, { metadata: own('waits'), spec }, MALLORY);
    run.forbids = isForbidden;
    await run.changed('Migration', 'waits');
    const { object } = await run.hub.get(PLAN_MIGRATIONS, own('waits'));
    const said = JSON.stringify(object.status);
    expect(said).toContain('a Migration of another namespace');
    expect(said).not.toContain(SECRET);
  });
});
