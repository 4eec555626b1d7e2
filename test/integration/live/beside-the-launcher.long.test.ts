import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIVE_REASON } from '../../../functions/domain/live/names.ts';
import type { ResourceList } from '../../../functions/domain/objects.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { FULL_MIGRATIONS } from '../../cluster/kubevirt/objects/objects.ts';
import type { Vm } from '../../cluster/kubevirt/objects/types.ts';
import { conditionsOf, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';

let crossings: Crossings;

beforeAll(async () => {
  crossings = await startCrossings();
});

afterAll(async () => {
  await crossings.stop();
});

/** With a second disk that was plugged in, by virtctl addvolume --persist. */
const createHotplugged = (crossing: Crossing): Promise<void> =>
  crossing.createVm('web', { disks: ['root', 'data'], change: hotplugged });

const hotplugged = (vm: New<Vm>): New<Vm> => {
  const { template } = vm.spec;
  const volumes = template.spec.volumes.map((volume, index) =>
    index === 0 || volume.persistentVolumeClaim === undefined
      ? volume
      : { ...volume, persistentVolumeClaim: { ...volume.persistentVolumeClaim, hotpluggable: true } },
  );
  return { ...vm, spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, volumes } } } };
};

/** With a TPM whose state KubeVirt keeps on a claim of its own. */
const createWithTpm = (crossing: Crossing): Promise<void> => crossing.createVm('web', { change: withTpm });

const withTpm = (vm: New<Vm>): New<Vm> => {
  const { template } = vm.spec;
  const { domain } = template.spec;
  const devices = { ...domain.devices, tpm: { persistent: true } };
  const spec = { ...template.spec, domain: { ...domain, devices } };
  return { ...vm, spec: { ...vm.spec, template: { ...template, spec } } };
};

test.each<{
  what: string;
  name: string;
  create: (crossing: Crossing) => Promise<void>;
  hard: (count: string) => ResourceList;
}>([
  {
    what: 'a pod that attaches a hotplugged disk',
    name: 'hotplugged',
    create: createHotplugged,
    hard: (pods) => ({ pods }),
  },
  {
    what: 'a claim that keeps the state of its TPM',
    name: 'tpm',
    create: createWithTpm,
    hard: (persistentvolumeclaims) => ({ persistentvolumeclaims }),
  },
])(
  '$what needs room beside the launcher and the disk, before anything is sent',
  async ({ name, create, hard }) => {
    await crossings.within(name, async (crossing) => {
      await crossing.limitTarget(hard('1'));
      await create(crossing);
      await crossing.createPlan([{ name: 'web' }]);
      await crossing.createMigrationAs();
      const [key] = Object.keys(hard('1'));
      const waiting = await crossing.until('there is no room', ({ status }) =>
        JSON.stringify(status ?? {}).includes(
          `the VM does not fit on the target: ResourceQuota quota lacks ${key ?? ''}=1`,
        ),
      );
      expect(JSON.stringify(waiting.status)).toContain(LIVE_REASON.overQuota);
      const source = crossing.side('source');
      expect((await source.admin.list(FULL_MIGRATIONS, { namespace: source.namespace })).items).toEqual([]);

      await crossing.limitTarget(hard('2'));
      expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
    });
  },
);
