import type { Pod } from '../../../functions/domain/objects.ts';
import type { Cluster, Read } from '../../../functions/kubernetes/cluster.ts';
import type { Cache } from './cache.ts';
import type { Pace, Webhook } from './request.ts';
import type { Store } from './store.ts';

export interface ApiServerParts {
  readonly name: string;
  readonly store: Store;
  readonly pace: Pace;
  /** The cluster's clock, milliseconds: the Date header says it in whole seconds. */
  readonly now: () => number;
  readonly admission: Webhook;
  /** Who may 'override' 'locks.mtq.kubevirt.io' (break-glass); left out: nobody. */
  readonly mayOverride?: (user: string) => boolean;
}

/** A client's way to one API server. */
export interface ModelCluster extends Cluster {
  /** PUT of pods/resize: only the containers' resources change. */
  resize(pod: Pod): Promise<Read<Pod>>;
}

/** One kube-apiserver over a Store; several may stand on one, each with caches of its own that lag. */
export class ApiServer {
  declare readonly caches: { readonly namespaces: Cache; readonly resourceQuotas: Cache };

  constructor(_parts: ApiServerParts) {
    throw new Error('skeleton');
  }

  as(_user: string): ModelCluster {
    throw new Error('skeleton');
  }

  /** Ends the watches whose timeoutSeconds are over by the clock: called whenever it was moved. */
  endOverdueWatches(): void {
    throw new Error('skeleton');
  }

  /** When the next watch is over, milliseconds; undefined: none is open. */
  nextWatchEnd(): number | undefined {
    throw new Error('skeleton');
  }

  /** As when the process ends: open watches break off with Unreachable. Caches of a new one start at the newest revision. */
  stop(): void {
    throw new Error('skeleton');
  }
}
