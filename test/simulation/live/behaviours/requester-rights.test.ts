import { describe, expect, test } from '@jest/globals';
import { rawText } from '../../../support/raw-text.ts';
import type { Plan, StorageMap } from '../../../../functions/domain/live/forklift.ts';
import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import type { ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import {
  DATA_VOLUMES,
  HOOKS,
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  REVIEWS,
  STORAGE_CLASSES,
  STORAGE_MAPS,
} from '../../../../functions/kubernetes/live-resources.ts';
import { KUBEVIRTS } from '../../../../functions/kubernetes/resources.ts';
import { aHook, aNetworkMap, aPlan, aStorageMap, TOM } from '../../../support/builders/live.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';

const at = (name: string): { namespace: string; name: string } => ({ namespace: 'tenant', name });
const REFUSED = ['NotAllowed Forbidden'];

const mapOf = async ({ hub }: ModelledRun): Promise<string[]> =>
  conditionsOf((await hub.get(STORAGE_MAPS, at('storage'))).object.status);

/** A plan that is Ready once it is looked at, without a Migration. */
async function prepareIdle(): Promise<ModelledRun> {
  const run = await ModelledRun.prepareReady();
  await run.hub.delete(PLAN_MIGRATIONS, at('migration'));
  return run;
}

const planOf = async (run: ModelledRun): Promise<string[]> => {
  await run.resync('Plan');
  return conditionsOf((await run.plan()).status);
};

const shownBy = ({ status }: Plan): string[] =>
  (status?.conditions ?? []).map(({ message, suggestion }) => `${rawText(message)} ${rawText(suggestion)}`);

describe('a plan whose requester loses a right', () => {
  test('says which, shows nothing that it showed before, and is Ready again once the user has it', async () => {
    const run = await prepareIdle();
    await run.patchPlan({ spec: { vms: [{ namespace: 'vms', name: 'gone' }] } });
    expect(await planOf(run)).toEqual(['VMNotFound NotFound']);
    run.forbids = ({ verb, name }) => verb === 'use' && name !== 'destination';
    const before = run.requests.length;
    expect(await planOf(run)).toEqual(REFUSED);
    expect(shownBy(await run.plan())).toEqual([
      'User "tom" cannot use providers.forklift.konveyor.io/source in namespace tenant. ' +
        'Give the user these rights, and create it again; or let a user who has them do that.',
    ]);
    expect(run.requests.slice(before)).toEqual([]);
    run.forbids = () => false;
    await run.patchPlan({ spec: { vms: [{ namespace: 'vms', name: 'web' }] } });
    expect(await planOf(run)).toEqual(['Ready']);
  });

  test('begins no run', async () => {
    const run = await ModelledRun.prepareReady();
    run.forbids = ({ verb, resource }) => verb === 'get' && resource === 'storagemaps';
    await run.resync();
    expect(conditionsOf((await run.migration()).status)).toEqual(['PlanNotReady NotFound']);
    expect(conditionsOf((await run.plan()).status)).toEqual(REFUSED);
    expect(await run.held()).toEqual([]);
    expect(await run.isRecorded()).toBe(false);
  });
});

test('a plan that is older than the guard’s webhook says to create it again: anybody may have written its user', async () => {
  const run = await prepareIdle();
  run.wait(60);
  await run.hub.delete(REVIEWS.type, REVIEWS.at);
  await run.hub.create(REVIEWS.type, { metadata: REVIEWS.at });
  expect(await planOf(run)).toEqual(REFUSED);
  expect(shownBy(await run.plan())).toEqual([
    'The guard has not recorded the user who wrote this object. ' +
      'Create it again while the guard reviews live migrations (config/components/live-migration).',
  ]);
});

describe('VMs of the plan’s own cluster', () => {
  async function fromHere(vms: Plan['spec']['vms']): Promise<ModelledRun> {
    const run = await prepareIdle();
    await run.hub.patch(PROVIDERS, at('source'), { merge: { spec: { url: '', secret: null } } });
    await run.patchPlan({ spec: { vms } });
    return run;
  }

  test('without a namespace are searched where their requester may list all, else the plan says to name it', async () => {
    const run = await fromHere([{ name: 'web' }]);
    expect(await planOf(run)).toContain('VMNotFound NotFound');
    run.forbids = ({ verb, namespace }) => verb === 'list' && namespace === '';
    expect(await planOf(run)).toEqual(REFUSED);
    expect(shownBy(await run.plan())).toEqual([
      'User "tom" cannot list virtualmachines.kubevirt.io in all namespaces. ' +
        'Name the namespace of each VM, or give the user these rights.',
    ]);
  });

  test('with their names need no right to list', async () => {
    const run = await fromHere([{ namespace: 'vms', name: 'web' }]);
    run.forbids = ({ verb }) => verb === 'list';
    expect(await planOf(run)).toContain('VMNotFound NotFound');
  });
});

describe('a Migration whose requester may do nothing in the target namespace', () => {
  /** The hub is the target, and the plan is Ready. */
  async function refusalIn(targetNamespace: string): Promise<string> {
    const run = await ModelledRun.prepareReady();
    const where = { namespace: 'vms', name: 'kubevirt' };
    const { object: kubevirt } = await run.models.destination.admin.get(KUBEVIRTS, where);
    await run.hub.create(KUBEVIRTS, { ...kubevirt, metadata: where });
    const merge = { status: kubevirt.status };
    await run.hub.patch(KUBEVIRTS, where, { merge, subresource: 'status' });
    for (const one of ['fast', 'gold']) await run.hub.create(STORAGE_CLASSES, { metadata: { name: one } });
    await run.hub.patch(PROVIDERS, at('destination'), { merge: { spec: { url: '', secret: null } } });
    await run.patchPlan({ spec: { targetNamespace } });
    const requester = JSON.stringify({ user: 'mallory', groups: [] });
    await run.patchMigration({ metadata: { annotations: { [LIVE_ANNOTATION.requester]: requester } } });
    run.forbids = ({ namespace: of }, user) => user === 'mallory' && of !== 'tenant';
    await run.resync();
    expect(conditionsOf((await run.plan()).status)).toEqual(['Ready']);
    const { status } = await run.migration();
    expect(conditionsOf(status)).toEqual(REFUSED);
    return rawText(status?.conditions?.[0]?.message).replaceAll(targetNamespace, 'NAMESPACE');
  }

  test('sees the same whether there is one', async () => {
    expect(await refusalIn('target')).toBe(await refusalIn('absent'));
  });
});

describe('a plan that is edited during its run by a user who may not read what it names then', () => {
  const ASSET = { namespace: 'vms', name: 'asset' };
  const MALLORY = JSON.stringify({ user: 'mallory', groups: [] });
  const EDITS: readonly (readonly [string, ResourceType, object, Partial<Plan['spec']>])[] = [
    [
      'a storage map',
      STORAGE_MAPS,
      aStorageMap((map) => ({
        ...map,
        spec: { ...map.spec, map: [{ source: { name: 'fast' }, destination: { storageClass: 'other' } }] },
      })),
      { map: { network: at('networks'), storage: ASSET } },
    ],
    ['a network map', NETWORK_MAPS, aNetworkMap(), { map: { network: ASSET, storage: at('storage') } }],
    [
      'a hook',
      HOOKS,
      aHook(),
      { vms: [{ namespace: 'vms', name: 'web', hooks: [{ step: 'PreHook', hook: ASSET }] }] },
    ],
  ];

  const waitOf = async (run: ModelledRun): Promise<string> => {
    const [vm] = (await run.migration()).status?.vms ?? [];
    return (vm?.conditions ?? [])
      .map(({ reason, message }) => `${rawText(reason)} ${rawText(message)}`)
      .join();
  };

  async function edited(type: ResourceType, object: object | undefined, spec: object): Promise<ModelledRun> {
    const run = await ModelledRun.start();
    const { spec: content } = (object ?? {}) as StorageMap;
    if (object !== undefined) await run.hub.create(type, { metadata: ASSET, spec: content } as never);
    await run.patchPlan({ metadata: { annotations: { [LIVE_ANNOTATION.requester]: MALLORY } }, spec });
    run.forbids = ({ namespace }, user) => user === 'mallory' && namespace === ASSET.namespace;
    await run.resync();
    return run;
  }

  test.each(EDITS)(
    'is not applied, and says the same whether there is one: %s',
    async (_what, type, object, spec) => {
      const present = await edited(type, object, spec);
      const without = await edited(type, undefined, spec);
      expect(await waitOf(present)).toBe(await waitOf(without));
      expect(await waitOf(present)).toMatch(
        /^Refused the Plan was edited during its run, so its maps and Hooks are not read\. User "mallory" cannot get /,
      );
      expect(await madeBy(present)).toEqual([]);
    },
  );

  test.each(EDITS)(
    'goes on once a user with the rights has corrected it: %s',
    async (_what, type, object, spec) => {
      const run = await edited(type, object, spec);
      const { map, vms } = aPlan().spec;
      const tom = { [LIVE_ANNOTATION.requester]: TOM };
      await run.patchPlan({ metadata: { annotations: tom }, spec: { map, vms } });
      await run.resync();
      expect(await madeBy(run)).toEqual(['gold']);
    },
  );

  test('ends its run where nobody corrects it', async () => {
    const [[, type, object, spec]] = EDITS as [(typeof EDITS)[number]];
    const run = await edited(type, object, spec);
    run.wait(15 * 60);
    await run.resync();
    const [vm] = (await run.migration()).status?.vms ?? [];
    expect(conditionsOf(vm)).toEqual(['Failed Refused']);
  });

  test('can be canceled', async () => {
    const [[, type, object, spec]] = EDITS as [(typeof EDITS)[number]];
    const run = await edited(type, object, spec);
    await run.patchMigration({ spec: { cancel: [{ name: 'web' }] } });
    await run.resync();
    const [vm] = (await run.migration()).status?.vms ?? [];
    expect(conditionsOf(vm)).toEqual(['Canceled UserRequested']);
  });

  /** Storage classes of the DataVolumes on the target. */
  const madeBy = async ({ models }: ModelledRun): Promise<unknown[]> => {
    const { items } = await models.destination.admin.list(DATA_VOLUMES, { namespace: 'target' });
    return items.map((one) => one.spec.storage.storageClassName);
  };
});

test('200 VMs without a namespace are one list of VMs', async () => {
  const run = await prepareIdle();
  const vms = Array.from({ length: 200 }, (_, index) => ({ name: `vm-${String(index)}` }));
  await run.patchPlan({ spec: { vms } });
  await planOf(run);
  const isOfVms = (request: string): boolean => request.endsWith(' VirtualMachine on source');
  expect(run.requests.filter(isOfVms)).toEqual(['list VirtualMachine on source']);
});

describe('a Provider whose requester may not read its Secret', () => {
  test('is asked nothing, for itself, for a map or for a plan; its user has the right later', async () => {
    const run = await prepareIdle();
    run.forbids = ({ resource, name }) => resource === 'secrets' && name === 'source';
    const toSource = (): string[] => run.requests.filter((request) => request.endsWith('on source'));
    await run.changed('Provider', 'source');
    const refused = (await run.provider('source')).status;
    expect(refused).toEqual({ phase: 'ValidationFailed', conditions: refused?.conditions });
    expect(conditionsOf(refused)).toEqual(REFUSED);
    await run.changed('StorageMap', 'storage');
    await run.changed('NetworkMap', 'networks');
    expect(await planOf(run)).toEqual(['SourceProviderNotReady']);
    expect(toSource()).toEqual([]);
    run.forbids = () => false;
    await run.changed('Provider', 'source');
    expect((await run.provider('source')).status?.phase).toBe('Ready');
  });
});

describe('a map', () => {
  test('has its status by its own events alone', async () => {
    const run = await prepareIdle();
    expect(await planOf(run)).toEqual(['Ready']);
    expect(await mapOf(run)).toEqual([]);
    await run.changed('StorageMap', 'storage');
    expect(await mapOf(run)).toEqual(['Ready']);
  });

  test('is checked again when one of its Providers changes', async () => {
    const run = await prepareIdle();
    await run.changed('StorageMap', 'storage');
    await run.models.destination.admin.delete(STORAGE_CLASSES, { name: 'gold' });
    const merge = { spec: { settings: { allowOverQuota: 'true' } } };
    await run.hub.patch(PROVIDERS, at('destination'), { merge });
    await run.changed('Provider', 'destination');
    expect(await mapOf(run)).toEqual(['DestinationStorageNotValid NotFound']);
  });

  test('keeps a plan from being Ready by its content, whatever its own status says', async () => {
    const run = await prepareIdle();
    await run.changed('StorageMap', 'storage');
    await run.models.destination.admin.delete(STORAGE_CLASSES, { name: 'gold' });
    expect(await planOf(run)).toEqual(['StorageMapNotReady NotValid']);
    expect(await mapOf(run)).toEqual(['Ready']);
  });

  test('is Ready where its requester may not know the storage classes of the hub', async () => {
    const run = await prepareIdle();
    await run.hub.patch(PROVIDERS, at('destination'), { merge: { spec: { url: '', secret: null } } });
    run.forbids = ({ resource }) => resource === 'storageclasses';
    await run.changed('StorageMap', 'storage');
    expect(await mapOf(run)).toEqual(['Ready']);
    run.forbids = () => false;
    await run.hub.patch(STORAGE_MAPS, at('storage'), {
      merge: { metadata: { annotations: { [LIVE_ANNOTATION.refresh]: 'now' } } },
    });
    await run.changed('StorageMap', 'storage');
    expect(await mapOf(run)).toEqual(['DestinationStorageNotValid NotFound']);
  });

  test('whose requester lacks a right is checked again after any write to it', async () => {
    const run = await prepareIdle();
    run.forbids = ({ verb }) => verb === 'use';
    await run.changed('NetworkMap', 'networks');
    const status = async (): Promise<string[]> =>
      conditionsOf((await run.hub.get(NETWORK_MAPS, at('networks'))).object.status);
    expect(await status()).toEqual(REFUSED);
    run.forbids = () => false;
    await run.hub.patch(NETWORK_MAPS, at('networks'), { merge: { metadata: { labels: { again: 'true' } } } });
    await run.changed('NetworkMap', 'networks');
    expect(await status()).toEqual(['Ready']);
  });
});

test('a plan whose VMs have moved keeps the known amounts where its requester may not see them any more', async () => {
  const run = await prepareIdle();
  const condition = { status: 'True', category: 'Advisory', lastTransitionTime: '2026-11-21T05:00:00Z' };
  const over = { ...condition, type: 'RestartWouldBeRefused', message: 'as it was' };
  const succeeded = { ...condition, type: 'Succeeded', durable: true };
  const vms = [{ name: 'web', phase: 'Completed', pipeline: [], conditions: [over, succeeded] }];
  const status = {
    conditions: [succeeded],
    migration: { vms },
  };
  await run.hub.patch(PLANS, at('plan'), { merge: { status }, subresource: 'status' });
  run.forbids = ({ verb }) => verb === 'use';
  await run.resync('Plan');
  expect((await run.plan()).status?.migration?.vms).toEqual(vms);
  run.forbids = () => false;
  await run.resync('Plan');
  expect((await run.plan()).status?.migration?.vms?.[0]?.conditions).toEqual([succeeded]);
});
