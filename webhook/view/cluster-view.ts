import { incumbentAnywhere, incumbentOf, type IncumbentSigns } from '../../functions/domain/incumbent.ts';
import { isPending, isRejectedByQuota, isRunning } from '../../functions/domain/migration.ts';
import type {
  KubernetesObject,
  KubeVirt,
  Migration,
  Namespace,
  Vmmrq,
} from '../../functions/domain/objects.ts';
import type { View } from '../../functions/domain/view.ts';
import { isServed, type ClusterState, type HeldNamespace } from '../../functions/domain/view/slots.ts';
import {
  heldBy,
  limitsOf,
  servedBy,
  stateOf,
  viewOf,
  type ViewInput,
} from '../../functions/domain/view/view-of.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { VMIS } from '../../functions/kubernetes/resources.ts';
import { GROUP, inGroups } from '../../functions/cluster/in-groups.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { isRecentMove } from '../../functions/progress/moves.ts';
import { uidOf } from '../../functions/kubernetes/follow.ts';

/** The guard's in-memory view of the cluster; each watch updates its own part. */
export class ClusterView {
  readonly migrations = new Map<string, Migration>();
  /** Migrations that have ended, and show which VM a drain or an upgrade has moved (isRecentMove). */
  readonly moves = new Map<string, Migration>();
  readonly held = new Map<string, HeldNamespace>();
  readonly vmmrqs = new Map<string, Vmmrq>();
  readonly clusterVmmrqs = new Map<string, Vmmrq>();
  readonly incumbents = new Map<string, KubernetesObject>();
  /** Names of ValidatingWebhookConfigurations. */
  readonly configurations = new Map<string, KubernetesObject>();
  kubevirt: KubeVirt | undefined;
  readonly #nodes = new Map<string, string>();
  /** A node's limit, for which the guard has looked at all migrations; undefined: there are no more than that. */
  #foundBeyond: number | undefined;
  /** Migrations whose node is to be read, by UID. */
  readonly #toFind = new Map<string, Migration>();
  #isFinding = false;
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** The whole view as plain values. */
  state(): ClusterState {
    return stateOf(this.#input());
  }

  /** The view for one namespace; it names no other namespace. */
  viewOf(namespace: string): View {
    return viewOf(this.#input(), namespace);
  }

  /** Whether the namespace has a VMMRQ, or a cluster-wide one may select it. */
  serves(namespace: string): boolean {
    const [vmmrqs, clusterVmmrqs] = [[...this.vmmrqs.values()], [...this.clusterVmmrqs.values()]];
    return isServed({ served: servedBy({ vmmrqs, clusterVmmrqs }) }, namespace);
  }

  /** The text that shows an installed incumbent; undefined: the watches have not seen it. */
  incumbentFor(namespace: string): string | undefined {
    return incumbentOf(this.#signs(), namespace);
  }

  /** What shows the incumbent in any namespace with a VMMRQ or an unfinished migration; undefined: the watches have not seen it. */
  incumbent(): string | undefined {
    const known = [...this.vmmrqs.values(), ...this.migrations.values()];
    return incumbentAnywhere(this.#signs(), new Set(known.map(({ metadata }) => metadata.namespace ?? '')));
  }

  #signs(): IncumbentSigns {
    const { incumbents, configurations } = this;
    return { incumbents, configurations, vmmrqs: this.vmmrqs.values() };
  }

  #input(): ViewInput {
    const { kubevirt, incumbents, configurations } = this;
    return {
      migrations: [...this.migrations.values()],
      held: [...this.held.values()],
      vmmrqs: [...this.vmmrqs.values()],
      clusterVmmrqs: [...this.clusterVmmrqs.values()],
      kubevirt,
      incumbents,
      configurations,
      nodes: this.#nodes,
    };
  }

  setLock(namespace: Namespace): void {
    const held = heldBy(namespace);
    if (held === undefined) this.held.delete(namespace.metadata.name);
    else this.held.set(held.namespace, held);
  }

  /** Frees the migration slots of an overdue lock: none of its migrations can go any more. */
  setOverdue(namespace: string): void {
    const held = this.held.get(namespace);
    if (held !== undefined) this.held.set(namespace, { ...held, launchers: [] });
  }

  setMigration(migration: Migration): void {
    const { uid } = migration.metadata;
    this.migrations.set(uid, migration);
    const node = migration.status?.migrationState?.sourceNode;
    if (node !== undefined && node !== '') this.#nodes.set(uid, node);
    this.#findNodes(migration);
  }

  /** Keeps a move for as long as it, or one that was set before it, is recent. `now`: milliseconds. */
  setMove(move: Migration, now: number): void {
    for (const [uid, known] of this.moves) {
      if (isRecentMove(known, now)) break;
      this.moves.delete(uid);
    }
    this.moves.set(move.metadata.uid, move);
  }

  /** Whether the migration has neither ended nor been cancelled. */
  isToCome(uid: string): boolean {
    const migration = this.migrations.get(uid);
    return migration !== undefined && migration.metadata.deletionTimestamp === undefined;
  }

  /** Whether the migration waits for a pod, as far as its phase shows. */
  isWaiting(uid: string): boolean {
    const migration = this.migrations.get(uid);
    return migration !== undefined && isPending(migration);
  }

  dropMigration(uid: string): void {
    this.migrations.delete(uid);
    this.#nodes.delete(uid);
  }

  /**
   * Finds nodes only if there are more migrations than a node's limit. With at most so many, no node can reach it, so the guard reads
   * no VMI. The first migration beyond the limit makes those before it count.
   */
  #findNodes(migration: Migration): void {
    const { node: limit } = limitsOf(this.kubevirt);
    if (this.migrations.size <= limit) {
      this.#foundBeyond = undefined;
      return;
    }
    const due = this.#foundBeyond === limit ? [migration] : this.migrations.values();
    this.#foundBeyond = limit;
    for (const each of due) if (this.#isToFind(each)) this.#toFind.set(uidOf(each), each);
    if (!this.#isFinding) void this.#findAll();
  }

  #isToFind(migration: Migration): boolean {
    const isAsked = isRunning(migration) || isRejectedByQuota(migration);
    return isAsked && (migration.spec.vmiName ?? '') !== '' && !this.#nodes.has(uidOf(migration));
  }

  /** Finds nodes in groups, one after the other, however many migrations arrive at once: a list brings all of the cluster. */
  async #findAll(): Promise<void> {
    this.#isFinding = true;
    // The migrations of the same list arrive meanwhile.
    await Promise.resolve();
    while (this.#toFind.size > 0) {
      const open = [...this.#toFind.values()].slice(0, GROUP);
      for (const each of open) this.#toFind.delete(uidOf(each));
      const present = open.filter((each) => this.migrations.has(uidOf(each)));
      await inGroups(present, (each) => this.#findNode(each));
    }
    this.#isFinding = false;
  }

  /** Reads once where the VM of a migration runs. A migration without a known node counts on no node. */
  async #findNode({ metadata: { uid, namespace = '' }, spec: { vmiName = '' } }: Migration): Promise<void> {
    if (this.#nodes.has(uid)) return;
    this.#nodes.set(uid, '');
    try {
      const read = await ignoreNotFound(this.#cluster.get(VMIS, { namespace, name: vmiName }));
      const node = read?.object.status?.nodeName;
      if (node !== undefined && this.migrations.has(uid)) this.#nodes.set(uid, node);
    } catch {
      this.#nodes.delete(uid);
      // The next event makes the guard look at all migrations again.
      this.#foundBeyond = undefined;
      this.#toFind.clear();
    }
  }
}
