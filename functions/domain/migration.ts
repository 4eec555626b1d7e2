import type { Reference } from './lock.ts';
import { KUBEVIRT } from './names.ts';
import type { Migration, Pod } from './objects.ts';

export const referenceOf = ({ metadata }: Migration): Reference => ({
  name: metadata.name,
  uid: metadata.uid,
});

/** Failed or Succeeded (facts/kubevirt.md §1.1). */
export const isFinal = ({ status }: Migration): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded';

/** KubeVirt's own IsRunning (types.go): past Pending, not yet final. */
export function isRunning({ status }: Migration): boolean {
  const waiting = ['', 'Pending', 'WaitingForSync', 'Synchronizing', 'Failed', 'Succeeded'];
  return !waiting.includes(status?.phase ?? '');
}

/**
 * The migration's target launcher. Its label outlives the migration, so the UID must be that of a migration looked at
 * (facts/kubevirt.md §1.2). Any phase counts: an admitted pod was charged.
 */
export const targetPodOf = ({ uid }: Reference, launchers: readonly Pod[]): Pod | undefined =>
  launchers.find(
    ({ metadata }) =>
      metadata.labels?.[KUBEVIRT.migrationJobUID] === uid &&
      metadata.labels[KUBEVIRT.launcherLabel] === KUBEVIRT.launcher,
  );

/** Each of these has its target pod. */
export const gotThrough = (migrations: readonly Reference[], launchers: readonly Pod[]): boolean =>
  migrations.every((migration) => targetPodOf(migration, launchers) !== undefined);

/** As much of a migration as says whether a quota refused it. */
interface Refusable {
  readonly metadata: { readonly deletionTimestamp?: string | undefined };
  readonly status?:
    | {
        readonly phase?: string | undefined;
        readonly conditions?: readonly { readonly type: string; readonly status: string }[] | undefined;
      }
    | undefined;
}

/** By a quota, as far as is still said of it: the condition outlives the refusal (§1.3). */
export const wasRejectedByQuota = ({ status }: Pick<Refusable, 'status'>): boolean =>
  (status?.conditions ?? []).some(
    (condition) => condition.type === KUBEVIRT.rejectedByQuota && condition.status === 'True',
  );

/** Refused by a quota as far as KubeVirt's condition says: it is never cleared while Pending (§1.3). */
export const isRejectedByQuota = (migration: Refusable): boolean =>
  migration.status?.phase === 'Pending' &&
  migration.metadata.deletionTimestamp === undefined &&
  wasRejectedByQuota(migration);

/** Blocked: refused, and without a target pod. The condition alone is stale once the pod is there. */
export const isBlocked = (migration: Migration, launchers: readonly Pod[]): boolean =>
  isRejectedByQuota(migration) && targetPodOf(referenceOf(migration), launchers) === undefined;

/** The receiving side of a cross-cluster migration: its pod stays for good (KubeVirt IsDecentralizedTarget). */
export const isReceiving = ({ spec }: Migration): boolean =>
  spec.receive !== undefined && spec.receive.migrationID !== spec.sendTo?.migrationID;

const PRIORITY: Readonly<Record<string, number>> = {
  'system-critical': 100,
  'user-triggered': 50,
  'system-maintenance': 20,
};

/** KubeVirt's priority, then age, then name: who goes first. */
export function byTurn(one: Migration, other: Migration): number {
  const rank = ({ spec }: Migration): number => PRIORITY[spec.priority ?? ''] ?? 0;
  const ahead = rank(other) - rank(one);
  if (ahead !== 0) return ahead;
  const key = ({ metadata }: Migration): string => `${metadata.creationTimestamp} ${metadata.name}`;
  return key(one) < key(other) ? -1 : 1;
}

const isDone = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** The launcher that the VM runs in now: the pod whose admitted spec the target's is like (§2.2). */
export function sourcePodOf(migration: Migration, launchers: readonly Pod[], node?: string): Pod | undefined {
  const candidates = launchers.filter(
    (pod) =>
      !isDone(pod) &&
      pod.metadata.labels?.[KUBEVIRT.migrationJobUID] !== migration.metadata.uid &&
      pod.metadata.ownerReferences?.some(
        ({ kind, name, controller }) =>
          kind === 'VirtualMachineInstance' && name === migration.spec.vmiName && controller === true,
      ),
  );
  return candidates.find(({ spec }) => spec.nodeName === node) ?? candidates[0];
}

/**
 * Launchers of one VM that are charged twice until the former one ends: their room comes back by itself. True while a
 * migration is under way, and for the moment between its success and the end of the source pod.
 */
export function overlaps(launchers: readonly Pod[]): boolean {
  const vms = launchers
    .filter((pod) => !isDone(pod))
    .map(({ metadata }) => metadata.labels?.[KUBEVIRT.createdBy]);
  return new Set(vms).size < vms.length;
}
