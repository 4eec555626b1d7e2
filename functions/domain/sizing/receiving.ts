import { amountOf } from './growth.ts';
import { KUBEVIRT } from '../names.ts';
import type { AmountList, Pod, ResourceList, VirtualMachineInstance } from '../objects.ts';
import { formatQuantity } from '../quantity.ts';

/**
 * The pod of a migration that receives a VM from another cluster, by the requests of the VMI itself. No pod of the VM runs
 * here to derive the size from, so this is a lower bound. The API server's refusals add to it.
 */
export const receivedPod = ({ metadata, spec }: VirtualMachineInstance): Pod => ({
  metadata: { ...metadata, ownerReferences: [] },
  spec: {
    ...(spec?.priorityClassName === undefined ? {} : { priorityClassName: spec.priorityClassName }),
    containers: [
      {
        name: KUBEVIRT.compute,
        resources: {
          // Always with memory: a launcher is not of the class BestEffort.
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
