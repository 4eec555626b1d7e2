import { fillingOf, fitAtLaunch } from '../on-target/filling.ts';
import type { DataVolume, VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import type { RunId } from '../run/names.ts';
import type { Fit, SourceSide, TargetSide } from '../run/snapshot.ts';
import { podsOnTarget, runningPodsOf, stateClaimsOf, type Needed } from '../on-target/quota.ts';
import { neededVolumes } from '../on-target/volumes.ts';
import type { KubeVirt, Namespace, Pod, ResourceQuota } from '../../domain/objects.ts';
import { inForce } from '../../domain/policy/policy.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { DATA_VOLUMES, WHOLE_CLAIMS } from '../../kubernetes/live-resources.ts';
import { CLUSTER_VMMRQS, KUBEVIRTS, RESOURCE_QUOTAS, VMMRQS } from '../../kubernetes/resources.ts';
import { getOrUndefined, listIfServed } from './get.ts';
import { ofRun, type VmAt } from './vmims.ts';

type FoundFit = Pick<TargetSide, 'fit' | 'launched'>;

/** The fit if no launcher is to come, or no quota counts. */
export const FITS: FoundFit = { fit: { missing: undefined, isLetIn: false }, launched: undefined };

const UNKNOWN: Fit = {
  missing: 'the launcher on the source, whose size is needed, does not run',
  isLetIn: false,
};

/** A launcher that is to come on the target. */
export interface LauncherToCome {
  /** The VM on the target. */
  readonly at: VmAt;
  /** The VM's volumes that CDI fills once the launcher is on a node. */
  readonly unfilled: readonly DataVolume[];
  readonly namespace: Namespace;
  readonly source: SourceSide;
  /** Names of the VMIs whose launcher there is on a node. */
  readonly launched: ReadonlySet<string>;
}

/** Reads whether the launcher fits in the quotas of its namespace. */
export async function readFit(
  reader: Reader,
  { source, launched, ...request }: LauncherToCome,
): Promise<FoundFit> {
  const { vmi, vmims, pods: launchers, attachments } = source;
  const pods = vmi === undefined ? [] : runningPodsOf(vmi, [...launchers, ...attachments]);
  if (vmi === undefined || pods.length === 0) return { ...FITS, fit: UNKNOWN };
  const { items: quotas } = await reader.list(RESOURCE_QUOTAS, { namespace: request.at.namespace });
  if (quotas.length === 0) return FITS;
  const fit = await fitIn(reader, { ...request, quotas }, { vmi, pods, isSent: vmims.length > 0 });
  return { fit, launched };
}

/** The pods and the VMI on the source. */
interface Running {
  readonly vmi: Vmi;
  readonly pods: readonly Pod[];
  /** Whether the source's VMIM is there. The objects that come besides the pods may be there by then. */
  readonly isSent: boolean;
}

type Room = Omit<LauncherToCome, 'source' | 'launched'> & { readonly quotas: readonly ResourceQuota[] };

async function fitIn(
  reader: Reader,
  { unfilled, namespace, quotas }: Room,
  { vmi, pods, isSent }: Running,
): Promise<Fit> {
  const [vmmrqs, kubevirt, filling] = await Promise.all([
    readVmmrqs(reader, namespace),
    readKubeVirt(reader),
    isSent ? [] : readFilling(reader, unfilled),
  ]);
  const launch = {
    pods: podsOnTarget(pods, vmi, { namespace, quotas, kubevirt }),
    claims: isSent ? [] : stateClaimsOf(vmi, kubevirt),
  };
  return fitAtLaunch({ launch, filling }, { quotas, vmmrqs });
}

/** Returns the demands of CDI for each of these volumes. */
const readFilling = (reader: Reader, unfilled: readonly DataVolume[]): Promise<readonly Needed[]> =>
  Promise.all(
    unfilled.map(async ({ metadata: { namespace = '', name } }) => {
      const claim = await getOrUndefined(reader.get(WHOLE_CLAIMS, { namespace, name }));
      return fillingOf(claim === undefined ? [] : [claim]);
    }),
  );

/** Reads the DataVolumes of the VM on the target. */
export async function readDataVolumes(
  reader: Reader,
  run: RunId,
  vm: VirtualMachine,
): Promise<readonly DataVolume[]> {
  const { namespace = '' } = vm.metadata;
  const names = neededVolumes(vm).flatMap(({ name, isDataVolume }) => (isDataVolume ? [name] : []));
  if (names.length === 0) return [];
  const volumes = await listIfServed(reader.list(DATA_VOLUMES, { namespace, labelSelector: ofRun(run) }));
  return volumes.filter(({ metadata }) => names.includes(metadata.name));
}

export const readKubeVirt = async (cluster: Reader): Promise<KubeVirt | undefined> =>
  (await listIfServed(cluster.list(KUBEVIRTS, {})))[0];

export async function readVmmrqs(
  reader: Reader,
  { metadata }: Namespace,
): Promise<ReturnType<typeof inForce>> {
  const [own, wide] = await Promise.all([
    listIfServed(reader.list(VMMRQS, { namespace: metadata.name })),
    listIfServed(reader.list(CLUSTER_VMMRQS, {})),
  ]);
  return [...own, ...inForce(wide, metadata.labels)];
}
