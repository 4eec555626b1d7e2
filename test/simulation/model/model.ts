import type { Namespace, Pod, ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { NOW } from '../../support/builders/object.ts';
import { ApiServer, type ApiServerParts, type ModelCluster } from './api-server.ts';
import { QuotaController } from './quota-controller.ts';
import { Store } from './store.ts';

/** A model in a test: one store, servers on it, and a clock that only the test moves. */
export interface Model {
  readonly store: Store;
  readonly server: ApiServer;
  readonly admin: ModelCluster;
  readonly controller: QuotaController;
  readonly clock: { now: number };
  /** Another server on the same store. */
  readonly another: (parts?: Partial<ApiServerParts>) => ApiServer;
  /** All caches catch up and the controller syncs, until no work is left. */
  readonly untilStable: () => Promise<void>;
}

/** By default no request waits, and every webhook allows. */
export function aModel(parts: Partial<ApiServerParts> = {}): Model {
  const clock = { now: NOW };
  let uids = 0;
  const now = (): number => clock.now;
  const store = new Store({ newUid: () => `uid-${String((uids += 1))}`, now });
  const servers: ApiServer[] = [];
  const another = (own: Partial<ApiServerParts> = {}): ApiServer => {
    const server = new ApiServer({
      name: `server-${String(servers.length)}`,
      store,
      now,
      pace: () => Promise.resolve(),
      admission: ({ uid }) => Promise.resolve({ uid, allowed: true }),
      ...parts,
      ...own,
    });
    servers.push(server);
    return server;
  };
  const server = another();
  const controller = new QuotaController({ store, server });
  const untilStable = async (): Promise<void> => {
    for (const quota of controller.pending()) await controller.sync(quota);
    for (const { caches } of servers) {
      caches.namespaces.catchUpAll();
      caches.resourceQuotas.catchUpAll();
    }
    if (controller.pending().length > 0) await untilStable();
  };
  return { store, server, admin: server.as('admin'), controller, clock, another, untilStable };
}

/** The namespace `tenant` with these quotas, counted, and in every server's cache. */
export async function withTenant(
  model: Model,
  quotas: Readonly<Record<string, ResourceList>> = {},
): Promise<Model> {
  await model.admin.create<Namespace>(NAMESPACES, { metadata: { name: 'tenant' } });
  model.server.caches.namespaces.catchUpAll();
  for (const [name, hard] of Object.entries(quotas)) {
    await model.admin.create<ResourceQuota>(RESOURCE_QUOTAS, {
      metadata: { name, namespace: 'tenant' },
      spec: { hard },
    });
  }
  await model.untilStable();
  return model;
}

/** A pod to be created in `tenant`. */
export const aPod = (name: string, requests: ResourceList = {}): New<Pod> => ({
  metadata: { name, namespace: 'tenant' },
  spec: { containers: [{ name: 'main', resources: { requests } }] },
});

/** status.used of the tenant's quota, as it is stored. */
export const usedOf = ({ store }: Model, name = 'quota'): ResourceList | undefined =>
  store.get<ResourceQuota>({ kind: 'ResourceQuota', namespace: 'tenant', name })?.status?.used;
