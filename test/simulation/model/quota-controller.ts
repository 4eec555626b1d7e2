import type { ApiServer } from './api-server.ts';
import type { Store } from './store.ts';

export interface QuotaToSync {
  readonly namespace: string;
  readonly name: string;
}

/** kube-controller-manager's resource quota controller: nothing happens before it is told to. */
export class QuotaController {
  constructor(_parts: { readonly store: Store; readonly server: ApiServer }) {
    throw new Error('skeleton');
  }

  /** Quotas that the real controller has in its queue now: spec.hard changed, or a pod went or ended. */
  pending(): readonly QuotaToSync[] {
    throw new Error('skeleton');
  }

  /** One sync: reads now, computes hard and used, PUTs the status. Rejects (and stays pending) when it lost a race. */
  sync(_quota: QuotaToSync): Promise<void> {
    throw new Error('skeleton');
  }
}
