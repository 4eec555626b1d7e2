/** The fields by which `live` decides. Pure. */
import { LIVE_ANNOTATION, LIVE_KUBEVIRT } from '../../domain/live/names.ts';
import type { Condition, KubernetesObject } from '../../domain/objects.ts';

/** The fields of all kinds that are watched. */
export type Watched = KubernetesObject & {
  readonly spec?: { readonly running?: boolean; readonly runStrategy?: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly [field: string]: unknown;
  };
};

const ANNOTATIONS = [
  LIVE_ANNOTATION.run,
  LIVE_KUBEVIRT.migrationTarget,
  LIVE_KUBEVIRT.restoreRunStrategy,
] as const;

const STATUS = [
  'phase',
  'printableStatus',
  'stateChangeRequests',
  'snapshotInProgress',
  'migrationState',
  'synchronizationAddresses',
  'evacuationNodeName',
  'nodeName',
  'activePods',
] as const;

/**
 * Returns a text that changes with these fields. KubeVirt changes a VMI several times in a second while its guest moves
 * (facts/cross-cluster.md §F): a change of anything else is no event. The text has nothing that a VM contains.
 */
export function whatCounts({ metadata, spec = {}, status = {} }: Watched): string {
  const { annotations = {}, deletionTimestamp, finalizers } = metadata;
  const { running, runStrategy } = spec;
  return JSON.stringify([
    [deletionTimestamp, finalizers],
    ANNOTATIONS.map((name) => annotations[name]),
    [running, runStrategy],
    STATUS.map((field) => status[field]),
    status.conditions?.map((one) => [one.type, one.status, one.reason, one.message]),
  ]);
}
