import type { FullKubeVirt } from '../../../test/cluster/kubevirt/objects/objects.ts';
import type { EventDetails, Versions } from './timeline-event.ts';

/** Reports another release that KubeVirt is to become, or is; and its number of VMs with an outdated launcher. */
export function ofKubeVirt({ before, after }: Versions<FullKubeVirt>): EventDetails[] {
  const [was, is] = [before?.status, after?.status];
  if (was === undefined || is === undefined) return [];
  const outdated = is.outdatedVirtualMachineInstanceWorkloads;
  return [
    ...(was.targetKubeVirtVersion === is.targetKubeVirtVersion
      ? []
      : [line('virt-operator', `begins the upgrade to KubeVirt ${is.targetKubeVirtVersion ?? ''}`)]),
    ...(was.observedKubeVirtVersion === is.observedKubeVirtVersion
      ? []
      : [line('virt-operator', `sees KubeVirt ${is.observedKubeVirtVersion ?? ''} running`)]),
    ...(was.outdatedVirtualMachineInstanceWorkloads === outdated
      ? []
      : [line('KubeVirt', `counts ${String(outdated)} VMs with an outdated launcher`)]),
  ];
}

const line = (by: string, text: string): EventDetails => ({ what: 'reported', text, by });
