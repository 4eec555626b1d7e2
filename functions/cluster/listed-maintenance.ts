import type { Node, VirtualMachineInstance } from '../domain/objects.ts';
import { NODES, VMIS } from '../kubernetes/resources.ts';
import type { ListedType } from '../kubernetes/cluster.ts';
import { listed, NAMED, OBJECT } from './listed.ts';

/** Whether a node is drained. Nothing that a heartbeat changes is kept. */
export const LISTED_NODES = listed<Node>(NODES, {
  ...OBJECT,
  metadata: NAMED,
  spec: { unschedulable: true, taints: [{ key: true, effect: true, timeAdded: true }] },
});

/** The fields of a VMI that show what a drain or an upgrade does with it. */
const VMIS_TO_MOVE = listed<VirtualMachineInstance>(
  VMIS,
  {
    ...OBJECT,
    metadata: NAMED,
    spec: {
      evictionStrategy: true,
      terminationGracePeriodSeconds: true,
      priorityClassName: false,
      domain: false,
    },
    status: {
      phase: true,
      nodeName: true,
      evacuationNodeName: true,
      migrationState: { failed: true, endTimestamp: true },
      currentCPUTopology: false,
      changedBlockTracking: false,
      memory: false,
      conditions: [
        {
          type: true,
          status: true,
          reason: true,
          message: false,
          observedGeneration: false,
          lastProbeTime: false,
          lastTransitionTime: false,
        },
      ],
      activePods: true,
    },
  },
  { maxBytes: 2 * 1024 },
);

/** The same without the active pod where there is one, as of nearly every VMI: only several keep KubeVirt from moving it (facts/kubevirt.md §3.2). */
export const LISTED_VMIS_TO_MOVE: ListedType<VirtualMachineInstance> = {
  ...VMIS_TO_MOVE,
  trim: (whole) => {
    const { activePods = {}, ...status } = whole.status ?? {};
    return VMIS_TO_MOVE.trim(Object.keys(activePods).length === 1 ? { ...whole, status } : whole);
  },
};
