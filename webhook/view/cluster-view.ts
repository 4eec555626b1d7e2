import { hasAutoLimits } from '../../functions/domain/sizing/auto-limits.ts';
import { MAX_ENTRIES } from '../../functions/domain/bounded.ts';
import { CONDITION } from '../../functions/domain/names.ts';
import { lockOf } from '../../functions/domain/lock.ts';
import { isPending, isRejectedByQuota, isRunning } from '../../functions/domain/migration.ts';
import type {
  KubernetesObject,
  KubeVirt,
  Migration,
  Namespace,
  Vmmrq,
} from '../../functions/domain/objects.ts';
import type { View } from '../../functions/domain/view.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { VMIS } from '../../functions/kubernetes/resources.ts';
import { ignoreNotFound } from '../../functions/cluster/snapshot.ts';
import {
  hasOtherWaiters,
  isQueued,
  isServed,
  slotsLeft,
  type ClusterState,
  type HeldNamespace,
} from './slots.ts';

/** KubeVirt's defaults (MigrationConfiguration). */
const DEFAULT_LIMITS = { cluster: 5, node: 2 } as const;

/** Whether its status is written and reports no work in progress. */
const hasReportedAll = ({ status }: Vmmrq): boolean => {
  const holds = (status?.conditions ?? []).filter((condition) => condition.status === 'True');
  return holds.length > 0 && holds.every(({ type }) => type === CONDITION.ready);
};

export const uidOf = ({ metadata }: KubernetesObject): string => metadata.uid;

/** The guard's in-memory view of the cluster; each watch updates its own part. */
export class ClusterView {
  readonly migrations = new Map<string, Migration>();
  readonly held = new Map<string, HeldNamespace>();
  readonly vmmrqs = new Map<string, Vmmrq>();
  readonly clusterVmmrqs = new Map<string, Vmmrq>();
  readonly incumbents = new Map<string, KubernetesObject>();
  /** Names of ValidatingWebhookConfigurations. */
  readonly configurations = new Map<string, KubernetesObject>();
  kubevirt: KubeVirt | undefined;
  readonly #nodes = new Map<string, string>();
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** The whole view as plain values. */
  state(): ClusterState {
    const migrations = this.kubevirt?.spec?.configuration?.migrations;
    return {
      migrations: [...this.migrations.values()],
      held: [...this.held.values()],
      served:
        this.clusterVmmrqs.size > 0
          ? 'all'
          : new Set([...this.vmmrqs.values()].map(({ metadata }) => metadata.namespace ?? '')),
      limits: {
        cluster: migrations?.parallelMigrationsPerCluster ?? DEFAULT_LIMITS.cluster,
        node: migrations?.parallelOutboundMigrationsPerNode ?? DEFAULT_LIMITS.node,
      },
      nodes: this.#nodes,
    };
  }

  /** The view for one namespace; it names no other namespace. */
  viewOf(namespace: string): View {
    const state = this.state();
    const incumbent = this.incumbentFor(namespace);
    const left = slotsLeft(state, namespace);
    const ratio = this.kubevirt?.spec?.configuration?.additionalGuestMemoryOverheadRatio;
    return {
      left,
      limits: state.limits,
      others: hasOtherWaiters(state, namespace),
      served: isServed(state, namespace),
      clusterWide: this.clusterVmmrqs.size > 0,
      open: this.#openIn(namespace, state, left),
      kubevirt: { overheadRatio: ratio ?? '1', autoLimits: hasAutoLimits(this.kubevirt) },
      ...(incumbent === undefined ? {} : { incumbent }),
    };
  }

  #openIn(namespace: string, state: ClusterState, left: View['left']): View['open'] {
    const own = ({ metadata }: KubernetesObject): boolean => metadata.namespace === namespace;
    const waiting = state.migrations.filter((each) => own(each) && isPending(each));
    const queued = waiting.filter((each) => isRejectedByQuota(each) && isQueued(state, left, each));
    return {
      waiting: waiting.slice(0, MAX_ENTRIES).map(uidOf),
      queued: queued.slice(0, MAX_ENTRIES).map(uidOf),
      status: [...this.vmmrqs.values()].some((vmmrq) => own(vmmrq) && !hasReportedAll(vmmrq)),
    };
  }

  /**
   * What shows an installed incumbent (kubevirt/managed-tenant-quota); undefined: the watches have not seen it. The two projects
   * would undo each other's writes.
   */
  incumbentFor(namespace: string): string | undefined {
    const [mtq] = this.incumbents.values();
    if (mtq !== undefined) {
      return `the incumbent is installed (MTQ object ${mtq.metadata.name})`;
    }
    const name = `lock.${namespace}.com`;
    if (!this.configurations.has(name)) return undefined;
    return `the incumbent locks this namespace (ValidatingWebhookConfiguration ${name})`;
  }

  setLock(namespace: Namespace): void {
    const { name } = namespace.metadata;
    const state = lockOf(namespace);
    if (state.kind !== 'held') {
      this.held.delete(name);
      return;
    }
    const { token, migrations } = state.lock;
    const launchers = migrations.flatMap(({ uid, lacks }) => (lacks === undefined ? [uid] : []));
    this.held.set(name, { namespace: name, token, launchers });
  }

  setMigration(migration: Migration): void {
    const { uid } = migration.metadata;
    this.migrations.set(uid, migration);
    const node = migration.status?.migrationState?.sourceNode;
    if (node !== undefined && node !== '') this.#nodes.set(uid, node);
    this.#findNodes();
  }

  dropMigration(uid: string): void {
    this.migrations.delete(uid);
    this.#nodes.delete(uid);
  }

  /** With at most as many migrations as a node's limit, no node can reach it, so the guard reads no VMI. */
  #findNodes(): void {
    const own = this.kubevirt?.spec?.configuration?.migrations?.parallelOutboundMigrationsPerNode;
    if (this.migrations.size <= (own ?? DEFAULT_LIMITS.node)) return;
    for (const migration of this.migrations.values()) {
      if (isRunning(migration) || isRejectedByQuota(migration)) void this.#findNode(migration);
    }
  }

  /** Reads once where the VM of a migration runs. A migration without a known node counts on no node. */
  async #findNode({ metadata: { uid, namespace = '' }, spec: { vmiName = '' } }: Migration): Promise<void> {
    if (this.#nodes.has(uid) || vmiName === '') return;
    this.#nodes.set(uid, '');
    try {
      const read = await ignoreNotFound(this.#cluster.get(VMIS, { namespace, name: vmiName }));
      const node = read?.object.status?.nodeName;
      if (node !== undefined && this.migrations.has(uid)) this.#nodes.set(uid, node);
    } catch {
      this.#nodes.delete(uid);
    }
  }
}
