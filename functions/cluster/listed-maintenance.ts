import { ANNOTATION, FIELD_MANAGER, KIND } from '../domain/names.ts';
import type { KubernetesEvent, Node, VirtualMachineInstance } from '../domain/objects.ts';
import { EVENTS, NODES, VMIS } from '../kubernetes/resources.ts';
import { listed, NAMED, OBJECT } from './listed.ts';

/** Whether a node is drained. Nothing that a heartbeat changes is kept. */
export const LISTED_NODES = listed<Node>(NODES, {
  ...OBJECT,
  metadata: NAMED,
  spec: { unschedulable: true, taints: [{ key: true }] },
});

/** The fields of a VMI that show what a drain or an upgrade does with it. */
export const LISTED_VMIS_TO_MOVE = listed<VirtualMachineInstance>(
  VMIS,
  {
    ...OBJECT,
    metadata: NAMED,
    spec: { evictionStrategy: true, domain: false },
    status: {
      phase: true,
      nodeName: true,
      evacuationNodeName: true,
      migrationState: { failed: true, endTimestamp: true },
      activePods: false,
      currentCPUTopology: false,
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

/** Feasibility's Events on migrations. */
export const EVENTS_WITH_VERDICTS = {
  fieldSelector: `source=${FIELD_MANAGER},involvedObject.kind=${KIND.migration.kind}`,
} as const;

/** Which migration each verdict is about; Events without a verdict are left out. */
export const LISTED_VERDICTS = listed<KubernetesEvent>(
  EVENTS,
  {
    ...OBJECT,
    metadata: { ...NAMED, resourceVersion: true, annotations: { [ANNOTATION.verdict]: true } },
    involvedObject: {
      apiVersion: false,
      kind: false,
      namespace: false,
      name: false,
      uid: true,
      resourceVersion: false,
    },
    reason: false,
    type: false,
    count: false,
    firstTimestamp: false,
    lastTimestamp: false,
    source: false,
    message: false,
  },
  {
    maxBytes: 4 * 1024,
    skipIf: ({ metadata }) => metadata.annotations?.[ANNOTATION.verdict] === undefined,
  },
);
