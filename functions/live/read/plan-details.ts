import { has } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { PlanView, VmView } from '../findings/plan-view.ts';
import { accountsOf, isNoSecret, resourcesOf } from '../on-target/resources.ts';
import { runningPodsOf } from '../on-target/quota.ts';
import { LISTED_PODS } from '../../cluster/listed.ts';
import { PODS_OF_VMS } from '../../cluster/snapshot.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { unlessForbidden } from './get.ts';
import { readCpus, runningIn } from './cpus.ts';
import { readMissingAccounts, type MayKnowAccount } from './missing-accounts.ts';
import { readResources, readSourceResources } from './resources.ts';
import { orUnknown } from './unknown-cluster.ts';

type Details = Pick<PlanView, 'pods' | 'instanceTypes' | 'missingMounts' | 'missingCpus' | 'unlabelledNodes'>;

/** Reads the details of a plan's VMs: only if both clusters answer, and only while the VMs do not move. Rejects with UnknownCluster. */
export async function readDetails(
  { plan, sourceCluster, targetCluster }: Pick<PlanView, 'plan' | 'sourceCluster' | 'targetCluster'>,
  { source, target }: Readonly<Record<'source' | 'target', Reader | undefined>>,
  mayKnowMount: MayKnowAccount,
): Promise<Details> {
  const none: Details = {
    ...{ pods: new Map(), instanceTypes: new Map() },
    ...{ missingMounts: new Map(), missingCpus: new Map(), unlabelledNodes: new Map() },
  };
  if (source === undefined || target === undefined || has(plan.status, LIVE_CONDITION.executing)) return none;
  if (sourceCluster === undefined || targetCluster === undefined) return none;
  const { vms } = sourceCluster;
  const { targetNamespace: namespace } = plan.spec;
  const [pods, instanceTypes, missingMounts, cpus] = await Promise.all([
    // The target namespace is read where its quotas or LimitRanges may refuse pods.
    targetCluster.namespace === undefined ? none.pods : orUnknown('source', readPods(vms, source)),
    readNamed(vms, { source, target, namespace }),
    orUnknown('destination', readMissingMounts(vms, { target, namespace, mayKnowMount })),
    readCpus(runningIn(vms), { source, target }),
  ]);
  return { pods, instanceTypes, missingMounts, ...cpus };
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

interface Mounting {
  readonly target: Reader;
  readonly namespace: string;
  readonly mayKnowMount: MayKnowAccount;
}

/** Reads which service accounts that the VMs mount are missing. */
async function readMissingMounts(
  views: readonly VmView[],
  { target, namespace, mayKnowMount }: Mounting,
): Promise<Details['missingMounts']> {
  const vms = views.flatMap(({ found: [vm] }) => vm ?? []);
  const names = vms.flatMap(accountsOf);
  const missing = await readMissingAccounts({ namespace, names }, target, mayKnowMount);
  return new Map(vms.map((vm) => [vm.metadata.uid, accountsOf(vm).filter((name) => missing.has(name))]));
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
