import { amountOf } from './growth.ts';
import { KUBEVIRT } from '../names.ts';
import type { Pod, ResourceList, VirtualMachineInstance } from '../objects.ts';
import { parseQuantity, type Amount } from '../quantity.ts';

/** The resource that the guest's memory is, where it is not plain memory. */
export function pagesOf({ spec }: VirtualMachineInstance): string | undefined {
  const size = spec?.domain?.memory?.hugepages?.pageSize;
  return size === undefined ? undefined : `hugepages-${size}`;
}

/**
 * Whether the request of memory includes what runs beside the guest. A limit of the VMI's own includes it anyway, and so does the request
 * of a launcher on huge pages (renderresources.go, WithMemoryOverhead, WithHugePages).
 */
export const requestsOverhead = (vmi: VirtualMachineInstance): boolean =>
  pagesOf(vmi) !== undefined || vmi.spec?.domain?.resources?.overcommitGuestOverhead !== true;

/**
 * Returns how much more memory the target requests for the guest than the source launcher, which has these requests. A hotplug raises the
 * VMI's own request by as much as the guest grows, and at least to the whole guest: a VM that requested less than its guest has gets more
 * than it was given (kubevirt pkg/virt-controller/watch/vm/vm.go, handleMemoryHotplugRequest).
 */
export function guestGrowth(vmi: VirtualMachineInstance, source: Pod, requests: ResourceList): Amount {
  const more = hotplugged(vmi);
  const had = amountOf(requests[pagesOf(vmi) ?? 'memory']);
  const wanted = requestedBy(vmi);
  if (more === 0n || had === undefined || wanted === undefined) return more;
  const beyond = wanted - (had - overheadIn(had, vmi, source));
  return beyond > more ? beyond : more;
}

/** How much the guest grows. */
function hotplugged({ spec, status }: VirtualMachineInstance): Amount {
  const before = amountOf(status?.memory?.guestRequested);
  const now = amountOf(spec?.domain?.memory?.guest);
  return before === undefined || now === undefined || now < before ? 0n : now - before;
}

/** The VMI's own request after the hotplug; undefined: it has none. On huge pages the guest is what is requested at most. */
const requestedBy = (vmi: VirtualMachineInstance): Amount | undefined =>
  amountOf(
    pagesOf(vmi) === undefined
      ? vmi.spec?.domain?.resources?.requests?.['memory']
      : vmi.spec?.domain?.memory?.guest,
  );

/**
 * Whether guestGrowth is too little by an overhead that is not known, as before KubeVirt 1.8: memory was hotplugged to a VM that had requested
 * less than its guest, so that the target requests the whole guest and that overhead.
 */
export function lacksOverhead(vmi: VirtualMachineInstance, source: Pod, requests: ResourceList): boolean {
  const had = amountOf(requests['memory']);
  const before = amountOf(vmi.status?.memory?.guestRequested);
  if (had === undefined || before === undefined || requestedBy(vmi) === undefined) return false;
  const isOvercommitted = had < before + LEAST_OVERHEAD;
  return hotplugged(vmi) > 0n && isOvercommitted && overheadKnown(had, vmi, source) === undefined;
}

/** The fixed parts are 226Mi in KubeVirt 1.0, and more in each later one (facts/kubevirt.md §2.1, version drift). */
const LEAST_OVERHEAD = parseQuantity('200Mi');

/** The part of the request that is for what runs beside the guest; 0 too where it is not known. */
const overheadIn = (had: Amount, vmi: VirtualMachineInstance, source: Pod): Amount =>
  overheadKnown(had, vmi, source) ?? 0n;

/** The same; undefined: it is not known, as before KubeVirt 1.8. */
function overheadKnown(had: Amount, vmi: VirtualMachineInstance, source: Pod): Amount | undefined {
  if (pagesOf(vmi) !== undefined || !requestsOverhead(vmi)) return 0n;
  const known = [source.metadata.annotations?.[KUBEVIRT.memoryOverhead], vmi.status?.memory?.memoryOverhead];
  return known.map(amountOf).find((overhead) => overhead !== undefined && overhead <= had);
}
