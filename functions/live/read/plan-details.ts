import { has } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import type { PlanView, VmView } from '../findings/plan-view.ts';
import { isNoSecret, keyOf, keyOfObject, resourcesOf } from '../on-target/resources.ts';
import { runningPodsOf } from '../on-target/quota.ts';
import { inGroups } from '../../cluster/in-groups.ts';
import { LISTED_PODS } from '../../cluster/listed.ts';
import { PODS_OF_VMS } from '../../cluster/snapshot.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { unlessForbidden } from './get.ts';
import { readCpus, runningIn } from './cpus.ts';
import { readResources, readSourceResources } from './resources.ts';
import { orUnknown } from './unknown-cluster.ts';

type Details = Pick<
  PlanView,
  'pods' | 'instanceTypes' | 'missingResources' | 'missingCpus' | 'unlabelledNodes'
>;

/** Reads the details of a plan's VMs: only if both clusters answer, and only while the VMs do not move. Rejects with UnknownCluster. */
export async function readDetails(
  { plan, sourceCluster, targetCluster }: Pick<PlanView, 'plan' | 'sourceCluster' | 'targetCluster'>,
  { source, target }: Readonly<Record<'source' | 'target', Reader | undefined>>,
  mayKnowNamed: MayKnowNamed,
): Promise<Details> {
  const none: Details = {
    ...{ pods: new Map(), instanceTypes: new Map() },
    ...{ missingResources: new Map(), missingCpus: new Map(), unlabelledNodes: new Map() },
  };
  if (source === undefined || target === undefined || has(plan.status, LIVE_CONDITION.executing)) return none;
  if (sourceCluster === undefined || targetCluster === undefined) return none;
  const { vms } = sourceCluster;
  const { targetNamespace: namespace } = plan.spec;
  const [pods, instanceTypes, missingResources, cpus] = await Promise.all([
    // The target namespace is read where its quotas or LimitRanges may refuse pods.
    targetCluster.namespace === undefined ? none.pods : orUnknown('source', readPods(vms, source)),
    readNamed(vms, { source, target, namespace }),
    orUnknown('source', readMissing(vms, source, mayKnowNamed)),
    readCpus(runningIn(vms), { source, target }),
  ]);
  return { pods, instanceTypes, missingResources, ...cpus };
}

/**
 * Reads the objects that the VMs name. A refusal on the source is a finding about these VMs, as in their run: the rest of the plan is
 * known.
 */
async function readNamed(
  vms: readonly VmView[],
  {
    source,
    target,
    namespace,
  }: { readonly source: Reader; readonly target: Reader; readonly namespace: string },
): Promise<Details['instanceTypes']> {
  const read = vms.map(async ({ found: [vm] }) => {
    const named = vm === undefined ? [] : resourcesOf(vm).filter(isNoSecret);
    if (vm === undefined || named.length === 0) return [];
    const [onSource, onTarget] = await Promise.all([
      orUnknown(
        'source',
        unlessForbidden(readSourceResources(source, vm.metadata.namespace ?? '', named), HIDDEN),
      ),
      orUnknown('destination', readResources(target, namespace, named)),
    ]);
    return [[vm.metadata.uid, onSource === HIDDEN ? HIDDEN : { onSource, onTarget }] as const];
  });
  return new Map((await Promise.all(read)).flat());
}

const HIDDEN = 'hidden' as const;

/** Whether the requester may know which of the objects that the VM names are there. */
export type MayKnowNamed = (vm: VirtualMachine) => Promise<boolean>;

/** Reads which Secrets and ConfigMaps that the VMs name are missing. None counts as missing that may not be read. */
async function readMissing(
  views: readonly VmView[],
  source: Reader,
  mayKnowNamed: MayKnowNamed,
): Promise<Details['missingResources']> {
  const vms = views.flatMap(({ found: [vm] }) => vm ?? []);
  const missing = await inGroups(vms, async (vm) => {
    const named = resourcesOf(vm).filter((each) => !isNoSecret(each));
    if (named.length === 0 || !(await mayKnowNamed(vm))) return [];
    const { namespace = '', uid } = vm.metadata;
    const found = await unlessForbidden(readResources(source, namespace, named), HIDDEN);
    if (found === HIDDEN) return [];
    const there = new Set(found.map(keyOfObject));
    const keys = named.map(({ kind, name }) => keyOf(kind, name));
    return [[uid, keys.filter((key) => !there.has(key))] as const];
  });
  return new Map(missing.flat());
}

/** Reads the pods of the VMs that run. */
async function readPods(vms: readonly VmView[], cluster: Reader): Promise<Details['pods']> {
  const running = runningIn(vms);
  const namespaces = [...new Set(running.map(({ vmi }) => vmi.metadata.namespace ?? ''))];
  const pods = await Promise.all(
    namespaces.map((namespace) => cluster.list(LISTED_PODS, { namespace, labelSelector: PODS_OF_VMS })),
  );
  const podsIn = new Map(namespaces.map((namespace, index) => [namespace, pods[index]?.items ?? []]));
  return new Map(
    running.map(({ uid, vmi }) => [uid, runningPodsOf(vmi, podsIn.get(vmi.metadata.namespace ?? '') ?? [])]),
  );
}
