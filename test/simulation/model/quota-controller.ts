import type { Pod, ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { ApiServer, ModelCluster } from './api-server.ts';
import { Cache } from './cache.ts';
import { chargedKeys, isCharged, isSameList, usageOf } from './quota-usage.ts';
import type { Change, Store } from './store.ts';

export interface QuotaToSync {
  readonly namespace: string;
  readonly name: string;
}

export interface QuotaControllerParts {
  readonly store: Store;
  readonly server: ApiServer;
  /** True: its informers see a change only when the caller advances `caches`; else they see everything at once. */
  readonly lags?: boolean;
}

const USER = 'system:serviceaccount:kube-system:resourcequota-controller';

/**
 * kube-controller-manager's resource quota controller (pkg/controller/resourcequota). It acts only when the caller
 * starts a sync. Like the real one, it does not react to a new pod or to a status write. So a charge whose
 * pod never came stays until another change triggers a count, or until its resync.
 */
export class QuotaController {
  /** Its informers. */
  readonly caches: { readonly resourceQuotas: Cache<ResourceQuota>; readonly pods: Cache<Pod> };
  readonly #store: Store;
  readonly #cluster: ModelCluster;
  readonly #queue = new Map<string, QuotaToSync>();

  constructor(parts: QuotaControllerParts) {
    const { store, server, lags = false } = parts;
    this.#store = store;
    this.#cluster = server.as(USER);
    const [resourceQuotas, pods] = [
      new Cache<ResourceQuota>(store, RESOURCE_QUOTAS.kind, (change) => this.#seeQuota(change)),
      new Cache<Pod>(store, PODS.kind, (change) => this.#seePod(change)),
    ];
    this.caches = { resourceQuotas, pods };
    this.resync();
    if (lags) return;
    store.onChange(() => {
      resourceQuotas.catchUpAll();
      pods.catchUpAll();
    });
  }

  /** Its queue: quotas that are new or whose spec.hard changed, and quotas of a namespace where a pod went or ended. */
  pending(): readonly QuotaToSync[] {
    return [...this.#queue.values()];
  }

  /** Its resync of all quotas, every five minutes. */
  resync(): void {
    for (const quota of this.#store.list<ResourceQuota>(RESOURCE_QUOTAS.kind)) this.#add(quota);
  }

  /**
   * One sync: writes hard and used from its informers by a PUT of the status. False, and the quota stays pending, when
   * the write failed (a lost race, as in the real one) and needs a retry.
   */
  async sync(quota: QuotaToSync): Promise<boolean> {
    this.#queue.delete(keyOf(quota));
    const written = this.#recounted(quota);
    if (written === undefined) return true;
    try {
      await this.#cluster.replace(RESOURCE_QUOTAS, written, { subresource: 'status' });
      return true;
    } catch {
      this.#queue.set(keyOf(quota), quota);
      return false;
    }
  }

  /** undefined: the quota is gone, or there is nothing to write. */
  #recounted({ namespace, name }: QuotaToSync): ResourceQuota | undefined {
    const { resourceQuotas, pods } = this.caches;
    const quota = resourceQuotas.get(name, namespace);
    if (quota === undefined) return undefined;
    const { spec, status = {} } = quota;
    const used = {
      ...othersOf(quota),
      ...usageOf(quota, pods.list(namespace), this.#store.now()),
    };
    const wanted = { hard: spec.hard ?? {}, used };
    return isUpToDate(status, wanted) ? undefined : { ...quota, status: wanted };
  }

  #seeQuota({ type, before, object }: Change): void {
    const [old, quota] = [before as ResourceQuota | undefined, object as ResourceQuota];
    if (type !== 'MODIFIED' || !isSameList(old?.spec.hard, quota.spec.hard)) this.#add(quota);
  }

  #seePod({ type, before, object }: Change): void {
    if (!this.#isReplenishing(type, before as Pod | undefined, object as Pod)) return;
    for (const quota of this.caches.resourceQuotas.list(object.metadata.namespace ?? '')) {
      if (chargedKeys(quota).length > 0) this.#add(quota);
    }
  }

  /** pkg/quota/v1/install/update_filter.go */
  #isReplenishing(type: Change['type'], before: Pod | undefined, pod: Pod): boolean {
    if (type === 'DELETED') return true;
    const now = this.#store.now();
    return before !== undefined && isCharged(before, now) && !isCharged(pod, now);
  }

  #add({ metadata: { namespace = '', name } }: ResourceQuota): void {
    this.#queue.set(keyOf({ namespace, name }), { namespace, name });
  }
}

/** Usage of kinds other than pods (services, claims): always 0 in the model. */
const othersOf = ({ spec: { hard = {} }, status }: ResourceQuota): ResourceList =>
  Object.fromEntries(Object.keys(hard).map((key) => [key, status?.used?.[key] ?? '0']));

type QuotaStatus = NonNullable<ResourceQuota['status']>;

/** A status without one of these was never counted. */
const isUpToDate = ({ hard, used }: QuotaStatus, wanted: QuotaStatus): boolean =>
  hard !== undefined && used !== undefined && isSameList(wanted.hard, hard) && isSameList(wanted.used, used);

const keyOf = ({ namespace, name }: QuotaToSync): string => `${namespace}/${name}`;
