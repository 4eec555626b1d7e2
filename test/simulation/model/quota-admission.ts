import { canonicalKey, type Amounts } from '../../../functions/domain/quota/charged.ts';
import type { Pod, ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import { quotaCoversPod } from '../../../functions/domain/quota/scopes.ts';
import { ApiError, describeError } from '../../../functions/kubernetes/errors.ts';
import { PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { Attributes } from './attributes.ts';
import type { Cache } from './cache.ts';
import { formatAmount } from './canonical.ts';
import { addedUsage, chargedKeys, isSameList } from './quota-usage.ts';
import type { ApiErrors } from './api-errors.ts';
import { revisionOf, type Store } from './store.ts';

export interface QuotaAdmissionParts {
  readonly store: Store;
  readonly cache: Cache<ResourceQuota>;
  readonly apiErrors: ApiErrors;
}

/** Tries after the first (controller.go, checkAttributes). */
const RETRIES = 3;

/**
 * The ResourceQuota admission plugin, the last in order (apiserver/pkg/admission/plugin/resourcequota): checks a pod against
 * the quotas in this server's cache, and charges each by an UpdateStatus with the cached resourceVersion. The cache
 * may be old, and only that write detects it.
 *
 * The real plugin evaluates the waiting requests of a namespace in one batch; the model handles them one by one.
 */
export class QuotaAdmission {
  readonly #parts: QuotaAdmissionParts;
  /** This server's own charges, until its cache has seen them (resource_access.go, checkCache). */
  readonly #charged = new Map<string, ResourceQuota>();
  readonly #queues = new Map<string, Promise<void>>();

  constructor(parts: QuotaAdmissionParts) {
    this.#parts = parts;
  }

  /** Rejects with an ApiError when a quota refuses, or when its charge fails. */
  async evaluate(attributes: Attributes): Promise<void> {
    const { type, operation, subresource, namespace = '' } = attributes;
    const isCreate = operation === 'CREATE' && subresource === undefined;
    const isResize = operation === 'UPDATE' && subresource === 'resize';
    if (type.kind !== PODS.kind || (!isCreate && !isResize)) return;
    const before = this.#queues.get(namespace);
    const pending = (async () => {
      await before;
      await this.#check(this.#quotas(namespace), attributes, RETRIES);
    })();
    this.#queues.set(
      namespace,
      pending.catch(() => undefined),
    );
    await pending;
  }

  /** The quotas as this server knows them: its own charges are newer than its cache. */
  #quotas(namespace: string): ResourceQuota[] {
    return this.#parts.cache.list(namespace).map((quota) => {
      const charged = this.#charged.get(keyOf(quota));
      return charged !== undefined && revisionOf(charged) > revisionOf(quota) ? charged : quota;
    });
  }

  async #check(quotas: readonly ResourceQuota[], attributes: Attributes, retries: number): Promise<void> {
    const charges = this.#charges(quotas, attributes);
    if (attributes.dryRun) return;
    const failed = new Set<string>();
    let failure: unknown;
    for (const { quota, used } of charges) {
      try {
        await attributes.suspend('charge');
        this.#write(quota, used);
      } catch (error) {
        failed.add(quota.metadata.name);
        failure = error;
      }
    }
    if (failed.size === 0) return;
    if (retries === 0) throw this.#answerTo(failure);
    // A quota that has left the cache meanwhile is skipped.
    const newest = this.#quotas(attributes.namespace ?? '');
    await this.#check(
      newest.filter(({ metadata }) => failed.has(metadata.name)),
      attributes,
      retries - 1,
    );
  }

  #answerTo(failure: unknown): ApiError {
    return failure instanceof ApiError ? failure : this.#parts.apiErrors.internal(describeError(failure));
  }

  /** The statuses to write; throws for the first quota that refuses (controller.go, CheckRequest). */
  #charges(quotas: readonly ResourceQuota[], attributes: Attributes): Charge[] {
    const pod = attributes.object as Pod;
    const former = attributes.oldObject === null ? undefined : (attributes.oldObject as Pod);
    const concerned = quotas.filter((quota) => chargedKeys(quota).length > 0 && quotaCoversPod(quota, pod));
    for (const quota of concerned) this.#refuseUnmeasured(quota, attributes);
    const added = addedUsage(pod, former);
    const charges = concerned.map((quota) => this.#charge(quota, added, attributes));
    return charges.filter(({ quota, used }) => !isSameList(used, quota.status?.used));
  }

  #refuseUnmeasured(quota: ResourceQuota, { type, name, object }: Attributes): void {
    const keys = chargedKeys(quota).sort();
    const missing = missingResources(object as Pod, keys);
    const { name: quotaName } = quota.metadata;
    if (missing !== '') {
      throw this.#parts.apiErrors.forbidden(
        { type, name },
        `failed quota: ${quotaName}: must specify ${missing}`,
      );
    }
    if (keys.every((key) => quota.status?.used?.[key] !== undefined)) return;
    const why = `status unknown for quota: ${quotaName}, resources: ${keys.join(',')}`;
    throw this.#parts.apiErrors.forbidden({ type, name }, why);
  }

  #charge(quota: ResourceQuota, added: Amounts, { type, name }: Attributes): Charge {
    const { hard = {}, used = {} } = quota.status ?? {};
    const charged: ResourceList = { ...used };
    const exceeded: Exceeded[] = [];
    for (const [key, limit] of Object.entries(hard)) {
      const requested = added.get(canonicalKey(key));
      if (requested === undefined) continue;
      const now = used[key] ?? '0';
      const sum = parseQuantity(now) + requested;
      charged[key] = formatAmount(sum, now.endsWith('i'));
      if (sum > parseQuantity(limit))
        exceeded.push({ key, requested: formatAmount(requested), used: now, limit });
    }
    if (exceeded.length === 0) return { quota, used: charged };
    throw this.#parts.apiErrors.forbidden({ type, name }, exceededMessage(quota.metadata.name, exceeded));
  }

  /** ResourceQuotas(ns).UpdateStatus, by the server's own client. */
  #write(quota: ResourceQuota, used: ResourceList): void {
    const { store, apiErrors } = this.#parts;
    const { name, namespace = '' } = quota.metadata;
    const target = { type: RESOURCE_QUOTAS, name };
    if (store.get({ kind: RESOURCE_QUOTAS.kind, namespace, name }) === undefined)
      throw apiErrors.notFound(target);
    const written = store.put({ ...quota, status: { ...quota.status, used } }, revisionOf(quota));
    if (written === undefined) throw apiErrors.conflict(target);
    this.#charged.set(keyOf(quota), written);
  }
}

interface Charge {
  readonly quota: ResourceQuota;
  /** status.used with the pod. */
  readonly used: ResourceList;
}

interface Exceeded {
  readonly key: string;
  readonly requested: string;
  readonly used: string;
  readonly limit: string;
}

const keyOf = ({ metadata: { namespace = '', name } }: ResourceQuota): string => `${namespace}/${name}`;

/** "exceeded quota: q, requested: a=1, used: a=2, limited: a=2": KubeVirt reads this text (facts/kubevirt.md §1.3). */
function exceededMessage(quota: string, exceeded: readonly Exceeded[]): string {
  const sorted = exceeded.toSorted((one, other) => (one.key < other.key ? -1 : 1));
  const list = (of: (each: Exceeded) => string): string =>
    sorted.map((each) => `${each.key}=${of(each)}`).join(',');
  return (
    `exceeded quota: ${quota}, requested: ${list(({ requested }) => requested)}, ` +
    `used: ${list(({ used }) => used)}, limited: ${list(({ limit }) => limit)}`
  );
}

/** Those of these keys for which some container lacks a required amount (core/pods.go, Constraints). */
function missingResources({ spec }: Pod, keys: readonly string[]): string {
  if (Object.keys({ ...spec.resources?.requests, ...spec.resources?.limits }).length > 0) return '';
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  return keys
    .flatMap((key) => {
      const [, kind, resource = ''] = /^(?:(requests|limits)\.)?(cpu|memory)$/.exec(key) ?? [];
      if (resource === '') return [];
      const without = containers.filter(
        ({ resources }) => resources?.[kind === 'limits' ? 'limits' : 'requests']?.[resource] === undefined,
      );
      const names = without.map(({ name }) => name).sort();
      return names.length === 0 ? [] : [`${key} for: ${names.join(',')}`];
    })
    .join('; ');
}
