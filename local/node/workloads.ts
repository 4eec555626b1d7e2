import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { Condition, KubernetesObject, Pod } from '../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { PODS, VMMRQS } from '../../functions/kubernetes/resources.ts';
import { typeOf } from '../install.ts';
import { installKubeVirt } from '../kubevirt/install.ts';
import { untilServed } from '../served.ts';
import { isKnativeService, podOf } from './pods.ts';
import { until } from './until.ts';

/** A pod as the kubelet reports it. */
export interface RunningPod extends Pod {
  readonly status?: NonNullable<Pod['status']> & {
    readonly podIP?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly { readonly containerID?: string }[];
  };
}

export const RUNNING_PODS = PODS as ResourceType<RunningPod>;

export interface ReadyPod {
  readonly pod: RunningPod;
  /** Since the last manifest was applied. */
  readonly readyAfterMs: number;
}

/** The same, as it is created. */
const POD_MANIFESTS: ResourceType = PODS;

const WITHIN_MS = 90_000;

/**
 * Applies the rendered manifests as they are. Knative's kinds cannot be had without Knative: of each Knative Service its pod
 * is made, the rest (Broker, Triggers, source) is left out. Resolves with the pods' number.
 */
export async function applyManifests(admin: Cluster, objects: readonly KubernetesObject[]): Promise<number> {
  await installKubeVirt(admin);
  const ours = objects.filter(({ apiVersion = '' }) => !apiVersion.includes('.knative.dev/'));
  for (const object of ours) await admin.create(typeOf(object), object);
  await untilServed(admin, VMMRQS);
  const pods = objects.filter(isKnativeService).map(podOf);
  for (const pod of pods) await admin.create(POD_MANIFESTS, pod);
  return pods.length + ours.reduce((sum, object) => sum + replicasOf(object), 0);
}

const replicasOf = ({
  kind,
  ...object
}: KubernetesObject & { readonly spec?: { readonly replicas?: number } }): number =>
  kind === 'Deployment' ? (object.spec?.replicas ?? 1) : 0;

/** Resolves when so many pods of ours are ready by their own probes; `onReady` hears of each. */
export async function untilReady(
  admin: Cluster,
  count: number,
  onReady: (ready: ReadyPod) => void,
): Promise<ReadyPod[]> {
  const since = performance.now();
  const ready = new Map<string, ReadyPod>();
  let last: readonly RunningPod[] = [];
  const notReady = async (): Promise<string | undefined> => {
    last = (await admin.list(RUNNING_PODS, { namespace: SYSTEM_NAMESPACE })).items;
    for (const pod of last.filter((each) => isReady(each) && !ready.has(each.metadata.name))) {
      const one = { pod, readyAfterMs: performance.now() - since };
      ready.set(pod.metadata.name, one);
      onReady(one);
    }
    return ready.size === count ? undefined : `${ready.size} of ${count} pods are ready`;
  };
  const tell = (): string =>
    last
      .filter((pod) => !isReady(pod))
      .map(describePod)
      .join('\n');
  await until(WITHIN_MS, notReady, tell);
  return [...ready.values()];
}

const isReady = ({ status }: RunningPod): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;

const describePod = ({ metadata, status }: RunningPod): string =>
  `${metadata.name}: ${JSON.stringify(status?.containerStatuses ?? status?.conditions ?? status)}`;
