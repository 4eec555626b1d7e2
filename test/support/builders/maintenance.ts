import { MAINTENANCE_LABEL, MAINTENANCE_REASON } from '../../../functions/domain/progress/names.ts';
import { count } from '../../../functions/progress/counts.ts';
import type { Maintenance } from '../../../functions/domain/progress/maintenance.ts';
import type {
  Bucket,
  BucketName,
  MaintenanceProgress,
  ProgressStatus,
} from '../../../functions/domain/progress/progress-object.ts';
import { build, seconds, type Change } from './object.ts';

export const NODE = { name: 'node1', uid: 'uid-of-node1' };
const DEPLOYMENT = { from: 'old', to: 'new' };

/** The keys of the VMs with these numbers. */
export const keysOf = (...vms: readonly number[]): string[] => vms.map((vm) => String(vm).padStart(10, 'k'));

const COMMON = { highest: 0, left: [], buckets: [], blockedBy: {}, owing: [], expired: [] };

/** A node that is being drained, with these VMs left on it. */
export const aDrain = (vms: readonly number[], ...changes: Change<Maintenance>[]): Maintenance =>
  build<Maintenance>(
    {
      ...COMMON,
      kind: 'Drain',
      label: 'drain-12345678',
      node: { ...NODE, isDraining: true },
      left: keysOf(...vms),
      arriving: 0,
      isMarked: true,
      isSettled: false,
    },
    changes,
  );

/** KubeVirt has changed from `old` to `new`, and these VMs are outdated. */
export const anUpgrade = (vms: readonly number[], ...changes: Change<Maintenance>[]): Maintenance =>
  build<Maintenance>(
    {
      ...COMMON,
      kind: 'Upgrade',
      label: 'upgrade-new',
      kubevirt: {
        name: 'kubevirt',
        namespace: 'kubevirt',
        uid: 'uid-of-kubevirt',
        observed: 'new',
        target: 'new',
      },
      left: keysOf(...vms),
      isMarked: true,
      isSettled: false,
    },
    changes,
  );

/** With other facts. */
export const but =
  (different: Partial<Maintenance>): Change<Maintenance> =>
  (seen) => ({ ...seen, ...different });

/** A bucket of so many VMs, which names the first one. */
export const bucket = (name: BucketName, vms: number, reason = 'Some'): Bucket => ({
  name,
  count: vms,
  vms: vms === 0 ? [] : [{ namespace: 'tenant', name: 'vm0', reason }],
});

/** The object about `aDrain` or `anUpgrade`, without a status. */
export function aProgress(kind: 'Drain' | 'Upgrade', status?: ProgressStatus): MaintenanceProgress {
  const name = kind === 'Drain' ? 'drain-12345678-1' : 'upgrade-new-1';
  const spec =
    kind === 'Drain'
      ? { kind, subject: NODE.name, node: NODE }
      : { kind, subject: DEPLOYMENT.to, deployment: DEPLOYMENT };
  return {
    apiVersion: 'mtq.kubevirt.io/v1alpha1',
    kind: 'MaintenanceProgress',
    metadata: {
      name,
      uid: `uid-of-${name}`,
      resourceVersion: '1',
      creationTimestamp: seconds(0),
      labels: { [MAINTENANCE_LABEL]: name.slice(0, -2) },
    },
    spec,
    ...(status === undefined ? {} : { status }),
  };
}

/** The status of an open object: these VMs were counted, and so many are left. */
export function aStatus(
  counted: readonly number[],
  left: readonly number[],
  different: Partial<ProgressStatus> = {},
): ProgressStatus {
  const counts = count(keysOf(...counted).join(''), keysOf(...left));
  return {
    state: 'Running',
    reason: MAINTENANCE_REASON.underWay,
    message: '',
    progress: `${String(counts.done)}/${String(counts.total)}`,
    ...counts,
    blocked: 0,
    startedAt: seconds(0),
    buckets: [],
    reported: { done: counts.done, at: seconds(0) },
    sequence: 1,
    outbox: [],
    ...different,
  };
}
