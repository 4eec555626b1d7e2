import type { Namespace, ResourceQuota } from '../../../functions/domain/objects.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { Admission } from './admission.ts';
import type { Attributes } from './attributes.ts';
import { Cache } from './cache.ts';
import { Client, type ModelCluster } from './client.ts';
import { QuotaAdmission } from './quota-admission.ts';
import { ApiErrors } from './api-errors.ts';
import type { Pace, Webhook } from './request.ts';
import type { Store } from './store.ts';
import { Watches } from './watches.ts';

export type { ModelCluster } from './client.ts';

export interface ApiServerParts {
  readonly name: string;
  readonly store: Store;
  readonly pace: Pace;
  /** The cluster's clock, milliseconds; the Date header has whole seconds. */
  readonly now: () => number;
  readonly admission: Webhook;
  /** How many revisions the watch cache is behind, for each list of resourceVersion 0; left out: none. */
  readonly behind?: () => number;
  /** Users with verb 'override' on 'locks.mtq.kubevirt.io' (break-glass); left out: none. */
  readonly mayOverride?: (user: string) => boolean;
  /** Left out: all may. */
  readonly mayPatchNodes?: (user: string) => boolean;
  /** Whether a policy of another party refuses the write; left out: there is none. */
  readonly refuses?: (attributes: Attributes) => boolean;
  /** Without our policies, as on the API server that the model is compared with. */
  readonly hasPolicies?: false;
}

/**
 * One kube-apiserver (1.36) over a Store. Several may share one Store, each with its own lagging caches. Reads are quorum
 * reads, unless a list asks for the watch cache. No RBAC: every user may do everything.
 */
export class ApiServer {
  readonly name: string;
  /** Admission's informer caches. They see a change only when the caller advances them. */
  readonly caches: { readonly namespaces: Cache<Namespace>; readonly resourceQuotas: Cache<ResourceQuota> };
  readonly #parts: ApiServerParts;
  readonly #refusals: ApiErrors;
  readonly #admission: Admission;
  readonly #watches: Watches;

  constructor(parts: ApiServerParts) {
    const { name, store, now, admission, hasPolicies = true } = parts;
    const { mayOverride = () => false, mayPatchNodes = () => true, refuses = () => false } = parts;
    this.name = name;
    this.#parts = parts;
    this.caches = {
      namespaces: new Cache<Namespace>(store, NAMESPACES.kind),
      resourceQuotas: new Cache<ResourceQuota>(store, RESOURCE_QUOTAS.kind),
    };
    const apiErrors = new ApiErrors(() => dateHeader(now()));
    const quota = new QuotaAdmission({ store, cache: this.caches.resourceQuotas, apiErrors });
    const { namespaces } = this.caches;
    this.#refusals = apiErrors;
    this.#admission = new Admission({
      ...{ store, namespaces, quota, ask: admission },
      ...{ mayOverride, mayPatchNodes, refuses, apiErrors, hasPolicies },
    });
    this.#watches = new Watches(store);
  }

  as(user: string): ModelCluster {
    const { name, store, pace, now, behind = () => 0 } = this.#parts;
    return new Client({
      user,
      store,
      apiErrors: this.#refusals,
      admission: this.#admission,
      watches: this.#watches,
      server: name,
      pace,
      date: () => dateHeader(now()),
      cachedRevision: () => Math.max(1, store.revision - behind()),
    });
  }

  /** Ends the watches whose timeoutSeconds have passed. Call it after each change of the clock. */
  endOverdueWatches(): void {
    this.#watches.endOverdue(this.#parts.now());
  }

  /** When the next watch ends, milliseconds; undefined: none is open. */
  nextWatchEnd(): number | undefined {
    return this.#watches.nextEnd();
  }

  /** Restarts the process: open watches fail with Unreachable, and the caches start up to date. */
  stop(): void {
    this.#watches.stop();
  }
}

const dateHeader = (now: number): Date => new Date(Math.floor(now / 1_000) * 1_000);
