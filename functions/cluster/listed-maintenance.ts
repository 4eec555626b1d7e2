import type { Node, VirtualMachineInstance } from '../domain/objects.ts';
import { NODES, VMIS } from '../kubernetes/resources.ts';
import { listed, NAMED, OBJECT } from './listed.ts';

/** Whether a node is drained. Nothing that a heartbeat changes is kept. */
export const LISTED_NODES = listed<Node>(NODES, {
  ...OBJECT,
  metadata: NAMED,
  spec: { unschedulable: true, taints: [{ key: true, effect: true, timeAdded: true }] },
});

/** The fields of a VMI that show what a drain or an upgrade does with it. */
export const LISTED_VMIS_TO_MOVE = listed<VirtualMachineInstance>(
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
      activePods: false,
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
    },
  },
  { maxBytes: 2 * 1024 },
);
