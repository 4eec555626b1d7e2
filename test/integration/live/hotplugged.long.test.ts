import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIVE_REASON } from '../../../functions/domain/live/names.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { FULL_MIGRATIONS } from '../../cluster/kubevirt/objects.ts';
import type { Vm } from '../../cluster/kubevirt/types.ts';
import { conditionsOf } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

/** Its second disk was plugged in, with virtctl addvolume --persist. */
const hotplugged = (vm: New<Vm>): New<Vm> => {
  const { template } = vm.spec;
  const volumes = template.spec.volumes.map((volume, index) =>
    index === 0 || volume.persistentVolumeClaim === undefined
      ? volume
      : { ...volume, persistentVolumeClaim: { ...volume.persistentVolumeClaim, hotpluggable: true } },
  );
  return { ...vm, spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, volumes } } } };
};

test('a VM with a hotplugged disk needs room for a second pod, before anything is sent', async () => {
  await crossings.within('hotplugged', async (crossing) => {
    await crossing.limitTarget({ pods: '1' });
    await crossing.createVm('web', { disks: ['root', 'data'], change: hotplugged });
    await crossing.createPlan([{ name: 'web' }]);
    await crossing.createMigrationAs();
    const waiting = await crossing.until('there is no room', ({ status }) =>
      JSON.stringify(status ?? {}).includes('ResourceQuota quota lacks pods=1'),
    );
    expect(JSON.stringify(waiting.status)).toContain(LIVE_REASON.overQuota);
    const source = crossing.side('source');
    expect((await source.admin.list(FULL_MIGRATIONS, { namespace: source.namespace })).items).toEqual([]);

    await crossing.limitTarget({ pods: '2' });
    expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
  });
});
