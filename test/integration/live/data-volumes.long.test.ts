import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIVE_CONDITION, LIVE_KIND, LIVE_REASON } from '../../../functions/domain/live/names.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { DATA_VOLUMES, STORAGE_CLASSES, STORAGE_MAPS } from '../../../functions/kubernetes/live-resources.ts';
import { LIMIT_RANGES } from '../../../functions/kubernetes/resources.ts';
import { POPULATED, startCdi, type Cdi } from '../../cluster/cdi.ts';
import { FULL_CLAIMS, FULL_MIGRATIONS } from '../../cluster/kubevirt/objects/objects.ts';
import type { Vm } from '../../cluster/kubevirt/objects/types.ts';
import { askUntil } from '../../support/eventually.ts';
import { conditionsOf, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';

let crossings: Crossings;
let cdi: Cdi;

beforeAll(async () => {
  crossings = await startCrossings();
  const { admin } = crossings.clusters.members.target;
  cdi = await startCdi(admin);
  const lazy = { provisioner: 'example.com/disks', volumeBindingMode: 'WaitForFirstConsumer' } as object;
  await admin.create(STORAGE_CLASSES, { metadata: { name: 'lazy' }, ...lazy });
  await admin.create(STORAGE_CLASSES, {
    metadata: { name: 'populated' },
    ...lazy,
    parameters: POPULATED,
  } as never);
});

afterAll(async () => {
  await cdi.stop();
  await crossings.stop();
});

/** Its volumes are DataVolumes, of which CDI may have removed the objects since: only the claims are needed. */
const onDataVolumes = (vm: New<Vm>): New<Vm> => {
  const { template } = vm.spec;
  const volumes = template.spec.volumes.map(({ name, persistentVolumeClaim }) =>
    persistentVolumeClaim === undefined
      ? { name }
      : { name, dataVolume: { name: persistentVolumeClaim.claimName } },
  );
  return { ...vm, spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, volumes } } } };
};

/** Of the VM `web`: "name phase owners". */
async function dataVolumesOf(crossing: Crossing): Promise<string[]> {
  const { admin, namespace } = crossing.side('target');
  const { items } = await admin.list(DATA_VOLUMES, { namespace });
  return items.map(({ metadata, status }) => {
    const owners = metadata.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`) ?? [];
    return [metadata.name, status?.phase, ...owners].join(' ');
  });
}

async function claimsOf(crossing: Crossing): Promise<string[]> {
  const { admin, namespace } = crossing.side('target');
  const { items } = await admin.list(FULL_CLAIMS, { namespace });
  return items.map(({ metadata, spec }) => `${metadata.name} ${spec.storageClassName ?? ''}`);
}

test('a quota with room for a disk, and not for the second claim while CDI fills it: said, waited for, and moved', async () => {
  await crossings.within('filled', async (crossing) => {
    await crossing.limitTarget({ 'requests.storage': '8Gi' });
    await crossing.createVm('web', { change: onDataVolumes });
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.resync('Plan');
    const { conditions = [] } = (await crossing.plan()).status ?? {};
    const said = conditions.find(({ type }) => type === LIVE_CONDITION.overQuota);
    expect(said?.items).toEqual([
      expect.stringMatching(
        /web: ResourceQuota quota lacks requests\.storage=[\d.]+Gi while CDI fills its volumes$/,
      ),
    ]);

    await crossing.createMigrationAs();
    const waiting = await crossing.until('CDI was refused', ({ status }) =>
      JSON.stringify(status).includes('exceeded quota'),
    );
    expect(JSON.stringify(waiting.status)).toContain(LIVE_REASON.volumesPending);
    await crossing.limitTarget({ 'requests.storage': '11Gi' });
    expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
    expect(await dataVolumesOf(crossing)).toEqual([`web-root Succeeded ${LIVE_KIND.vm.kind} web`]);
    expect(await claimsOf(crossing)).toEqual(['web-root gold']);
  });
});

test('what a LimitRange refuses: the plan says it, and the run has the API server’s text', async () => {
  await crossings.within('limited', async (crossing) => {
    const { admin, namespace } = crossing.side('target');
    // CDI's own pods are smaller.
    const limits = [{ type: 'Pod', max: { memory: '1Gi' } }];
    await admin.create(LIMIT_RANGES, { metadata: { namespace, name: 'core' }, spec: { limits } });
    await crossing.createVm('web', { change: onDataVolumes });
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.resync('Plan');
    const { conditions = [] } = (await crossing.plan()).status ?? {};
    const said = conditions.find(({ type }) => type === LIVE_CONDITION.limitRange);
    expect(said?.items).toEqual([
      expect.stringMatching(
        /web: LimitRange core: maximum memory usage per Pod is 1Gi, but request is [\d.]+Gi$/,
      ),
    ]);

    await crossing.createMigrationAs();
    const waiting = await crossing.until('the refusal is shown', ({ status }) =>
      JSON.stringify(status ?? {}).includes('the API server refuses the launcher on the target: pods'),
    );
    expect(JSON.stringify(waiting.status)).toContain('maximum memory usage per Pod is 1Gi');
    await admin.delete(LIMIT_RANGES, { namespace, name: 'core' });
    expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
  });
});

/** All volumes of the source. */
async function mapTo(crossing: Crossing, namespace: string, storageClass: string): Promise<void> {
  const map = [{ source: { name: 'fast' }, destination: { storageClass } }];
  await crossing.admin.patch(STORAGE_MAPS, { namespace, name: 'storage' }, { merge: { spec: { map } } });
}

test('with a class that binds at the first consumer, and no populators, CDI fills the volumes before the launcher is made', async () => {
  await crossings.within('lazy', async (crossing) => {
    await crossing.createVm('web', { disks: ['root', 'data'], change: onDataVolumes });
    await crossing.createPlan([{ name: 'web' }]);
    await mapTo(crossing, 'plans-lazy', 'lazy');
    await crossing.createMigrationAs();
    expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
    expect(await dataVolumesOf(crossing)).toEqual([
      'web-data Succeeded VirtualMachine web',
      'web-root Succeeded VirtualMachine web',
    ]);
    expect(await claimsOf(crossing)).toEqual(['web-data lazy', 'web-root lazy']);
  });
});

test('where CDI fills the volumes once the launcher is there, room for the second claim is waited for before anything is sent', async () => {
  await crossings.within('populated', async (crossing) => {
    await crossing.limitTarget({ persistentvolumeclaims: '1' });
    await crossing.createVm('web', { change: onDataVolumes });
    await crossing.createPlan([{ name: 'web' }]);
    await mapTo(crossing, 'plans-populated', 'populated');
    await crossing.createMigrationAs();
    const waiting = await crossing.until('there is no room', ({ status }) =>
      JSON.stringify(status ?? {}).includes(
        'ResourceQuota quota lacks persistentvolumeclaims=1 while CDI fills its volumes',
      ),
    );
    expect(JSON.stringify(waiting.status)).toContain(LIVE_REASON.overQuota);
    const source = crossing.side('source');
    expect((await source.admin.list(FULL_MIGRATIONS, { namespace: source.namespace })).items).toEqual([]);

    await crossing.limitTarget({ persistentvolumeclaims: '2' });
    expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
    await askUntil(
      'it is filled',
      () => dataVolumesOf(crossing),
      (found) => found.join() === 'web-root Succeeded VirtualMachine web',
    );
  });
});
