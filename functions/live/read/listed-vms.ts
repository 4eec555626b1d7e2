import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_LABEL } from '../../domain/live/names.ts';
import type { ListedType } from '../../kubernetes/cluster.ts';
import { VIRTUAL_MACHINES } from '../../kubernetes/live-resources.ts';
import { PARSED } from '../../kubernetes/trim.ts';

/** Approximate bytes of the identity of a VM. */
const NAMED_BYTES = 500;

/** Returns the VM's identity with the labels that are read: all of them may be as long as a request. */
function identityOf({ metadata }: VirtualMachine): VirtualMachine {
  const { name, namespace = '', uid } = metadata;
  const read: readonly string[] = [LIVE_LABEL.plan, LIVE_LABEL.vm];
  const labels = Object.fromEntries(
    Object.entries(metadata.labels ?? {}).filter(([label]) => read.includes(label)),
  );
  return { metadata: { name, namespace, uid, labels } } as VirtualMachine;
}

/** Lists of VMs by name. */
export const NAMED_VMS: ListedType<VirtualMachine> = {
  ...VIRTUAL_MACHINES,
  trim: (vm) => ({ object: identityOf(vm), size: NAMED_BYTES }),
};

const interfacesOf = (vm: VirtualMachine): { readonly macAddress?: string }[] =>
  vm.spec.template.spec.domain.devices?.interfaces ?? [];

export const macsOf = (vm: VirtualMachine): string[] =>
  interfacesOf(vm).flatMap(({ macAddress }) => (macAddress === undefined ? [] : [macAddress.toLowerCase()]));

/** Lists of the VMs that have MAC addresses of their own. */
export const VMS_BY_MAC: ListedType<VirtualMachine> = {
  ...VIRTUAL_MACHINES,
  trim: (vm) => {
    const macs = macsOf(vm);
    if (macs.length === 0) return undefined;
    const interfaces = macs.map((macAddress) => ({ name: '', macAddress }));
    const spec = { template: { spec: { domain: { devices: { interfaces } } } } };
    const size = NAMED_BYTES + PARSED * JSON.stringify(interfaces).length;
    return { object: { ...identityOf(vm), spec }, size };
  },
};
