import { PODS_OF_VMS } from '../../functions/cluster/snapshot.ts';
import { shown } from '../../functions/domain/foreign-text.ts';
import { isAttachment, isDone } from '../../functions/domain/migration.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { KubernetesEvent, Pod, VirtualMachineInstance } from '../../functions/domain/objects.ts';
import { parsePodRejection, type PodRejection } from '../../functions/domain/quota/pod-rejection.ts';
import type { ApiServer, New } from '../../functions/kubernetes/cluster.ts';
import {
  ApiError,
  isForbidden,
  isInternal,
  isNotFound,
  isRejected,
} from '../../functions/kubernetes/errors.ts';
import { PODS } from '../../functions/kubernetes/resources.ts';
import { mapAtMost } from '../cluster/map-at-most.ts';
import { asAccount } from '../cluster/rights.ts';
import type { Session } from '../cluster/session.ts';
import type { ClusterFacts, NamespaceFacts } from './facts.ts';
import type { OutcomeName } from './outcome.ts';
import { attachmentsOf, livingLaunchers, podsByVm } from './pods.ts';
import type { Report } from './preflight.ts';

/** Pods that are tried at once. */
const AT_ONCE = 8;

/** virt-controller's service account. */
const CREATES_PODS = 'kubevirt-controller';

/** Outcomes of VMs that get other pods, if nothing refuses these. */
const MOVES: readonly OutcomeName[] = ['Passes', 'PassesInTurn', 'Stuck'];

/**
 * The facts, with what admission plugins, webhooks and policies refuse besides quotas: the pods of each VM that would move are created
 * again by dry runs, as virt-controller.
 */
export async function withTriedPods(
  facts: ClusterFacts,
  { vms }: Report,
  session: Pick<Session, 'cluster' | 'as'>,
): Promise<ClusterFacts> {
  const moving = new Set(vms.filter(({ outcome }) => MOVES.includes(outcome)).map(keyOf));
  if (moving.size === 0) return facts;
  const as = await podCreatorOf(facts, session);
  if (as === undefined) return { ...facts, isUntried: true };
  const namespaces: NamespaceFacts[] = [];
  for (const each of facts.namespaces) {
    const own = each.vmis.filter(({ metadata: { namespace = '', name } }) =>
      moving.has(keyOf({ namespace, name })),
    );
    const refusals =
      own.length === 0 ? [] : await refusalsIn(each, own, { cluster: session.cluster, as, now: facts.now });
    namespaces.push(refusals.length === 0 ? each : { ...each, refusals });
  }
  return { ...facts, namespaces };
}

const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;

/** The API server as virt-controller; undefined: the user may not impersonate it. */
async function podCreatorOf(
  { state: { kubevirt } }: ClusterFacts,
  session: Pick<Session, 'cluster' | 'as'>,
): Promise<ApiServer | undefined> {
  const namespace = kubevirt?.metadata.namespace;
  return namespace === undefined ? undefined : asAccount(session, { namespace, name: CREATES_PODS });
}

interface Trying {
  /** The API server as the user. */
  readonly cluster: ApiServer;
  /** The same as virt-controller. */
  readonly as: ApiServer;
  readonly now: number;
}

async function refusalsIn(
  { namespace, quotas }: NamespaceFacts,
  vmis: readonly VirtualMachineInstance[],
  trying: Trying,
): Promise<KubernetesEvent[]> {
  const where = { namespace: namespace.metadata.name, labelSelector: PODS_OF_VMS };
  const { items } = await trying.cluster.list(PODS, where);
  const byVm = podsByVm(items);
  const pods = vmis.flatMap((vmi) =>
    sourcesOf(vmi, byVm.get(vmi.metadata.name) ?? []).map((pod) => ({ vmi, pod })),
  );
  const counted = quotas.map(({ metadata: { name } }) => name);
  const tried = await mapAtMost(AT_ONCE, pods, ({ vmi, pod }) => refusalOfPod(vmi, pod, trying));
  // What the quotas of the namespace have headroom for is decided without a dry run.
  const isDecided = (rejection: PodRejection): boolean =>
    rejection.kind === 'exceeded' && counted.includes(rejection.quota);
  return tried.flatMap((refusal) =>
    refusal === undefined || isDecided(refusal.rejection) ? [] : [refusal.event],
  );
}

/** The launcher that runs the VM, and the attachment pod of that one. */
function sourcesOf({ status }: VirtualMachineInstance, pods: readonly Pod[]): Pod[] {
  const launchers = livingLaunchers(pods);
  const source = launchers.find(({ spec }) => spec.nodeName === status?.nodeName) ?? launchers[0];
  if (source === undefined) return [];
  return [
    source,
    ...attachmentsOf(source, pods)
      .filter((pod) => !isDone(pod))
      .slice(0, 1),
  ];
}

interface PodRefusal {
  readonly event: KubernetesEvent;
  readonly rejection: PodRejection;
}

/**
 * The API server's refusal of another pod like this one, as virt-controller would write it in an Event; undefined: it has none, or our own
 * guard or policy refuses it because of a lock, which ends. Rejects with what is no refusal of the pod.
 */
async function refusalOfPod(
  vmi: VirtualMachineInstance,
  pod: Pod,
  { as, now }: Trying,
): Promise<PodRefusal | undefined> {
  try {
    await as.create(PODS, likeSource(pod, vmi), { dryRun: true });
    return undefined;
  } catch (error) {
    // The namespace is gone.
    if (isNotFound(error)) return undefined;
    if (!(error instanceof ApiError)) throw error;
    const event = eventOf(vmi, { pod, text: shown(error.status.message ?? error.reason), now });
    const rejection = rejectionIn(event, pod);
    if (rejection === undefined && isFinal(error)) return undefined;
    if (rejection === undefined || (rejection.kind === 'other' && !isOfPod(error))) throw error;
    return { event, rejection };
  }
}

/** Whether it is about the pod, whatever it says: an account without rights gets a 403, whose text would begin with the pod if it were. */
const isOfPod = (error: ApiError): boolean => isRejected(error) && !isForbidden(error);

/** Whether a plugin refused it, or a webhook did not answer. */
const isFinal = (error: ApiError): boolean => isForbidden(error) || isInternal(error);

const rejectionIn = ({ message }: KubernetesEvent, pod: Pod): PodRejection | undefined =>
  parsePodRejection(message ?? '', isAttachment(pod) ? 'attachment' : 'launcher');

/** The pod as virt-controller would create it for the target, on no node yet: without what admission and the scheduler have filled in. */
function likeSource({ metadata, spec }: Pod, vmi: VirtualMachineInstance): New<Pod> {
  const { name, generateName = `${name}-`, namespace, labels, annotations, ownerReferences } = metadata;
  const own = Object.entries(spec).filter(([field]) => !FILLED_IN.includes(field));
  const priorityClassName = isAttachment({ metadata, spec }) ? undefined : vmi.spec?.priorityClassName;
  return {
    metadata: { generateName, namespace, labels, annotations, ownerReferences },
    spec: { ...(Object.fromEntries(own) as unknown as Pod['spec']), priorityClassName },
  } as New<Pod>;
}

const FILLED_IN: readonly string[] = [
  'nodeName',
  'ephemeralContainers',
  'priority',
  'preemptionPolicy',
  'overhead',
];

interface Refused {
  readonly pod: Pod;
  readonly text: string;
  readonly now: number;
}

function eventOf(
  { metadata, kind = 'VirtualMachineInstance' }: VirtualMachineInstance,
  { pod, text, now }: Refused,
): KubernetesEvent {
  const { namespace, name, uid } = metadata;
  const at = new Date(now).toISOString();
  const what = isAttachment(pod) ? 'attachment pod' : 'pod';
  return {
    metadata: {
      ...{ name: `${name}.dry-run`, uid: `dry-run-${pod.metadata.uid}`, creationTimestamp: at },
      ...(namespace === undefined ? {} : { namespace }),
      resourceVersion: NEWEST,
    },
    involvedObject: { kind, name, uid },
    reason: KUBEVIRT.failedCreate,
    message: `Error creating ${what}: ${text}`,
    lastTimestamp: at,
  };
}

/** Sorts after the version of every stored Event. */
const NEWEST = '9'.repeat(20);
