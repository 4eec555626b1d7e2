import type { Clock } from '../../functions/runtime/clock.ts';
import type { KubernetesObject, Migration, Vmmrq } from '../../functions/domain/objects.ts';
import type { IncumbentState } from '../../functions/domain/proof.ts';
import { listedMigrations, named } from '../../functions/cluster/listed.ts';
import { LISTED_CLUSTER_VMMRQS, LISTED_STATES_OF_VMMRQS } from '../../functions/cluster/listed-vmmrqs.ts';
import type { Cluster, ListedType, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { isFinal, isRejectedByQuota } from '../../functions/domain/migration.ts';
import { isSame } from '../../functions/domain/same.ts';
import { limitsOf } from '../../functions/domain/view/view-of.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { type Changes, follow, inMap, uidOf } from '../../functions/kubernetes/follow.ts';
import { KUBEVIRTS, MTQS, WEBHOOK_CONFIGURATIONS } from '../../functions/kubernetes/resources.ts';
import { isRecentMove } from '../../functions/progress/moves.ts';
import type { Log } from '../../functions/runtime/log.ts';
import { type ClusterView } from './cluster-view.ts';

export interface WatchesOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
  readonly kubevirtNamespace: string;
  /** Receives a migration once when it is cancelled, and once when it has ended or is gone. */
  readonly onEnded: (uid: string) => void;
  /** Receives a namespace whenever a quota begins to refuse one of its migrations; not what the first list shows. */
  readonly onRefused: (namespace: string) => void;
  /** Receives a namespace whenever one of its VMMRQs is new or has changed. */
  readonly onVmmrq: (namespace: string) => void;
  /** Runs when a cluster-wide VMMRQ is new, or its spec has changed. */
  readonly onClusterVmmrq: () => void;
  /** Runs when KubeVirt's limits of parallel migrations have changed. */
  readonly onLimits: () => void;
  /** Runs when every kind has been listed, again where a list failed meanwhile. */
  readonly onReady: () => void;
}

/** Keeps a cluster view up to date by one watch for each kind, without periodic lists. */
export class Watches {
  readonly #view: ClusterView;
  readonly #options: WatchesOptions;
  readonly #listed = new Set<string>();
  /** Reasons why the last list or watch failed, by plural. */
  readonly #problems = new Map<string, string>();

  constructor(view: ClusterView, options: WatchesOptions) {
    this.#view = view;
    this.#options = options;
  }

  /** Whether every kind has been listed, so that the view is complete. */
  get isReady(): boolean {
    return this.#listed.size === KINDS;
  }

  /**
   * The state of the incumbent; unknown until its kinds have been listed: a new guard does not know yet, and a guard without the right
   * to list them never knows. An MTQ kind that is not installed counts as listed.
   */
  incumbentFor(namespace: string): IncumbentState {
    const message = this.#view.incumbentFor(namespace);
    if (message !== undefined) return { kind: 'present', message };
    const missing = INCUMBENT_KINDS.filter(({ plural }) => !this.#listed.has(plural));
    if (missing.length === 0) return { kind: 'absent' };
    const names = missing.map(({ plural }) => {
      const problem = this.#problems.get(plural);
      return problem === undefined ? plural : `${plural} (${problem})`;
    });
    const why = `the guard has not listed ${names.join(', ')} yet, so it does not know whether kubevirt/managed-tenant-quota is installed`;
    return { kind: 'unknown', why };
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const view = this.#view;
    await Promise.all([
      this.#followMigrations(signal),
      this.#follow(LISTED_STATES_OF_VMMRQS, this.#ofVmmrqs(), { signal }),
      this.#follow(LISTED_CLUSTER_VMMRQS, this.#ofClusterVmmrqs(), { signal, isOptional: true }),
      this.#follow(KUBEVIRTS, this.#ofKubeVirt(), { signal, isOptional: true }),
      this.#follow(named(MTQS), inMap(view.incumbents), { signal, isOptional: true }),
      this.#follow(named(WEBHOOK_CONFIGURATIONS), inMap(view.configurations, nameOf), { signal }),
    ]);
  }

  async #followMigrations(signal: AbortSignal): Promise<void> {
    const view = this.#view;
    const { onEnded, onRefused, clock } = this.#options;
    const now = (): number => clock.now().getTime();
    let isFirstList = true;
    // An ended migration stays in the cluster, and its later patches and its deletion arrive here too.
    const gone = (uid: string): void => {
      if (!view.migrations.has(uid)) return;
      view.dropMigration(uid);
      onEnded(uid);
    };
    const apply = (migration: Migration): void => {
      const { uid } = migration.metadata;
      if (isFinal(migration)) {
        view.setMove(migration, now());
        gone(uid);
        return;
      }
      const before = view.migrations.get(uid);
      view.setMigration(migration);
      const begins = (is: (each: Migration) => boolean): boolean =>
        is(migration) && (before === undefined || !is(before));
      // Without KubeVirt, its finalizer keeps the migration for long, with any number of patches: report it only once.
      if (begins(isCancelled)) onEnded(uid);
      if (begins(isRejectedByQuota) && !isFirstList) onRefused(migration.metadata.namespace ?? '');
    };
    await this.#follow(
      listedMigrations((each) => isFinal(each) && !isRecentMove(each, now())),
      {
        onList: (migrations) => {
          view.moves.clear();
          const present = new Set(migrations.map(({ metadata }) => metadata.uid));
          for (const uid of [...view.migrations.keys()]) if (!present.has(uid)) gone(uid);
          for (const migration of migrations) apply(migration);
          isFirstList = false;
        },
        onChange: apply,
        onGone: ({ metadata }) => {
          view.moves.delete(metadata.uid);
          gone(metadata.uid);
        },
      },
      { signal, isOptional: true },
    );
  }

  #hasListed({ plural }: { readonly plural: string }): void {
    const before = this.#listed.size;
    this.#listed.add(plural);
    if (before < KINDS && this.#listed.size === KINDS) this.#options.onReady();
  }

  #ofVmmrqs(): Changes<Vmmrq> {
    const { onList, onChange, onGone } = inMap(this.#view.vmmrqs);
    return {
      onList,
      onChange: (vmmrq) => {
        onChange(vmmrq);
        this.#options.onVmmrq(vmmrq.metadata.namespace ?? '');
      },
      onGone,
    };
  }

  #ofClusterVmmrqs(): Changes<Vmmrq> {
    const { clusterVmmrqs } = this.#view;
    const { onList, onChange, onGone } = inMap(clusterVmmrqs);
    const { onClusterVmmrq } = this.#options;
    return {
      onList,
      onChange: (vmmrq) => {
        const known = clusterVmmrqs.get(uidOf(vmmrq));
        onChange(vmmrq);
        // The status does not count: it is a report.
        if (known?.metadata.generation !== vmmrq.metadata.generation) onClusterVmmrq();
      },
      onGone,
    };
  }

  #ofKubeVirt(): Changes<NonNullable<ClusterView['kubevirt']>> {
    const view = this.#view;
    const isOurs = ({ metadata }: KubernetesObject): boolean =>
      metadata.namespace === this.#options.kubevirtNamespace;
    const set = (now: ClusterView['kubevirt']): void => {
      const [before, after] = [limitsOf(view.kubevirt), limitsOf(now)];
      view.kubevirt = now;
      // A refused migration gets no event of such a change.
      if (!isSame(before, after)) this.#options.onLimits();
    };
    return {
      onList: (all) => set(all.find(isOurs)),
      onChange: (one) => set(isOurs(one) ? one : view.kubevirt),
      onGone: (one) => set(isOurs(one) ? undefined : view.kubevirt),
    };
  }

  async #follow<T extends KubernetesObject>(
    type: ResourceType<T> | ListedType<T>,
    { onList, onChange, onGone }: Changes<T>,
    how: { readonly signal: AbortSignal; readonly isOptional?: boolean },
  ): Promise<void> {
    const { cluster, clock, log } = this.#options;
    await follow<T>(
      cluster,
      { type, where: {}, clock, ...how },
      {
        onList: (objects) => {
          onList(objects);
          this.#hasListed(type);
        },
        onChange,
        onGone,
        onError: (error, isLost) => {
          // An old view may say for ever that no slot is left; without a view, fresh refusals still get their lock.
          if (isLost) this.#listed.delete(type.plural);
          const problem = describeError(error);
          this.#problems.set(type.plural, problem);
          log('warn', `watching ${type.plural} again: ${problem}`);
        },
      },
    );
  }
}

const KINDS = 6;
const INCUMBENT_KINDS = [MTQS, WEBHOOK_CONFIGURATIONS] as const;

const isCancelled = ({ metadata }: Migration): boolean => metadata.deletionTimestamp !== undefined;

const nameOf = ({ metadata }: KubernetesObject): string => metadata.name;
