import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIVE_CONDITION } from '../../../functions/domain/live/names.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { DATA_VOLUMES, VIRTUAL_MACHINES } from '../../../functions/kubernetes/live-resources.ts';
import type { VirtualMachine } from '../../../functions/domain/live/kubevirt.ts';
import { startCdi, type Cdi } from '../../cluster/cdi.ts';
import { FULL_VMIS, VMS } from '../../cluster/kubevirt/objects/objects.ts';
import type { Vm } from '../../cluster/kubevirt/objects/types.ts';
import { conditionsOf, type Crossing } from '../../support/live/crossing.ts';
import { startCrossings, type Crossings } from '../../support/live/crossings.ts';
import { untilMoved } from '../../support/live/seen.ts';

let crossings: Crossings;
let cdi: Cdi;

beforeAll(async () => {
  crossings = await startCrossings();
  cdi = await startCdi(crossings.clusters.members.target.admin);
});

afterAll(async () => {
  await cdi.stop();
  await crossings.stop();
});

const KEPT = {
  devices: { tpm: { persistent: true } },
  firmware: { bootloader: { efi: { persistent: true } } },
};

/** Its TPM and its EFI variables outlive a stop. */
function withKeptState(vm: New<Vm>): New<Vm> {
  const { template } = vm.spec;
  const { domain } = template.spec;
  const { firmware = {} } = domain as { firmware?: object };
  const kept = {
    ...domain,
    devices: { ...domain.devices, ...KEPT.devices },
    firmware: { ...firmware, ...KEPT.firmware },
  };
  const spec = { ...template.spec, domain: kept };
  return { ...vm, spec: { ...vm.spec, template: { ...template, spec } } };
}

/** Its disk comes from a template of a DataVolume. */
function withTemplates(vm: New<Vm>): New<Vm> {
  const { template } = vm.spec;
  const volumes = template.spec.volumes.map(({ name }) => ({ name, dataVolume: { name } }));
  const dataVolumeTemplates = volumes.map(({ name }) => ({
    metadata: { name },
    spec: { source: { blank: {} }, storage: { resources: { requests: { storage: '5Gi' } } } },
  }));
  const spec = {
    ...vm.spec,
    dataVolumeTemplates,
    template: { ...template, spec: { ...template.spec, volumes } },
  };
  return { ...vm, spec };
}

async function vmOn(crossing: Crossing, side: 'source' | 'target'): Promise<VirtualMachine> {
  const { admin, namespace } = crossing.side(side);
  return (await admin.get(VIRTUAL_MACHINES, { namespace, name: 'web' })).object;
}

/** Moves VM `web`, and resolves with it on the target. */
async function moved(crossing: Crossing, change: (vm: New<Vm>) => New<Vm>): Promise<VirtualMachine> {
  await crossing.createVm('web', { change });
  await crossing.createPlan([{ name: 'web' }]);
  await crossing.createMigrationAs();
  expect(conditionsOf(await crossing.untilEnded())).toContain('Succeeded');
  await untilMoved(crossing);
  return vmOn(crossing, 'target');
}

test('a VM whose TPM and EFI variables are kept has both on the target, and the firmware that its guest knows', async () => {
  await crossings.within('kept', async (crossing) => {
    const { spec } = await moved(crossing, withKeptState);
    const { devices, firmware } = spec.template.spec.domain;
    expect({ devices, firmware }).toMatchObject(KEPT);
    const { object } = await crossing.side('target').admin.get(FULL_VMIS, {
      namespace: crossing.side('target').namespace,
      name: 'web',
    });
    const before = (await vmOn(crossing, 'source')).spec.template.spec.domain.firmware;
    expect(before?.uuid).toBeDefined();
    expect(object.spec.domain['firmware']).toMatchObject({ ...KEPT.firmware, ...before });
  });
});

test('a VM with dataVolumeTemplates has its disk on the target, and no template that would make another one', async () => {
  await crossings.within('templates', async (crossing) => {
    const { spec } = await moved(crossing, withTemplates);
    expect(spec.dataVolumeTemplates).toBeUndefined();
    expect((await vmOn(crossing, 'source')).spec.dataVolumeTemplates).toHaveLength(1);
    const { admin, namespace } = crossing.side('target');
    const { items } = await admin.list(DATA_VOLUMES, { namespace });
    expect(items).toMatchObject([
      {
        metadata: { name: 'web-root', ownerReferences: [{ kind: 'VirtualMachine', name: 'web' }] },
        status: { phase: 'Succeeded' },
      },
    ]);
  });
});

test('a VM that got a TPM after its start is refused until that is undone', async () => {
  await crossings.within('changed', async (crossing) => {
    await crossing.createVm('web');
    await crossing.createPlan([{ name: 'web' }]);
    const { admin, namespace } = crossing.side('source');
    const set = (tpm: object | null): Promise<unknown> => {
      const merge = { spec: { template: { spec: { domain: { devices: { tpm } } } } } };
      return admin.patch(VMS, { namespace, name: 'web' }, { merge });
    };
    await set(KEPT.devices.tpm);
    await crossing.resync('Plan');
    const { conditions = [] } = (await crossing.plan()).status ?? {};
    expect(conditionsOf(await crossing.plan())).not.toContain('Ready');
    expect(conditions.find(({ type }) => type === LIVE_CONDITION.vmRestartRequired)?.items).toEqual([
      expect.stringMatching(
        /web: domain\.devices\.tpm\.persistent is not as it runs: restart the VM while no run moves it$/,
      ),
    ]);
    await set(null);
    await crossing.resync('Plan');
    expect(conditionsOf(await crossing.plan())).toContain('Ready');
  });
});
