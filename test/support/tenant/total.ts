import { headroomFor, newTenant, type Tenant } from './tenant.ts';
import type { Reservation, ResourceList } from '../../../functions/domain/objects.ts';
import { CLUSTER_VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { askUntil } from '../eventually.ts';
import type { TestEnvironment } from '../environment/test-environment.ts';

const SHARED = { name: 'shared' };

/** A cluster-wide VMMRQ with a total, and what is reserved of it. */
export interface SharedTotal {
  /** A namespace whose own VMMRQ reports, and gives too little. */
  poorTenant(name: string): Promise<Tenant>;
  /** Gives these namespaces the total. Each migration takes 604m CPU of it. */
  share(total: ResourceList, ...tenants: readonly Tenant[]): Promise<void>;
  reserved(): Promise<readonly Reservation[]>;
  patchReserved(reservations: readonly Reservation[] | null): Promise<void>;
  untilFree(): Promise<void>;
  remove(): Promise<void>;
}

export function sharedTotal(environment: TestEnvironment): SharedTotal {
  const { admin } = environment;
  const reserved = async (): Promise<readonly Reservation[]> => {
    const { object } = await admin.get(CLUSTER_VMMRQS, SHARED);
    return object.status?.reserved ?? [];
  };
  return {
    poorTenant: (name) => newTenant(environment, { name, gives: { 'requests.cpu': '1m' } }),
    share: async (total, ...tenants) => {
      const key = 'kubernetes.io/metadata.name';
      const values = tenants.map(({ name }) => name);
      await admin.create(CLUSTER_VMMRQS, {
        metadata: SHARED,
        spec: {
          namespaceSelector: { matchExpressions: [{ key, operator: 'In', values }] },
          additionalMigrationResources: headroomFor(1),
          purposes: ['UserRequested'],
          total,
        },
      });
    },
    reserved,
    patchReserved: async (reservations) => {
      const merge = { status: { reserved: reservations } };
      await admin.patch(CLUSTER_VMMRQS, SHARED, { merge, subresource: 'status' });
    },
    untilFree: async () => {
      await askUntil('nothing is reserved', reserved, (left) => left.length === 0);
    },
    remove: async () => {
      await admin.delete(CLUSTER_VMMRQS, SHARED);
    },
  };
}
