/** The names about live migrations between clusters that users see, each with one sentence. */

const FORKLIFT = 'forklift.konveyor.io/v1beta1';

/** Forklift's kinds, which users write (facts/cross-cluster.md §A). */
export const FORKLIFT_KIND = {
  plan: { apiVersion: FORKLIFT, kind: 'Plan' },
  migration: { apiVersion: FORKLIFT, kind: 'Migration' },
  provider: { apiVersion: FORKLIFT, kind: 'Provider' },
  storageMap: { apiVersion: FORKLIFT, kind: 'StorageMap' },
  networkMap: { apiVersion: FORKLIFT, kind: 'NetworkMap' },
  hook: { apiVersion: FORKLIFT, kind: 'Hook' },
} as const;
