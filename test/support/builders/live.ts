import type {
  Hook,
  NetworkMap,
  Plan,
  PlanMigration,
  Provider,
  StorageMap,
} from '../../../functions/domain/live/forklift.ts';
import { FORKLIFT_KIND } from '../../../functions/domain/live/names.ts';
import { build, metadata, type Change } from './object.ts';

const named = (name: string): { namespace: string; name: string } => ({ namespace: 'tenant', name });
const PROVIDERS = { source: named('source'), destination: named('destination') };

/** A plan that moves the VM `web` of namespace `vms` to the namespace `target`. */
export const aPlan = (...changes: Change<Plan>[]): Plan =>
  build<Plan>(
    {
      ...FORKLIFT_KIND.plan,
      metadata: metadata('plan'),
      spec: {
        type: 'live',
        provider: PROVIDERS,
        targetNamespace: 'target',
        map: { network: named('networks'), storage: named('storage') },
        vms: [{ name: 'web', namespace: 'vms' }],
      },
    },
    changes,
  );

/** A run of the plan. */
export const aPlanMigration = (...changes: Change<PlanMigration>[]): PlanMigration =>
  build<PlanMigration>(
    { ...FORKLIFT_KIND.migration, metadata: metadata('migration'), spec: { plan: named('plan') } },
    changes,
  );

/** The provider of another cluster. */
export const aProvider = (name = 'source', ...changes: Change<Provider>[]): Provider =>
  build<Provider>(
    {
      ...FORKLIFT_KIND.provider,
      metadata: metadata(name),
      spec: { type: 'openshift', url: `https://${name}.example.com:6443`, secret: named(name) },
    },
    changes,
  );

/** The provider of the cluster that it is stored in. */
export const aHost = (name = 'destination', ...changes: Change<Provider>[]): Provider =>
  aProvider(name, (provider) => ({ ...provider, spec: { type: 'openshift', url: '' } }), ...changes);

/** Storage class `fast` is `gold` on the destination. */
export const aStorageMap = (...changes: Change<StorageMap>[]): StorageMap =>
  build<StorageMap>(
    {
      ...FORKLIFT_KIND.storageMap,
      metadata: metadata('storage'),
      spec: {
        provider: PROVIDERS,
        map: [{ source: { name: 'fast' }, destination: { storageClass: 'gold' } }],
      },
    },
    changes,
  );

/** The pod network is the pod network, and `vms/blue` is `target/green`. */
export const aNetworkMap = (...changes: Change<NetworkMap>[]): NetworkMap =>
  build<NetworkMap>(
    {
      ...FORKLIFT_KIND.networkMap,
      metadata: metadata('networks'),
      spec: {
        provider: PROVIDERS,
        map: [
          { source: { type: 'pod' }, destination: { type: 'pod' } },
          {
            source: { namespace: 'vms', name: 'blue' },
            destination: { type: 'multus', namespace: 'target', name: 'green' },
          },
        ],
      },
    },
    changes,
  );

/** A hook that runs a playbook. */
export const aHook = (...changes: Change<Hook>[]): Hook =>
  build<Hook>(
    {
      ...FORKLIFT_KIND.hook,
      metadata: metadata('hook'),
      spec: { image: 'quay.io/example/runner:1', playbook: 'LSBob3N0czogYWxsCg==', deadline: 300 },
    },
    changes,
  );
