import { ADVICE } from '../../functions/domain/advice.ts';
import { isLockExpired, lockOf } from '../../functions/domain/lock.ts';
import { isPending } from '../../functions/domain/migration.ts';
import type { Reason } from '../../functions/domain/names.ts';
import type { ClusterVmmrq, Namespace, ResourceQuota, Vmmrq } from '../../functions/domain/objects.ts';
import { inForce, purposesOf } from '../../functions/domain/policy/policy.ts';
import { formatQuantity } from '../../functions/domain/quantity.ts';
import { grantOf } from '../../functions/domain/quota/grant.ts';
import type { Verdict, VerdictName } from '../../functions/domain/verdict/verdict.ts';
import type { ViewInput } from '../../functions/domain/view/view-of.ts';
import { vmmrqName } from '../../functions/domain/vmmrq-name.ts';

/** The objects of this project in the cluster; the shape of `-o json`. */
export interface StatusReport {
  readonly clusterWide: readonly ClusterWideStatus[];
  /** Namespaces with a VMMRQ, a lock, a raised quota or a waiting migration; by name. */
  readonly namespaces: readonly NamespaceStatus[];
}

export interface ClusterWideStatus {
  readonly name: string;
  readonly purposes: readonly string[];
  /** Number of namespaces that the VMMRQ selects. */
  readonly namespaces: number;
}

export interface NamespaceStatus {
  readonly namespace: string;
  /** The VMMRQs in force here: the namespace's own, and cluster-wide ones. */
  readonly vmmrqs: readonly string[];
  readonly lock?: LockStatus;
  readonly raised: readonly RaisedStatus[];
  readonly waiting: readonly WaitingStatus[];
}

export type LockStatus =
  | {
      readonly token: string;
      readonly acquiredAt: string;
      readonly expiresAt: string;
      readonly isExpired: boolean;
      readonly migrations: readonly string[];
      readonly quotas: readonly string[];
    }
  | { readonly problem: string };

export interface RaisedStatus {
  readonly quota: string;
  /** The temporary amount of each raised key. */
  readonly keys: Readonly<Record<string, string>>;
}

export interface WaitingStatus {
  readonly migration: string;
  readonly verdict: VerdictName;
  readonly reason: Reason;
  readonly message: string;
  readonly advice: string;
  readonly blocking: readonly { readonly quota: string; readonly key: string; readonly missing: string }[];
}

/** The objects that `status` has read. */
export interface StatusInput {
  readonly state: Pick<ViewInput, 'vmmrqs' | 'migrations'> & {
    readonly locked: readonly Namespace[];
    readonly clusterVmmrqs: readonly (Vmmrq | ClusterVmmrq)[];
    readonly now: number;
  };
  /** The only namespace to show; undefined: all. */
  readonly namespace?: string | undefined;
  /** Every namespace of the cluster, with its labels: a cluster-wide VMMRQ may select any of them. */
  readonly namespaces: readonly Namespace[];
  /** Quotas that have the label of a raise. */
  readonly raised: readonly ResourceQuota[];
  /** Verdicts by namespace. */
  readonly verdicts: ReadonlyMap<string, readonly Verdict[]>;
}

/** Namespaces where a migration may wait. No condition shows a refused attachment pod (facts/kubevirt.md §1.3). */
export const waitingNamespaces = ({ migrations }: Pick<ViewInput, 'migrations'>): Set<string> =>
  new Set(migrations.filter(isPending).map(({ metadata }) => metadata.namespace ?? ''));

export function reportOf(input: StatusInput): StatusReport {
  const { state, namespaces, namespace: only } = input;
  return {
    clusterWide: state.clusterVmmrqs.map((vmmrq) => ({
      name: vmmrq.metadata.name,
      purposes: purposesOf(vmmrq) ?? [],
      namespaces: namespaces.filter(({ metadata }) => inForce([vmmrq], metadata.labels).length > 0).length,
    })),
    namespaces: namespaces
      .filter(({ metadata }) => only === undefined || metadata.name === only)
      .map((namespace) => statusOf(namespace, input))
      .filter(isWorthShowing)
      .toSorted((one, other) => (one.namespace < other.namespace ? -1 : 1)),
  };
}

/** Whether a namespace is shown: a namespace that only a cluster-wide VMMRQ selects is counted, not shown. */
const isWorthShowing = ({ vmmrqs, lock, raised, waiting }: NamespaceStatus): boolean =>
  vmmrqs.some((name) => !name.includes('/')) || lock !== undefined || raised.length > 0 || waiting.length > 0;

function statusOf(namespace: Namespace, { state, raised, verdicts }: StatusInput): NamespaceStatus {
  const { name, labels } = namespace.metadata;
  const locked = state.locked.find(({ metadata }) => metadata.name === name);
  const lock = locked === undefined ? undefined : lockStatus(locked, state.now);
  const own = state.vmmrqs.filter(({ metadata }) => metadata.namespace === name);
  return {
    namespace: name,
    vmmrqs: inForce([...own, ...state.clusterVmmrqs], labels).map(vmmrqName),
    ...(lock === undefined ? {} : { lock }),
    raised: raised.filter(({ metadata }) => metadata.namespace === name).map(raisedStatus),
    waiting: (verdicts.get(name) ?? []).filter(({ verdict }) => verdict !== 'NotBlocked').map(waitingStatus),
  };
}

function lockStatus(namespace: Namespace, now: number): LockStatus | undefined {
  const state = lockOf(namespace);
  if (state.kind === 'none') return undefined;
  if (state.kind === 'malformed') return { problem: state.problem };
  const { token, acquiredAt, expiresAt, migrations, quotas } = state.lock;
  const namesOf = (of: readonly { readonly name: string }[]): string[] => of.map(({ name }) => name);
  return {
    token,
    acquiredAt,
    expiresAt,
    isExpired: isLockExpired(state.lock, now),
    migrations: namesOf(migrations),
    quotas: namesOf(quotas),
  };
}

function raisedStatus(quota: ResourceQuota): RaisedStatus {
  const state = grantOf(quota);
  return { quota: quota.metadata.name, keys: state.kind === 'held' ? state.grant.raised : {} };
}

const waitingStatus = ({ migration, verdict, reason, message, blocking }: Verdict): WaitingStatus => ({
  migration: migration.name,
  verdict,
  reason,
  message,
  advice: ADVICE[reason],
  blocking: blocking.flatMap(({ quota, shortfalls }) =>
    shortfalls.map(({ key, missing }) => ({ quota: quota.name, key, missing: formatQuantity(missing) })),
  ),
});
