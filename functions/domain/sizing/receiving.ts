import { amountOf } from './growth.ts';
import { KUBEVIRT } from '../names.ts';
import type { AmountList, Pod, ResourceList, VirtualMachineInstance, Vmmrq } from '../objects.ts';
import { formatQuantity } from '../quantity.ts';

/**
 * The pod of a migration that receives a VM from another cluster: what the VMI asks for itself. No pod of the VM runs
 * here to take the size from, so this is the least that it can be; what the API server's refusals say comes on top.
 */
export const receivedPod = ({ metadata, spec }: VirtualMachineInstance): Pod => ({
  metadata: { ...metadata, ownerReferences: [] },
  spec: {
    containers: [
      {
        name: KUBEVIRT.compute,
        resources: {
          // Never without memory: a launcher is not of the class BestEffort.
          requests: { memory: '1', ...usable(spec?.domain?.resources?.requests) },
          limits: usable(spec?.domain?.resources?.limits),
        },
      },
    ],
  },
});

const usable = (list: AmountList = {}): ResourceList =>
  Object.fromEntries(
    Object.entries(list).flatMap(([key, text]) => {
      const amount = amountOf(text);
      return amount === undefined ? [] : [[key, formatQuantity(amount)]];
    }),
  );

/** Its pod stays for good: so only where every VMMRQ that gives here says that it may. */
export const mayReceive = (vmmrqs: readonly Vmmrq[]): boolean =>
  vmmrqs.length > 0 && vmmrqs.every(({ spec }) => spec.allowReceive === true);
