import { fillingAtLaunch } from '../domain/live/filling.ts';
import type { DataVolume, VirtualMachine, Vmi } from '../domain/live/kubevirt.ts';
import type { RunId } from '../domain/live/run-names.ts';
import type { Fit, SourceSide, TargetSide } from '../domain/live/run-snapshot.ts';
import { fitAtLaunch, podsOnTarget, runningPodsOf, stateOnTarget } from '../domain/live/target-quota.ts';
import { neededVolumes } from '../domain/live/volumes.ts';
import type { KubeVirt, Namespace, PersistentVolumeClaim, Pod, ResourceQuota } from '../domain/objects.ts';
import { inForce } from '../domain/policy/policy.ts';
import type { Reader } from '../kubernetes/cluster.ts';
import { DATA_VOLUMES } from '../kubernetes/live-resources.ts';
import { CLUSTER_VMMRQS, KUBEVIRTS, RESOURCE_QUOTAS, VMMRQS } from '../kubernetes/resources.ts';
import { listedIfServed } from './found.ts';
import { readState, type VmAt } from './read-source.ts';
import { ofRun } from './read-vmims.ts';

type FoundFit = Pick<TargetSide, 'fit' | 'launched'>;

/** Where no launcher is to come, or no quota counts. */
export const FITS: FoundFit = { fit: { missing: undefined, isLetIn: false }, launched: undefined };

const UNKNOWN: Fit = {
  missing: 'the launcher on the source, whose size is needed, does not run',
  isLetIn: false,
};

/** A launcher that is to come on the target. */
export interface LauncherToCome {
  readonly run: RunId;
  /** Of the VM there. */
  readonly at: VmAt;
  /** There. */
  readonly vm: VirtualMachine | undefined;
  readonly namespace: Namespace;
  readonly source: SourceSide;
  /** Names of the VMIs that have a launcher there. */
  readonly launched: ReadonlySet<string>;
}

/** Whether it fits in the quotas of its namespace. */
export async function readFit(
  reader: Reader,
  { source, launched, ...request }: LauncherToCome,
): Promise<FoundFit> {
  const { vmi, pods: launchers, attachments, state } = source;
  const pods = vmi === undefined ? [] : runningPodsOf(vmi, [...launchers, ...attachments]);
  if (vmi === undefined || pods.length === 0) return { ...FITS, fit: UNKNOWN };
  const { items: quotas } = await reader.list(RESOURCE_QUOTAS, { namespace: request.at.namespace });
  if (quotas.length === 0) return FITS;
  return { fit: await fitIn(reader, { ...request, quotas }, { vmi, pods, state }), launched };
}

/** What runs on the source. */
interface Running {
  readonly vmi: Vmi;
  readonly pods: readonly Pod[];
  readonly state: readonly PersistentVolumeClaim[];
}

type Room = Pick<LauncherToCome, 'run' | 'at' | 'vm' | 'namespace'> & {
  readonly quotas: readonly ResourceQuota[];
};

async function fitIn(
  reader: Reader,
  { run, at, vm, namespace, quotas }: Room,
  { vmi, pods, state }: Running,
): Promise<Fit> {
  const [vmmrqs, kubevirt, known, volumes] = await Promise.all([
    readVmmrqs(reader, namespace),
    readKubeVirt(reader),
    // An attempt before this one may have left it.
    readState(reader, vmi, at),
    readDataVolumes(reader, { run, vm }),
  ]);
  const launch = {
    pods: podsOnTarget(pods, vmi, { namespace, quotas, kubevirt }),
    claims: known.length > 0 ? [] : stateOnTarget(state),
  };
  return fitAtLaunch({ launch, filling: fillingAtLaunch(volumes) }, { quotas, vmmrqs });
}

/** Those that the run has made for this VM. */
async function readDataVolumes(
  reader: Reader,
  { run, vm }: Pick<Room, 'run' | 'vm'>,
): Promise<readonly DataVolume[]> {
  if (vm === undefined || !neededVolumes(vm).some(({ isDataVolume }) => isDataVolume)) return [];
  const { namespace = '' } = vm.metadata;
  return listedIfServed(reader.list(DATA_VOLUMES, { namespace, labelSelector: ofRun(run) }));
}

export const readKubeVirt = async (cluster: Reader): Promise<KubeVirt | undefined> =>
  (await listedIfServed(cluster.list(KUBEVIRTS, {})))[0];

export async function readVmmrqs(
  reader: Reader,
  { metadata }: Namespace,
): Promise<ReturnType<typeof inForce>> {
  const [own, wide] = await Promise.all([
    listedIfServed(reader.list(VMMRQS, { namespace: metadata.name })),
    listedIfServed(reader.list(CLUSTER_VMMRQS, {})),
  ]);
  return [...own, ...inForce(wide, metadata.labels)];
}
