import type {
  HookReference,
  LiveCondition,
  Plan,
  PlanMigration,
  Provider,
  VmStatus,
} from '../../../../functions/domain/live/forklift.ts';
import { has, saysWait } from '../../../../functions/domain/live/conditions.ts';
import {
  LIVE_ANNOTATION,
  LIVE_CONDITION,
  LIVE_FINALIZER,
  LIVE_KIND,
  LIVE_LABEL,
} from '../../../../functions/domain/live/names.ts';
import { withRunClusters, type RunClusters } from '../../../../functions/live/run/run-clusters.ts';
import type { RunId } from '../../../../functions/live/run/names.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import {
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  REVIEWS,
} from '../../../../functions/kubernetes/live-resources.ts';
import {
  aHook,
  aNetworkMap,
  aPlan,
  aPlanMigration,
  aProvider,
  aStorageMap,
  TOM,
} from '../../../support/builders/live.ts';
import type { Side } from '../../../cluster/kubevirt/decentralized/sides.ts';
import { ApiServer, type ModelCluster } from '../../model/api-server.ts';
import { Store } from '../../model/store.ts';
import { NAME, type Clusters } from './clusters.ts';
import { rawText } from '../../../support/raw-text.ts';

const NAMESPACE = 'tenant';
const PROVIDER_OF = { source: 'source', target: 'destination' } as const;
const at = (name: string): { namespace: string; name: string } => ({ namespace: NAMESPACE, name });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

export const MIGRATION_AT = at('migration');
export const PLAN_AT = at('plan');

/** Uid of a cluster: the one of its namespace kube-system. */
const idOf = (of: string): string => `uid-of-cluster-${of}`;

const uidOf = (kind: string, name: string): string => `uid-of-${kind}-${name}`;

const runCluster = (side: keyof typeof PROVIDER_OF): RunClusters['source'] => ({
  cluster: idOf(side),
  provider: { uid: uidOf(PROVIDERS.kind, PROVIDER_OF[side]), isHub: false },
});

/** How a VM of the run has ended, as the Migration shows it. */
export interface ShownEnd {
  readonly as: 'Succeeded' | 'Failed' | 'Canceled';
  readonly reason: string;
  readonly leftovers: readonly string[];
  /** It shows that the guest is on the target, or may be. */
  readonly isCutOver: boolean;
  /** It shows that the VM would not start again, because its namespace is over its quota. */
  readonly isOver: boolean;
  /** It shows that KubeVirt halts the VM at its next crash. */
  readonly haltsNext: boolean;
  /** The fields that it shows as edited on the source, and not on the target. */
  readonly edited: readonly string[];
}

/** The cluster of the Plan and its Migration, whose run has begun: `live` holds both, and has written nothing yet elsewhere. */
export class Hub {
  readonly store: Store;
  readonly admin: ModelCluster;
  readonly run: RunId;
  /** When a user has canceled, archived, deleted or given it up, milliseconds; undefined: none has. */
  stoppedAt: number | undefined;
  /** Since when its user has none of the rights that it needs, milliseconds; undefined: has all. */
  forbiddenAt: number | undefined;
  /** The target namespace is being deleted, and never goes. */
  isNamespaceGoing = false;
  /** The Migration as it was last, also once it is gone. */
  #last: PlanMigration | undefined;

  /** `hooks`: the steps of the VM that have one; `settings`: those of the providers. */
  constructor(
    clusters: Clusters,
    hooks: readonly HookReference['step'][] = [],
    settings: Readonly<Record<string, string>> = {},
  ) {
    let uids = 0;
    const { now } = clusters.pair.schedule.time;
    const newUid = (): string => `c0000000-0000-4000-8000-${String((uids += 1)).padStart(12, '0')}`;
    this.store = new Store({ newUid, now: () => clusters.now });
    this.admin = new ApiServer({
      name: 'hub',
      store: this.store,
      pace: () => Promise.resolve(),
      now: () => clusters.now,
      admission: ({ uid }) => Promise.resolve({ uid, allowed: true }),
      hasPolicies: false,
    }).as('user');
    this.run = {
      plan: newUid(),
      migration: newUid(),
      vm: clusters.vm('source')?.metadata.uid ?? '',
    };
    this.#fill(clusters, new Date(now).toISOString(), hooks);
    for (const provider of this.providers)
      this.store.put({ ...provider, spec: { ...provider.spec, settings } } as KubernetesObject);
    this.#collectGarbage(clusters);
    this.store.onChange(() => {
      this.#last = this.migration ?? this.#last;
      if (this.#isToStop) this.stoppedAt ??= clusters.now;
    });
  }

  get migration(): PlanMigration | undefined {
    return this.store.get({ kind: PLAN_MIGRATIONS.kind, ...MIGRATION_AT });
  }

  get plan(): Plan | undefined {
    return this.store.get({ kind: PLANS.kind, ...PLAN_AT });
  }

  get providers(): readonly Provider[] {
    return this.store.list(PROVIDERS.kind);
  }

  /** A user has given the run up, by the uid of its Migration. */
  get isGivenUp(): boolean {
    return this.#last?.metadata.annotations?.[LIVE_ANNOTATION.breakGlass] === this.run.migration;
  }

  /** What has been deleted, and is there still. */
  get going(): readonly KubernetesObject[] {
    const held = [this.migration, this.plan, ...this.providers].filter((one) => one !== undefined);
    return held.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  }

  get end(): ShownEnd | undefined {
    return endIn(this.#last);
  }

  /** Nothing is done any more. */
  get isReleased(): boolean {
    return this.migration?.metadata.finalizers?.includes(LIVE_FINALIZER) !== true;
  }

  async cancel(): Promise<void> {
    const merge = { spec: { cancel: [{ name: NAME }] } };
    await this.admin.patch(PLAN_MIGRATIONS, MIGRATION_AT, { merge });
  }

  async archive(): Promise<void> {
    await this.admin.patch(PLANS, PLAN_AT, { merge: { spec: { archived: true } } });
  }

  get #isToStop(): boolean {
    const { migration, plan } = this;
    const isCanceled = plan?.spec.archived === true || migration?.spec.cancel !== undefined;
    return isCanceled || this.isGivenUp || this.going.length > 0;
  }

  #fill(clusters: Clusters, time: string, steps: readonly HookReference['step'][]): void {
    const finalizers = [LIVE_FINALIZER];
    const { source, target } = clusters.pair;
    for (const side of ['source', 'target'] as const)
      clusters.pair.stores[side].put(namespaceOf('kube-system', idOf(side), time));
    for (const name of ['kube-system', NAMESPACE])
      this.store.put(namespaceOf(name, name === 'kube-system' ? idOf('hub') : name, time));
    this.store.put(webhookOf(aPlan().metadata.creationTimestamp));
    for (const name of Object.values(PROVIDER_OF)) {
      this.#put(aProvider(name), { finalizers });
      const data = { token: base64(name), url: base64(`https://${name}.example.com:6443`) };
      const secret = { ...LIVE_KIND.secret, metadata: { ...at(name) }, data } as unknown as KubernetesObject;
      this.#put(secret, { finalizers, labels: { [LIVE_LABEL.provider]: 'true' } });
    }
    this.#put(isReady(aStorageMap()), {});
    this.#put(
      isReady(aNetworkMap((map) => ({ ...map, spec: { ...map.spec, map: map.spec.map.slice(0, 1) } }))),
      {},
    );
    if (steps.length > 0) this.#put(isReady(aHook()), {});
    const hooks = steps.map((step) => ({ step, hook: at('hook') }));
    const vms = [{ name: NAME, namespace: source.namespace, ...(hooks.length > 0 && { hooks }) }];
    const history = [{ migration: { uid: this.run.migration }, plan: { uid: this.run.plan, generation: 1 } }];
    this.#put(
      aPlan((plan) => ({
        ...plan,
        spec: { ...plan.spec, targetNamespace: target.namespace, vms },
        status: { migration: { history } } as unknown as NonNullable<Plan['status']>,
      })),
      { finalizers, uid: this.run.plan },
    );
    const shown = [{ ...vms[0], id: this.run.vm, phase: 'Validate', pipeline: [] }];
    this.#put(
      aPlanMigration((migration) => ({
        ...migration,
        status: { started: time, vms: shown },
      })),
      {
        finalizers,
        uid: this.run.migration,
        ownerReferences: [
          { apiVersion: PLANS.apiVersion, kind: PLANS.kind, name: 'plan', uid: this.run.plan },
        ],
        annotations: {
          ...withRunClusters({}, { source: runCluster('source'), target: runCluster('target') }),
          [LIVE_ANNOTATION.requester]: TOM,
        },
      },
    );
  }

  #put(object: KubernetesObject, metadata: Partial<KubernetesObject['metadata']>): void {
    const { name } = object.metadata;
    this.store.put({
      ...object,
      metadata: {
        ...object.metadata,
        ...at(name),
        uid: uidOf(object.kind ?? '', name),
        generation: 1,
        ...metadata,
      },
    });
  }

  /** A Migration goes with its Plan. */
  #collectGarbage(clusters: Clusters): void {
    this.store.onChange(({ type, kind }) => {
      if (type === 'DELETED' && kind === PLANS.kind && this.migration !== undefined)
        clusters.try(this.admin.delete(PLAN_MIGRATIONS, MIGRATION_AT));
    });
  }
}

export const endIn = (migration: PlanMigration | undefined): ShownEnd | undefined =>
  endOf(migration?.status?.vms?.[0]);

function endOf(vm: VmStatus | undefined): ShownEnd | undefined {
  if (vm?.completed === undefined) return undefined;
  const [as = 'Failed'] = ENDS.filter((type) => has(vm, type));
  const shown = vm.conditions?.find(({ type }: LiveCondition) => type === as);
  return {
    as,
    reason: rawText(shown?.reason),
    leftovers: itemsOf(vm, as),
    isCutOver: has(vm, LIVE_CONDITION.cutOver),
    isOver: has(vm, LIVE_CONDITION.restartWouldBeRefused),
    haltsNext: has(vm, LIVE_CONDITION.nextCrashHalts),
    edited: itemsOf(vm, LIVE_CONDITION.editsNotOnTarget),
  };
}

/** All that the Migration says of its VM. */
export const textIn = (migration: PlanMigration | undefined): string => {
  const { conditions, error, pipeline } = migration?.status?.vms?.[0] ?? {};
  return JSON.stringify([conditions, error, pipeline]);
};

/** The reason for which the VM waits, as the Migration shows it; undefined: it does not. */
export const waitIn = (migration: PlanMigration | undefined): string | undefined => {
  const shown = migration?.status?.vms?.[0]?.conditions?.find(saysWait);
  return shown === undefined ? undefined : rawText(shown.reason);
};

const ENDS = [LIVE_CONDITION.succeeded, LIVE_CONDITION.canceled, LIVE_CONDITION.failed] as const;

const itemsOf = ({ conditions = [] }: VmStatus, wanted: string): string[] =>
  (conditions.find(({ type }) => type === wanted)?.items ?? []).map(rawText);

/** Whose API server a URL is. */
export const sideAt = (url: string): Side =>
  url.startsWith(`https://${PROVIDER_OF.source}.`) ? 'source' : 'target';

const isReady = (map: KubernetesObject): KubernetesObject =>
  ({ ...map, status: { conditions: [{ type: 'Ready', status: 'True' }] } }) as KubernetesObject;

/** The guard's, as old as the objects that it reviews. */
const webhookOf = (creationTimestamp: string): KubernetesObject => ({
  kind: REVIEWS.type.kind,
  metadata: { ...REVIEWS.at, uid: 'uid-of-reviews', resourceVersion: '', creationTimestamp },
});

const namespaceOf = (name: string, uid: string, creationTimestamp: string): KubernetesObject =>
  ({
    ...LIVE_KIND.namespace,
    metadata: { name, uid, resourceVersion: '', creationTimestamp },
    status: { phase: 'Active' },
  }) as KubernetesObject;
