import { CLUSTER_PREFIX, KIND } from '../../functions/domain/names.ts';
import { CLUSTER_VMMRQS, VMMRQS } from '../../functions/kubernetes/resources.ts';
import { hasRight, type Right } from '../cluster/rights.ts';
import type { Output } from '../flags.ts';
import type { Invocation } from '../subcommand.ts';
import { structured } from '../terminal/structured.ts';
import type { ApiServer, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { isAlreadyExists, isNotFound, isRejected, refusalOf } from '../../functions/kubernetes/errors.ts';
import { withTriedRaises } from './dry-run.ts';
import type { ClusterFacts } from './facts.ts';
import { describeWaiting, isGiveable } from './outcome.ts';
import { preflight, type Report } from './preflight.ts';
import { notAutomated, summary } from './render.ts';
import { purposeOfTask } from './task.ts';
import { suggest, type Manifest, type ManifestKind } from './suggest.ts';

/**
 * Prints manifests to stdout, for `kubectl create -f -`, and nothing else but comments; never creates them. Resolves with the report as
 * it would be with them.
 */
export async function printSuggestion(
  report: Report,
  facts: ClusterFacts,
  {
    session,
    terminal,
    output,
  }: Pick<Invocation, 'session' | 'terminal'> & { readonly output: Output | undefined },
): Promise<Report> {
  const namespaces = [...new Set(report.vms.filter(isGiveable).map(({ namespace }) => namespace))];
  const { cluster } = session;
  const { kind, isAllowed } = await kindFor(cluster, namespaces);
  const { manifests, ...suggested } = suggest(report, facts, kind);
  if (manifests.length === 0) {
    terminal.warn([
      ...summary(report),
      ...notAutomated(report),
      ...whyNothing(report, facts),
      ...stuckStill(report),
    ]);
    return report;
  }
  const tried = await withTriedRaises(suggested.facts, suggested.report, session);
  const after = tried === suggested.facts ? suggested.report : preflight(report.task, tried);
  const refused = isAllowed ? await refusalsOf(manifests, cluster) : [];
  const comments = [
    ...commentsOn({ manifests, after }, { before: report, mayCreate: isAllowed }),
    ...refused,
  ];
  if (output === 'json') {
    terminal.warn(comments);
    const items =
      manifests.length === 1 ? manifests[0] : { apiVersion: 'v1', kind: 'List', items: manifests };
    terminal.print(structured('json', items ?? {}));
    return refused.length === 0 ? after : report;
  }
  terminal.print(comments.map((line) => `# ${line}`));
  terminal.print(
    manifests.flatMap((manifest, index) => [...(index > 0 ? ['---'] : []), ...structured('yaml', manifest)]),
  );
  return refused.length === 0 ? after : report;
}

/** Why the API server would not create these manifests, by dry runs. */
async function refusalsOf(manifests: readonly Manifest[], cluster: ApiServer): Promise<string[]> {
  const refusals: string[] = [];
  for (const manifest of manifests) {
    const type: ResourceType = manifest.kind === KIND.clusterVmmrq.kind ? CLUSTER_VMMRQS : VMMRQS;
    try {
      await cluster.create(type, manifest, { dryRun: true });
    } catch (error) {
      if (!isRejected(error) && !isNotFound(error) && !isAlreadyExists(error)) throw error;
      refusals.push(
        `You cannot create it so: ${refusalOf(`${manifest.kind} ${manifest.metadata.name}`, error)}`,
      );
    }
  }
  return refusals;
}

/** VMs that are shown with the reason why they stay. */
const MAX_STUCK = 10;

/** Why VMs are stuck that no VMMRQ helps. */
function stuckStill({ vms }: Report): string[] {
  const stuck = vms.filter((vm) => vm.outcome === 'Stuck' && !isGiveable(vm));
  const lines = stuck
    .slice(0, MAX_STUCK)
    .map(({ namespace, name, message }) => `VM ${namespace}/${name} is stuck whatever is given: ${message}`);
  const more = stuck.length - lines.length;
  if (more <= 0) return lines;
  const [are, them] = more === 1 ? ['VM is', 'it'] : ['VMs are', 'them'];
  return [
    ...lines,
    `${String(more)} more ${are} stuck whatever is given; leave out --suggest to see ${them}.`,
  ];
}

/** Why there is nothing to create, and what helps instead. */
function whyNothing({ task, vms }: Report, { state }: ClusterFacts): string[] {
  if (!vms.some(({ outcome }) => outcome === 'Stuck'))
    return ['No VM is stuck on a quota: there is nothing to create.'];
  const first = vms.flatMap(({ namespace, name, waiting }) =>
    waiting === undefined
      ? []
      : [
          `VM ${namespace}/${name} has ${describeWaiting(waiting)}, which waits and comes first: delete it, or give to its purpose ` +
            `(kubectl vmmrq explain ${waiting.migration} -n ${namespace}).`,
        ],
  );
  return [`No VMMRQ for ${purposeOfTask(task, state.kubevirt)} would change that.`, ...first];
}

/** The kind of VMMRQ to suggest: cluster-wide, unless this user may only write VMMRQs in these namespaces. */
async function kindFor(
  cluster: ApiServer,
  namespaces: readonly string[],
): Promise<{ readonly kind: ManifestKind; readonly isAllowed: boolean }> {
  const mayCreate = (right: Omit<Right, 'verb'>): Promise<boolean> =>
    hasRight(cluster, { verb: 'create', ...right });
  if (await mayCreate({ type: CLUSTER_VMMRQS })) return { kind: 'cvmmrq', isAllowed: true };
  const own = await Promise.all(namespaces.map((namespace) => mayCreate({ type: VMMRQS, namespace })));
  const isAllowed = own.length > 0 && !own.includes(false);
  return { kind: isAllowed ? 'vmmrq' : 'cvmmrq', isAllowed };
}

const deletion = ({ metadata: { name, namespace } }: Manifest): string =>
  namespace === undefined ? `kubectl delete cvmmrq ${name}` : `kubectl delete vmmrq ${name} -n ${namespace}`;

/** Comments on the purpose of the manifests, their effect, and the users that may create them. */
function commentsOn(
  { manifests, after }: { readonly manifests: readonly Manifest[]; readonly after: Report },
  { before, mayCreate }: { readonly before: Report; readonly mayCreate: boolean },
): string[] {
  const isClusterWide = manifests[0]?.kind === KIND.clusterVmmrq.kind;
  const who = isClusterWide
    ? `a cluster-admin, or a user bound to ClusterRole ${CLUSTER_PREFIX}cvmmrq-edit`
    : 'a cluster-admin, or a user who may write VMMRQs in the namespace';
  return [
    ...summary(before),
    `With this, ${summary(after)[0] ?? ''}`,
    ...stuckStill(after),
    'The amounts are more than any VM lacks now: they let any of these VMs go last, and are rounded up to whole Mi and tens of m.',
    `Who may create it: ${who}; you ${mayCreate ? 'may' : 'may not'}.`,
    `Afterwards: ${manifests.map(deletion).join('; ')}`,
  ];
}
