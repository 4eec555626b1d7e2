import {
  byPriority,
  CLOCKS_APART_MS,
  isPending,
  isRejectedByQuota,
  isRunning,
  rejectedAt,
} from '../migration.ts';
import type { BlockedMigration, Reference } from '../lock.ts';
import { KUBEVIRT } from '../names.ts';
import type { Migration } from '../objects.ts';
import type { View } from '../view.ts';

/** A locked namespace, with the migrations that will get a target launcher. */
export interface HeldNamespace {
  readonly namespace: string;
  readonly token: string;
  /** UIDs of the migrations that wait for their target launcher. */
  readonly launchers: readonly string[];
  /** When it was locked, milliseconds; left out: not known. */
  readonly since?: number;
}

export interface MigrationInNamespace extends Reference {
  readonly namespace: string;
  /** The name of its VMI. */
  readonly vmi: string | undefined;
}

/** The cluster as the guard sees it. */
export interface ClusterState {
  /** Every migration that has not ended. */
  readonly migrations: readonly Migration[];
  readonly held: readonly HeldNamespace[];
  /** Namespaces with a VMMRQ; 'all' where a cluster-wide one may select any of them. */
  readonly served: ReadonlySet<string> | 'all';
  /** KubeVirt's limits (facts/kubevirt.md §1.5). */
  readonly limits: View['limits'];
  /** The node that a migration's VM leaves, by the migration's UID; '' or missing: not known yet. */
  readonly nodes: ReadonlyMap<string, string>;
}

/** The free slots for a namespace, by KubeVirt's count: running migrations, and those of other locked namespaces, take one each. */
export function slotsLeft(state: ClusterState, namespace: string): View['left'] {
  const inUse = slotsInUse(state, namespace);
  const outbound = new Map<string, number>();
  for (const { metadata } of inUse) {
    const node = state.nodes.get(metadata.uid);
    if (node !== undefined && node !== '') outbound.set(node, (outbound.get(node) ?? 0) + 1);
  }
  const { cluster, node: perNode } = state.limits;
  return {
    cluster: Math.max(0, cluster - inUse.length),
    node: perNode,
    nodes: Object.fromEntries([...outbound].map(([node, used]) => [node, Math.max(0, perNode - used)])),
  };
}

/** Migrations that have a slot or will get the next one. */
function slotsInUse({ migrations, held }: ClusterState, namespace: string): Migration[] {
  const awaited = new Set(
    held.filter((each) => each.namespace !== namespace).flatMap(({ launchers }) => launchers),
  );
  return migrations.filter((each) => isRunning(each) || (isPending(each) && awaited.has(each.metadata.uid)));
}

/**
 * Whether no slot is left for a pending migration, out of what `slotsLeft` gives for its namespace. Of one that was never refused only
 * KubeVirt's annotation shows the node.
 */
export function isQueued({ nodes }: ClusterState, left: View['left'], { metadata }: Migration): boolean {
  const known = nodes.get(metadata.uid) ?? '';
  const node = known === '' ? (metadata.annotations?.[KUBEVIRT.evacuation] ?? '') : known;
  const onNode = node === '' ? undefined : (left.nodes[node] ?? left.node);
  return left.cluster === 0 || onNode === 0;
}

/** Whether KubeVirt has no slot for any of a lock's migrations. `queued`: UIDs by the guard's view; one with its target is not among them. */
export const allWaitForSlot = (migrations: readonly BlockedMigration[], queued: readonly string[]): boolean =>
  migrations.length > 0 && migrations.every(({ uid, lacks }) => lacks === undefined && queued.includes(uid));

/**
 * Whether the end of this lock needs a turn: a migration of it still waits, so that its slot is free again, or one was refused since the
 * lock began, of which an event may have found only the lock. The others are the next lock's, or wait for what no slot gives them.
 */
export const leavesWaiters = (
  { namespace, launchers, since = -Infinity }: HeldNamespace,
  migrations: readonly Migration[],
): boolean =>
  migrations.some(
    (each) =>
      (launchers.includes(each.metadata.uid) && isPending(each)) ||
      (each.metadata.namespace === namespace &&
        isRejectedByQuota(each) &&
        !(rejectedAt(each) < since - CLOCKS_APART_MS)),
  );

/** Whether the namespace has a VMMRQ, or a cluster-wide one may select it. */
export const isServed = ({ served }: Pick<ClusterState, 'served'>, namespace: string): boolean =>
  served === 'all' || served.has(namespace);

/** Whether another namespace has a blocked migration or is locked. */
export const hasOtherWaiters = ({ migrations, held }: ClusterState, namespace: string): boolean =>
  migrations.some((each) => each.metadata.namespace !== namespace && isRejectedByQuota(each)) ||
  held.some((each) => each.namespace !== namespace);

/** The namespaces that the guard has notified. */
export interface Notified {
  /** Whether the namespace got enough events for now. */
  readonly isTried: (namespace: string) => boolean;
  /** How often all its events had no effect. */
  readonly fruitless: (namespace: string) => number;
}

/**
 * Migrations that could use a free slot now, one of each namespace that has a VMMRQ and no lock. Sorted by how rarely the namespace's
 * events had no effect, then KubeVirt's priority, then age. At most one for each free slot, in the cluster and on each node.
 */
export function migrationsToNotify(
  state: ClusterState,
  { isTried, fruitless }: Notified,
): MigrationInNamespace[] {
  const isHeld = new Set(state.held.map(({ namespace }) => namespace));
  const mayGo = (namespace: string): boolean =>
    isServed(state, namespace) && !isHeld.has(namespace) && !isTried(namespace);
  const left = slotsLeft(state, '');
  const perNode = new Map(Object.entries(left.nodes));
  const chosen = new Map<string, MigrationInNamespace>();
  for (const { metadata, spec } of sorted(state.migrations.filter(isRejectedByQuota), fruitless)) {
    const { namespace = '', name, uid } = metadata;
    if (chosen.size >= left.cluster) break;
    if (chosen.has(namespace) || !mayGo(namespace)) continue;
    const node = state.nodes.get(uid) ?? '';
    const onNode = perNode.get(node) ?? left.node;
    if (onNode <= 0) continue;
    if (node !== '') perNode.set(node, onNode - 1);
    chosen.set(namespace, { namespace, name, uid, vmi: spec.vmiName });
  }
  return [...chosen.values()];
}

function sorted(migrations: readonly Migration[], fruitless: Notified['fruitless']): Migration[] {
  const turns = ({ metadata }: Migration): number => fruitless(metadata.namespace ?? '');
  return migrations.toSorted((one, other) => turns(one) - turns(other) || byPriority(one, other));
}
