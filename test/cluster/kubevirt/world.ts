import type { Clock } from '../../../functions/runtime/clock.ts';
import type { KubernetesObject, ResourceQuota } from '../../../functions/domain/objects.ts';
import type { Address, Cluster, New } from '../../../functions/kubernetes/cluster.ts';
import { ApiError, describeError } from '../../../functions/kubernetes/errors.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { Cache, type Log } from './client-go/cache.ts';
import { renderLauncherPod, type LauncherOf } from './objects/launcher-pod.ts';
import { HOTPLUG_DISK, LABELS, LAUNCHER } from './objects/names.ts';
import { FULL_NODES, type NodeObject } from './objects/node-objects.ts';
import {
  FULL_CLAIMS,
  FULL_KUBEVIRTS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  VMS,
  type Configuration,
  type FullClaim,
  type FullKubeVirt,
} from './objects/objects.ts';
import { Recorder } from './client-go/recorder.ts';
import { RELEASE, type Release } from './objects/release.ts';
import type { LauncherPod, Vm, Vmi, Vmim } from './objects/types.ts';

/** The shared state of controllers and nodes: the API server's client and the caches. */
export interface World {
  readonly cluster: Cluster;
  /** Of the KubeVirt CR. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly recorder: Pick<Recorder, 'record' | 'flush'>;
  readonly log: Log;
  readonly renderLauncher: (of: LauncherOf) => New<LauncherPod>;
  /** Of this virt-controller. */
  readonly release: Release;
  /** How long an evacuation or an update waits after one that failed, milliseconds; it doubles with each. */
  readonly backoffMs: number;
  /** virt-api reviews what virt-controller writes. The recordings were made without it. */
  readonly hasVirtApi: boolean;
  /** KubeVirt's own pods only. */
  readonly pods: Cache<LauncherPod>;
  readonly vms: Cache<Vm>;
  readonly vmis: Cache<Vmi>;
  readonly migrations: Cache<Vmim>;
  readonly quotas: Cache<ResourceQuota>;
  readonly claims: Cache<FullClaim>;
  readonly kubevirts: Cache<FullKubeVirt>;
  /** Empty where the cluster has no Node objects: then every node takes launchers, and none is drained by a taint. */
  readonly nodes: Cache<NodeObject>;
}

/** KubeVirt's own (facts/kubevirt.md §1.5). */
const BACKOFF_MS = 20_000;

/** The caches are empty until they are started. `namespace`: that of the KubeVirt CR; default 'kubevirt'. */
export function newWorld({
  namespace = 'kubevirt',
  ...given
}: Pick<World, 'cluster' | 'clock' | 'log'> &
  Partial<Pick<World, 'recorder' | 'renderLauncher' | 'release' | 'backoffMs' | 'hasVirtApi'>> & {
    readonly namespace?: string | undefined;
  }): World {
  const parts = { ...given, namespace };
  const own = { labelSelector: `${LABELS.app} in (${LAUNCHER},${HOTPLUG_DISK})` };
  return {
    recorder: new Recorder(parts),
    renderLauncher: renderLauncherPod,
    release: RELEASE,
    backoffMs: BACKOFF_MS,
    hasVirtApi: false,
    ...parts,
    pods: new Cache({ ...parts, type: LAUNCHER_PODS, where: own }),
    vms: new Cache({ ...parts, type: VMS }),
    vmis: new Cache({ ...parts, type: FULL_VMIS }),
    migrations: new Cache({ ...parts, type: FULL_MIGRATIONS }),
    quotas: new Cache({ ...parts, type: RESOURCE_QUOTAS }),
    claims: new Cache({ ...parts, type: FULL_CLAIMS }),
    kubevirts: new Cache({ ...parts, type: FULL_KUBEVIRTS, where: { namespace } }),
    nodes: new Cache({ ...parts, type: FULL_NODES }),
  };
}

/** The KubeVirt CR's configuration; empty without one. */
export const configurationOf = ({ kubevirts }: World): Configuration =>
  kubevirts.all()[0]?.spec?.configuration ?? {};

export const addressOf = ({ metadata }: KubernetesObject): Required<Address> => ({
  name: metadata.name,
  namespace: metadata.namespace ?? 'default',
});

/** A failure as client-go prints it: the API server's own message. */
export function textOf(error: unknown): string {
  if (!(error instanceof ApiError)) return describeError(error);
  const { message } = error.status;
  return typeof message === 'string' ? message : error.reason;
}

/** The VM that made this VMI, while it exists. */
export function vmOf({ metadata }: Vmi, vms: Cache<Vm>): Vm | undefined {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === VMS.kind);
  const vm = vms.get(`${metadata.namespace ?? ''}/${owner?.name ?? ''}`);
  return vm?.metadata.uid === owner?.uid ? vm : undefined;
}
