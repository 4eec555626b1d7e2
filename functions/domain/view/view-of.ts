import { MAX_ENTRIES } from '../bounded.ts';
import { lockOf, type LockedMigration } from '../lock.ts';
import { incumbentOf, type IncumbentSigns } from '../incumbent.ts';
import { isRejectedByQuota } from '../migration.ts';
import { CONDITION } from '../names.ts';
import type { KubernetesObject, KubeVirt, Migration, Namespace, Vmmrq } from '../objects.ts';
import { drainTaintOf } from '../policy/purpose.ts';
import { rulesInView } from '../sizing/launcher-rules.ts';
import { MAX_MIGRATIONS_IN_VIEW, type View } from '../view.ts';
import {
  hasOtherWaiters,
  isQueued,
  isServed,
  slotsLeft,
  type ClusterState,
  type HeldNamespace,
} from './slots.ts';

/** What the view of the cluster is derived from, as read or as watched. */
export interface ViewInput extends Pick<ClusterState, 'migrations' | 'held' | 'nodes'>, IncumbentSigns {
  readonly vmmrqs: readonly Vmmrq[];
  readonly clusterVmmrqs: readonly Vmmrq[];
  /** The KubeVirt object; undefined: KubeVirt is not installed, or not where it should be. */
  readonly kubevirt: KubeVirt | undefined;
}

/** KubeVirt's defaults (MigrationConfiguration). */
const DEFAULT_LIMITS = { cluster: 5, node: 2 } as const;

/** KubeVirt's limits (facts/kubevirt.md §1.5). */
export function limitsOf(kubevirt: KubeVirt | undefined): View['limits'] {
  const migrations = kubevirt?.spec?.configuration?.migrations;
  return {
    cluster: migrations?.parallelMigrationsPerCluster ?? DEFAULT_LIMITS.cluster,
    node: migrations?.parallelOutboundMigrationsPerNode ?? DEFAULT_LIMITS.node,
  };
}

export const stateOf = ({
  migrations,
  held,
  nodes,
  vmmrqs,
  clusterVmmrqs,
  kubevirt,
}: ViewInput): ClusterState => ({
  migrations,
  held,
  served: servedBy({ vmmrqs, clusterVmmrqs }),
  limits: limitsOf(kubevirt),
  nodes,
});

/** The namespaces that have a VMMRQ; 'all': a cluster-wide one may select any. */
export const servedBy = ({
  vmmrqs,
  clusterVmmrqs,
}: Pick<ViewInput, 'vmmrqs' | 'clusterVmmrqs'>): ClusterState['served'] =>
  clusterVmmrqs.length > 0 ? 'all' : new Set(vmmrqs.map(({ metadata }) => metadata.namespace ?? ''));

/** The view for one namespace; it names no other namespace. */
export function viewOf(input: ViewInput, namespace: string): View {
  const state = stateOf(input);
  const incumbent = incumbentOf(input, namespace);
  const left = slotsLeft(state, namespace);
  const own = state.migrations.filter(({ metadata }) => metadata.namespace === namespace);
  return {
    left,
    limits: state.limits,
    others: hasOtherWaiters(state, namespace),
    served: isServed(state, namespace),
    clusterWide: input.clusterVmmrqs.length > 0,
    ...(own.length > MAX_MIGRATIONS_IN_VIEW ? {} : { migrations: own }),
    open: {
      queued: queuedAmong(own, state, left),
      slotless: queuedAmong(own, state, slotsLeft({ ...state, held: [] }, namespace)),
      status: input.vmmrqs.some((vmmrq) => vmmrq.metadata.namespace === namespace && !hasReportedAll(vmmrq)),
    },
    kubevirt: { ...rulesInView(input.kubevirt), drainTaint: drainTaintOf(input.kubevirt) },
    ...(incumbent === undefined ? {} : { incumbent }),
  };
}

const queuedAmong = (own: readonly Migration[], state: ClusterState, left: View['left']): string[] =>
  own
    .filter((each) => isRejectedByQuota(each) && isQueued(state, left, each))
    .slice(0, MAX_ENTRIES)
    .map(uidOf);

const uidOf = ({ metadata }: KubernetesObject): string => metadata.uid;

/** Whether its status is written and reports no work in progress. */
const hasReportedAll = ({ status }: Vmmrq): boolean => {
  const holds = (status?.conditions ?? []).filter((condition) => condition.status === 'True');
  return holds.length > 0 && holds.every(({ type }) => type === CONDITION.ready);
};

/** The lock that a namespace holds; undefined: none that can be read. */
export function heldBy(namespace: Namespace): HeldNamespace | undefined {
  const state = lockOf(namespace);
  if (state.kind !== 'held') return undefined;
  const { token, migrations, ended, acquiredAt } = state.lock;
  const isAwaited = ({ lacks }: LockedMigration): boolean => ended === undefined && lacks === undefined;
  const launchers = migrations.filter(isAwaited).map(({ uid }) => uid);
  return { namespace: namespace.metadata.name, token, launchers, since: Date.parse(acquiredAt) };
}
