import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { KUBEVIRT_MANAGER } from '../../domain/live/names.ts';
import { FIELD_MANAGER } from '../../domain/names.ts';
import { strategyOwners } from './proofs.ts';

/**
 * Names the field managers that set the VM's run strategy, but for this project and KubeVirt, which only follows a request; '' if none has,
 * or if the managed fields name none.
 */
export const otherOwners = (vm: VirtualMachine): string =>
  strategyOwners(vm)
    .filter((owner) => !['', KUBEVIRT_MANAGER, FIELD_MANAGER].includes(owner))
    .join(', ');
