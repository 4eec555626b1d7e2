import type { Hook, NetworkMap, Plan, PlanMigration, Provider, StorageMap } from '../domain/live/forklift.ts';
import { FORKLIFT_KIND } from '../domain/live/names.ts';
import type { ResourceType } from './cluster.ts';

/** The kinds of live migrations between clusters. */

const namespaced = { namespaced: true };

export const PLANS: ResourceType<Plan> = { ...FORKLIFT_KIND.plan, ...namespaced, plural: 'plans' };
export const PLAN_MIGRATIONS: ResourceType<PlanMigration> = {
  ...FORKLIFT_KIND.migration,
  ...namespaced,
  plural: 'migrations',
};
export const PROVIDERS: ResourceType<Provider> = {
  ...FORKLIFT_KIND.provider,
  ...namespaced,
  plural: 'providers',
};
export const STORAGE_MAPS: ResourceType<StorageMap> = {
  ...FORKLIFT_KIND.storageMap,
  ...namespaced,
  plural: 'storagemaps',
};
export const NETWORK_MAPS: ResourceType<NetworkMap> = {
  ...FORKLIFT_KIND.networkMap,
  ...namespaced,
  plural: 'networkmaps',
};
export const HOOKS: ResourceType<Hook> = { ...FORKLIFT_KIND.hook, ...namespaced, plural: 'hooks' };
